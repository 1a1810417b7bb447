// The same as masked.hpp, advancing pointers instead of indices: the K indices stay local (0 .. BK-1), the pointers
// move by BK * stride, and the mask asks for what is left of K. Do one or the other, never both: an offset would be
// added twice.
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <int BM, int BN, int BK>
struct Advancing {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const i64 grid_n = cdiv(x.n, BN);
    const auto rm = p.id(0) / grid_n * BM + tile::arange<BM, 'm'>();
    const auto rn = p.id(0) % grid_n * BN + tile::arange<BN, 'n'>();
    const auto rk = tile::arange<BK, 'k'>();  // local, and stays so
    auto a = x.a.ptr + tile::rows(rm) * x.a.row_stride + tile::cols(rk) * x.a.col_stride;
    auto b = x.b.ptr + tile::rows(rk) * x.b.row_stride + tile::cols(rn) * x.b.col_stride;
    auto acc = tile::zeros<float, BM, BN>(p);

    for (i64 left = x.k; left > 0; left -= BK) {
      acc += tile::dot(tile::load(a, tile::rows(rm) < x.m && tile::cols(rk) < left),
                       tile::load(b, tile::rows(rk) < left && tile::cols(rn) < x.n));
      a += BK * x.a.col_stride;
      b += BK * x.b.row_stride;
    }
    tile::store(x.c, rm, rn, acc);
  }
};

}  // namespace kernels
