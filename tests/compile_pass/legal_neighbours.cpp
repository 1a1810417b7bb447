// The legal neighbours of tests/compile_fail: what those files say, said right.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x, tile::Matrix<float> sums) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  const auto a = x.a.ptr + tile::rows(rm) * x.a.row_stride + tile::cols(rk) * x.a.col_stride;
  auto acc = tile::zeros<float, 32, 32>(p);
  acc += tile::dot(tile::load(a, tile::rows(rm) < x.m && tile::cols(rk) < x.k), tile::load(x.b, rk, rn));
  acc += tile::dot(tile::load(a, tile::rows(rm) >= 0 && tile::rows(rm) < x.m && tile::unchecked(tile::cols(rk))),
                   tile::load(x.b, rk, rn));
  acc += tile::dot(tile::trans(tile::load(x.a, rk, rm)), tile::load(x.b, rk, rn));
  acc = tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn), acc);
  acc += tile::dot(tile::cast<f16>(p.load(tile::load(x.a, rm, rk))), tile::load(x.b, rk, rn));
  const auto sum = acc + tile::trans(acc) * 2.0f + tile::row_sum(acc) - tile::col_max(acc);
  tile::store(x.c, rm, rn, tile::where(tile::rows(rm) < x.m && tile::cols(rn) < x.n, sum, 0.0f));
  tile::store(x.c.ptr + tile::rows(rm) * x.c.row_stride + tile::cols(rn), sum,
              tile::rows(rm) < x.m && tile::cols(rn) < x.n);
  tile::atomic_add(sums, rm, rn, sum);
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&, tile::Matrix<float>);
