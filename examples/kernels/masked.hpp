// The explicit kernel: every index, address and mask is written out. Grid: one program per output tile, row by row.
//
// Read it next to programs/gemm.hpp, which says the same with the language's own ranges and bounds.
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <int BM, int BN, int BK>
struct Masked {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const i64 grid_n = cdiv(x.n, BN);
    const i64 pm = p.id(0) / grid_n;
    const i64 pn = p.id(0) % grid_n;
    const auto rm = pm * BM + tile::arange<BM, 'm'>();  // rows of C: 64-bit from here on
    const auto rn = pn * BN + tile::arange<BN, 'n'>();  // columns of C
    auto rk = tile::arange<BK, 'k'>();                  // K indices, advanced below
    auto acc = tile::zeros<float, BM, BN>(p);

    for (i64 q = 0; q < cdiv(x.k, BK); ++q) {
      // Along K a masked element must be zero: it would be summed. Along M and N it belongs to an output that is not
      // stored.
      const auto a = tile::load(x.a.ptr + tile::rows(rm) * x.a.row_stride + tile::cols(rk) * x.a.col_stride,
                                tile::rows(rm) < x.m && tile::cols(rk) < x.k);  // (BM, BK)
      const auto b = tile::load(x.b.ptr + tile::rows(rk) * x.b.row_stride + tile::cols(rn) * x.b.col_stride,
                                tile::rows(rk) < x.k && tile::cols(rn) < x.n);  // (BK, BN)
      acc = tile::dot(a, b, acc);
      rk += BK;
    }
    tile::store(x.c.ptr + tile::rows(rm) * x.c.row_stride + tile::cols(rn) * x.c.col_stride, acc,
                tile::rows(rm) < x.m && tile::cols(rn) < x.n);
  }
};

}  // namespace kernels
