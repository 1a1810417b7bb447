// The same product with axes turned round, so that operands run forwards: a flipped M or N axis is then a flipped C, and
// a K that both operands have flipped is none. What a GPU's boxes and wide copies bring runs forwards.
#pragma once

#include <tilewright/view.hpp>

namespace tilewright::gemm_detail {

/// The operands and the output of a product.
struct ProductViews {
  MatrixView a, b;
  MutableMatrixView c;
};
/// Of a checked product. M is turned where A's rows run backwards, N where B's columns do, K where both operands do.
ProductViews turned(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c);

}  // namespace tilewright::gemm_detail
