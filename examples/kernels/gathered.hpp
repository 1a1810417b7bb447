// C[i, :] = A[index[i], :] * B: the rows of A are named by a table in memory. A looked-up row index is not affine, so
// rows are fetched one by one, but each still with wide loads along K. An entry outside of A's rows gives a row of
// zeros.
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <class In, class Out>
struct GatheredArgs {
  i64 m, n, k;
  tile::Matrix<const In> a;      // (any number of rows, k)
  tile::IndexVector<i64> index;  // (m)
  tile::Matrix<const In> b;      // (k, n)
  tile::Matrix<Out> c;           // (m, n)
};

template <int BM, int BN, int BK>
struct GatheredRows {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out = tile::output_ranges<BM, BN>(p, x.m, x.n);
    const auto from = tile::lookup(x.index, out.rows);  // the rows of A that these rows of C need
    auto acc = tile::zeros<float, BM, BN>(p);
    tile::pipeline(
        p, tile::steps<BK>(x.k),
        [&](auto rk) { return tile::both(tile::load(x.a, from, rk), tile::load(x.b, rk, out.cols)); },
        [&](auto a, auto b) { acc += tile::dot(a, b); });
    tile::store(x.c, out.rows, out.cols, acc);
  }
};

}  // namespace kernels
