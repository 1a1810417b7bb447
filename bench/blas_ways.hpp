// Half-precision products by means of an FP32 library: convert, multiply, convert back, in several orders.
//
// The conversions are this library's own, vectorised as in its packing. Whole operands at once, or cache-sized slices
// that are multiplied while they are warm. docs/bench-method.md lists the ways.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/peer.hpp"

namespace tilewright::bench {

/// An FP32 operand in memory as a BLAS takes it: rows of unit stride, `ld` elements apart.
struct Stored {
  const float* data = nullptr;
  i64 ld = 0;
  bool transposed = false;  // the rows in memory are the operand's columns
};

/// The functions of an FP32 library, row-major.
struct Blas {
  /// c (m, n) = a (m, k) * b (k, n) + beta * c.
  std::function<void(i64 m, i64 n, i64 k, const Stored& a, const Stored& b, float beta, float* c, i64 ldc)> gemm;
  /// y = a * x + beta * y, or with a's transpose; a has so many rows and columns in memory. Empty if there is none.
  std::function<void(const Stored& a, i64 rows, i64 cols, const float* x, float beta, float* y)> gemv;
  /// For calls from the calling thread, or for the whole library.
  std::function<void(i64)> set_threads;
};

/// Ways to do the job with these functions, on job.threads threads.
std::vector<Way> blas_ways(const Blas& blas, const Job& job);

/// A product of FP32 operands whose places are known: what whole_way multiplies with.
using Bound = std::function<void()>;
using Bind = std::function<Bound(const Stored& a, const Stored& b, float* c, i64 ldc)>;

/// One way: all of A and B converted on `converting` threads, multiplied by what `bind` makes of their places (called
/// once, now), and converted back.
Way whole_way(std::string name, const Job& job, i64 converting, std::function<void()> prepare, const Bind& bind);

/// Converts FP32 rows `ld` apart, to the elements of c.
void convert_back(const float* from, i64 ld, const MutableMatrixView& c);

}  // namespace tilewright::bench
