// The C interface of BLAS, as OpenBLAS and BLIS export it with 32-bit integers.
#pragma once

#include <functional>

#include "bench/blas_ways.hpp"
#include "bench/library.hpp"

namespace tilewright::bench::cblas {

constexpr int row_major = 101, plain = 111, transposed = 112;

using Sgemm = void(int order, int a_form, int b_form, int m, int n, int k, float alpha, const float* a, int lda,
                   const float* b, int ldb, float beta, float* c, int ldc);
using Sgemv = void(int order, int form, int rows, int cols, float alpha, const float* a, int lda, const float* x,
                   int x_step, float beta, float* y, int y_step);

constexpr int form_of(bool is_transposed) { return is_transposed ? transposed : plain; }

/// The library's sgemm and sgemv. Throws std::runtime_error where it has none.
inline Blas functions_of(const Library& library, std::function<void(i64)> set_threads) {
  Blas blas;
  blas.gemm = [sgemm = library.get<Sgemm>("cblas_sgemm")](i64 m, i64 n, i64 k, const Stored& a, const Stored& b,
                                                          float beta, float* c, i64 ldc) {
    sgemm(row_major, form_of(a.transposed), form_of(b.transposed), static_cast<int>(m), static_cast<int>(n),
          static_cast<int>(k), 1.0f, a.data, static_cast<int>(a.ld), b.data, static_cast<int>(b.ld), beta, c,
          static_cast<int>(ldc));
  };
  blas.gemv = [sgemv = library.get<Sgemv>("cblas_sgemv")](const Stored& a, i64 rows, i64 cols, const float* x,
                                                          float beta, float* y) {
    sgemv(row_major, form_of(a.transposed), static_cast<int>(rows), static_cast<int>(cols), 1.0f, a.data,
          static_cast<int>(a.ld), x, 1, beta, y, 1);
  };
  blas.set_threads = std::move(set_threads);
  return blas;
}

}  // namespace tilewright::bench::cblas
