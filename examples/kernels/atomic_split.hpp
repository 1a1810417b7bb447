// Split-K with atomic additions: the programs (t, s) of one output tile each sum a part of K and add it to C, which
// starts as zeros. No workspace and no second launch; the price is that the order of the additions, and so the last
// bits, may differ from run to run (programs/split_k.hpp keeps them fixed). Grid: (tiles, parts).
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <int BM, int BN, int BK>
struct AtomicSplit {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out = tile::output_ranges<BM, BN>(p, x.m, x.n);
    auto acc = tile::zeros<float, BM, BN>(p);
    tile::pipeline(
        p, tile::split_steps<BK>(x.k, p.id(1), p.grid(1)),
        [&](auto rk) { return tile::both(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols)); },
        [&](auto a, auto b) { acc += tile::dot(a, b); });
    tile::atomic_add(x.c, out.rows, out.cols, acc);
  }
};

}  // namespace kernels
