// A product in two: what a plan computes itself, and the rest of C's rows or columns, which it leaves to another.
#pragma once

#include <tilewright/plan.hpp>

namespace tilewright::gemm_detail {

struct Part {
  MatrixView a, b;
  MutableMatrixView c;
};
struct Parts {
  Part own, rest;
};
/// The rows of A and C, or the columns of B and C, before the rest and those of the rest. Without one all are the
/// plan's own, and `rest` is empty.
Parts parts_of(const Rest& rest, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c);

}  // namespace tilewright::gemm_detail
