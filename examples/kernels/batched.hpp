// A batch of products on a three-axis grid: (tiles along N, tiles along M, matrices). Each matrix is a slice of a
// larger buffer, a batch stride apart.
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <class In, class Out>
struct BatchedArgs {
  i64 m, n, k;
  tile::Matrix<const In> a;  // the first of the batch
  tile::Matrix<const In> b;
  tile::Matrix<Out> c;
  i64 a_batch, b_batch, c_batch;  // elements from one matrix to the next
};

template <int BM, int BN, int BK>
struct Batched {
  template <class E>
  static constexpr tile::Matrix<E> slice(tile::Matrix<E> first, i64 offset) {
    first.ptr += offset;
    return first;
  }

  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto rn = p.id(0) * BN + tile::arange<BN, 'n'>();
    const auto rm = p.id(1) * BM + tile::arange<BM, 'm'>();
    const auto a = slice(x.a, p.id(2) * x.a_batch);
    const auto b = slice(x.b, p.id(2) * x.b_batch);
    auto acc = tile::zeros<float, BM, BN>(p);
    tile::pipeline(
        p, tile::steps<BK>(x.k), [&](auto rk) { return tile::both(tile::load(a, rm, rk), tile::load(b, rk, rn)); },
        [&](auto ta, auto tb) { acc += tile::dot(ta, tb); });
    tile::store(slice(x.c, p.id(2) * x.c_batch), rm, rn, acc);
  }
};

}  // namespace kernels
