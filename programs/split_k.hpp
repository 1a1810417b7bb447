// Ordered split-K: several programs share the sum of one output tile. Program (t, s) sums the s-th part of K and stores
// it in FP32 in a plane of its own of the workspace; a second kernel adds the planes in order. No atomics: the same
// plan gives the same bits.
#pragma once

#include <programs/gemm.hpp>

namespace tilewright::programs {

template <class In, class Out>
struct SplitKArgs {
  i64 m, n, k;
  tile::Matrix<const In> a;  // (m, k)
  tile::Matrix<const In> b;  // (k, n)
  tile::Matrix<Out> c;       // (m, n)
  float* parts;              // (S, m, n), row-major: the workspace
  i64 count;                 // S

  constexpr tile::Matrix<float> part(i64 s) const { return {parts + s * m * n, m, n, n, 1}; }
};

/// The partial sums. Grid: (tiles, S).
template <Tiles T>
struct SplitKSum {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out = tile::output_ranges<T.m, T.n>(p, x.m, x.n);
    auto acc = tile::zeros<float, T.m, T.n>(p);  // (BM, BN)
    tile::pipeline(
        p, tile::split_steps<T.k>(x.k, p.id(1), x.count),
        [&](auto rk) { return tile::both(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols)); },
        [&](auto a, auto b) { acc += tile::dot(a, b); });
    tile::store(x.part(p.id(1)), out.rows, out.cols, acc);
  }
};

/// The sum of the parts, part 0 first. Grid: (tiles).
template <Tiles T, class Epilogue = Identity>
struct SplitKReduce {
  Epilogue epilogue;

  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out = tile::output_ranges<T.m, T.n>(p, x.m, x.n);
    auto sum = p.load(tile::load(x.part(0), out.rows, out.cols));  // (BM, BN)
    for (i64 s = 1; s < x.count; ++s) sum = sum + tile::load(x.part(s), out.rows, out.cols);
    tile::store(x.c, out.rows, out.cols, epilogue(sum, tile::rows(out.rows), tile::cols(out.cols)));
  }
};

}  // namespace tilewright::programs
