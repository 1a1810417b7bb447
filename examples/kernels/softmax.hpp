// Row softmax: no dot. A program holds BM whole rows of up to BN columns; columns past the end are minus infinity,
// which neither raises a maximum nor adds to a sum.
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <class In, class Out>
struct SoftmaxArgs {
  i64 m, n;
  tile::Matrix<const In> x;  // (m, n), n <= BN
  tile::Matrix<Out> y;       // (m, n)
};

template <int BM, int BN>
struct RowSoftmax {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto rm = p.id(0) * BM + tile::arange<BM, 'm'>();
    const auto rn = tile::arange<BN, 'n'>();
    const auto row = p.load(tile::load(x.x, rm, rn, -tile::infinity));  // (BM, BN)
    const auto shifted = tile::exp(row - tile::row_max(row));
    tile::store(x.y, rm, rn, shifted / tile::row_sum(shifted));
  }
};

}  // namespace kernels
