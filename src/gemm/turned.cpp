#include "gemm/turned.hpp"

namespace tilewright::gemm_detail {

ProductViews turned(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c) {
  const auto backwards = [](i64 extent, i64 stride) { return extent > 1 && stride < 0; };
  ProductViews t{a, b, c};
  if (backwards(a.rows, a.row_stride)) t.a = t.a.flipped_rows(), t.c = t.c.flipped_rows();
  if (backwards(b.cols, b.col_stride)) t.b = t.b.flipped_cols(), t.c = t.c.flipped_cols();
  if (backwards(a.cols, a.col_stride) && backwards(b.rows, b.row_stride)) {
    t.a = t.a.flipped_cols(), t.b = t.b.flipped_rows();
  }
  return t;
}

}  // namespace tilewright::gemm_detail
