// The contract of gemm: what views may be multiplied into what. Checked once, before anything is touched; nothing below
// re-checks it.
#pragma once

#include <tilewright/view.hpp>

namespace tilewright::gemm_detail {

/// The operands: types, extents, memory. Throws Error.
void check_operands(const MatrixView& a, const MatrixView& b);

/// The output against the operands: type, extents, memory, overlap with itself and with a and b. Throws Error.
void check_output(const MatrixView& a, const MatrixView& b, const MatrixView& c);

}  // namespace tilewright::gemm_detail
