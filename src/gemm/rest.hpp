// A product in two: what a plan computes itself, and the rest of C's rows or columns, which it leaves to another.
#pragma once

#include <tilewright/plan.hpp>
#include "gemm/turned.hpp"

namespace tilewright::gemm_detail {

struct Divided {
  ProductViews own, rest;
};
/// The rows of A and C, or the columns of B and C, before the rest and those of the rest. Without one all are the
/// plan's own, and `rest` is empty.
Divided divided(const Rest& rest, const ProductViews& whole);

}  // namespace tilewright::gemm_detail
