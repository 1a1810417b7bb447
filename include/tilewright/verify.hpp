// Verification of a product that already exists: FP64 sums, element by element, against the library's one error bound.
#pragma once

#include <functional>

#include <tilewright/plan.hpp>

namespace tilewright {

struct VerifyOptions {
  i64 most_products =
      i64{1} << 32;             // all elements while M*N*K is at most this; beyond, a random sample of that much work
  unsigned long long seed = 1;  // of the sample
  i64 threads = 0;              // at most so many; 0: available_threads()
  Mma mma = Mma::portable;      // of the plan that made c: avx512_bf16 flushes subnormals, a GPU may truncate sums
  std::function<void(double)> progress;  // called now and then, by one thread, with the fraction done; must not throw
};

/// Error bound per element (docs/numerics.md): gamma(K+2) * (|A||B|) + 1.01 * u_o * |C| + eta_o.
struct VerifyResult {
  i64 checked = 0, total = 0;  // elements
  bool passed = true;
  i64 failures = 0;      // elements outside of the bound
  i64 overflows = 0;     // infinite elements of finite sums: beyond c's type, and right
  double worst = 0;      // largest error as a fraction of its bound (infinity for a wrong NaN or infinity)
  i64 row = 0, col = 0;  // where: the first such element, row by row
  double expected = 0, got = 0;
};

/// Compares c (m x n, f16, bf16 or f32) with a (m x k) * b (k x n). A sample is every crossing of rows and columns that
/// are drawn one from each of equal parts; the first and the last row and column are always among them. Throws Error:
/// inner_extents, output_extents, input_types, unsupported_type, null_data.
VerifyResult verify(const MatrixView& a, const MatrixView& b, const MatrixView& c, const VerifyOptions& options = {});

}  // namespace tilewright
