// C = relu(A * B + bias), the bias one number per column. The epilogue works on the FP32 accumulator: C is rounded
// once, at the end.
#pragma once

#include <examples/kernels/args.hpp>

namespace kernels {

template <class In, class Out>
struct BiasArgs {
  i64 m, n, k;
  tile::Matrix<const In> a;        // (m, k)
  tile::Matrix<const In> b;        // (k, n)
  tile::Vector<const float> bias;  // (n)
  tile::Matrix<Out> c;             // (m, n)
};

template <int BM, int BN, int BK>
struct BiasActivation {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out = tile::output_ranges<BM, BN>(p, x.m, x.n);
    auto acc = tile::zeros<float, BM, BN>(p);
    tile::pipeline(
        p, tile::steps<BK>(x.k),
        [&](auto rk) { return tile::both(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols)); },
        [&](auto a, auto b) { acc += tile::dot(a, b); });
    const auto bias = tile::load(x.bias, tile::cols(out.cols));  // (1, BN), repeated over the rows
    tile::store(x.c, out.rows, out.cols, tile::relu(acc + bias));
  }
};

}  // namespace kernels
