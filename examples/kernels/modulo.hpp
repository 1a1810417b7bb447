// Rows and columns modulo their extents, K under a mask: an index past the end wraps to one that exists, so the loads
// need no mask along M and N. The wrapped rows and columns are computed and not stored. Along K the trick would be
// wrong: a wrapped K index is summed a second time ([1, 2, 3] * [4, 5, 6] in steps of 2 would be 36, not 32).
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <int BM, int BN, int BK>
struct ModuloRows {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const i64 grid_n = cdiv(x.n, BN);
    const auto rm = p.id(0) / grid_n * BM + tile::arange<BM, 'm'>();
    const auto rn = p.id(0) % grid_n * BN + tile::arange<BN, 'n'>();
    auto acc = tile::zeros<float, BM, BN>(p);
    for (const auto rk : tile::steps<BK>(x.k)) {
      acc += tile::dot(tile::load(x.a.ptr + tile::rows(rm % x.m) * x.a.row_stride + tile::cols(rk) * x.a.col_stride,
                                  tile::cols(rk) < x.k),
                       tile::load(x.b.ptr + tile::rows(rk) * x.b.row_stride + tile::cols(rn % x.n) * x.b.col_stride,
                                  tile::rows(rk) < x.k));
    }
    tile::store(x.c, rm, rn, acc);
  }
};

}  // namespace kernels
