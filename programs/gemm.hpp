// The operator's program: one output tile, all of K. The order of tiles (linear or grouped) is the plan's, handed out
// by p.
#pragma once

#include <tilewright/tile/tile.hpp>

namespace tilewright::programs {

/// A tile of BM x BN outputs, advanced along K by BK.
struct Tiles {
  int m, n, k;
};

template <class In, class Out>
struct GemmArgs {
  i64 m, n, k;
  tile::Matrix<const In> a;  // (m, k)
  tile::Matrix<const In> b;  // (k, n)
  tile::Matrix<Out> c;       // (m, n)

  /// The product of every `step`-th row of A, from `first` on, and of every so many columns of B.
  TILEWRIGHT_KERNEL GemmArgs of_rows(i64 first, i64 step) const {
    return {cdiv(m - first, step), n, k, tile::every(a, first, step), b, tile::every(c, first, step)};
  }
  TILEWRIGHT_KERNEL GemmArgs of_cols(i64 first, i64 step) const {
    return {m,
            cdiv(n - first, step),
            k,
            a,
            tile::transposed(tile::every(tile::transposed(b), first, step)),
            tile::transposed(tile::every(tile::transposed(c), first, step))};
  }
};

template <Tiles T>
struct Gemm {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out =
        tile::output_ranges<T.m, T.n>(p, x.m, x.n);  // this program's rows and columns, in the plan's order
    auto acc = tile::zeros<float, T.m, T.n>(p);      // (BM, BN)
    tile::pipeline(
        p, tile::steps<T.k>(x.k),
        [&](auto rk) {
          return tile::both(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols));
        },  // (BM, BK) (BK, BN)
        [&](auto a, auto b) { acc += tile::dot(a, b); });
    tile::store(x.c, out.rows, out.cols, acc);  // rounds once to C's element type
  }
};

}  // namespace tilewright::programs
