// Products whose axes are turned round are the same products: the same elements of A and B meet in the same element of C.
#include <gtest/gtest.h>

#include <map>

#include "gemm/turned.hpp"

namespace {

using namespace tilewright;

i64 address(const auto& view, i64 row, i64 col) {
  return static_cast<i64>(reinterpret_cast<std::uintptr_t>(view.data)) +
         (row * view.row_stride + col * view.col_stride) * 2;
}

/// For every address of C, the sum over K of what its addresses of A and B make.
std::map<i64, i64> sums(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c) {
  std::map<i64, i64> sum;
  for (i64 i = 0; i < c.rows; ++i) {
    for (i64 j = 0; j < c.cols; ++j) {
      for (i64 k = 0; k < a.cols; ++k) sum[address(c, i, j)] += address(a, i, k) * (address(b, k, j) % 1009);
    }
  }
  return sum;
}

TEST(Turned, IsTheSameProductAndRunsForwards) {
  int turns = 0;
  const i64 strides[] = {1, -1, 9, -9, 0};
  for (const i64 m : {1, 4}) {
    for (const i64 k : {1, 5}) {
      for (const i64 as : strides) {
        for (const i64 at : strides) {
          for (const i64 bs : strides) {
            for (const i64 bt : strides) {
              const MatrixView a{reinterpret_cast<void*>(100000), DType::f16, m, k, as, at},
                  b{reinterpret_cast<void*>(200000), DType::f16, k, 3, bs, bt};
              const MutableMatrixView c{reinterpret_cast<void*>(300000), DType::f16, m, 3, -7, 2};
              const gemm_detail::ProductViews t = gemm_detail::turned(a, b, c);
              ASSERT_EQ(sums(t.a, t.b, t.c), sums(a, b, c))
                  << m << " " << k << ": " << as << " " << at << " " << bs << " " << bt;
              EXPECT_TRUE(m == 1 || t.a.row_stride >= 0);
              EXPECT_GE(t.b.col_stride, 0);
              EXPECT_TRUE(k == 1 || !(t.a.col_stride < 0 && t.b.row_stride < 0));
              turns += t.a.row_stride != as;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(turns, 100);
}

TEST(Turned, AViewWithoutMemoryStaysOne) {
  const MatrixView a{nullptr, DType::f16, 3, 4, -8, 1}, b{nullptr, DType::f16, 4, 5, 5, 1};
  const gemm_detail::ProductViews t = gemm_detail::turned(a, b, {nullptr, DType::f16, 3, 5, 5, 1});
  EXPECT_EQ(t.a.row_stride, 8);
  EXPECT_EQ(t.c.row_stride, -5);
  EXPECT_EQ(t.a.data, nullptr);
}

}  // namespace
