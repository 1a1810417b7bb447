// D = (A * B)^T, stored through a transposed tile: D is (n, m).
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <int BM, int BN, int BK>
struct TransposedStore {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out = tile::output_ranges<BM, BN>(p, x.m, x.n);
    auto acc = tile::zeros<float, BM, BN>(p);
    tile::pipeline(
        p, tile::steps<BK>(x.k),
        [&](auto rk) { return tile::both(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols)); },
        [&](auto a, auto b) { acc += tile::dot(a, b); });
    tile::store(x.c, out.cols, out.rows, tile::trans(acc));  // (BN, BM) into rows out.cols, columns out.rows
  }
};

}  // namespace kernels
