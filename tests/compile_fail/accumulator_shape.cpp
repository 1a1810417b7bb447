// expect: tile::dot: the rows of a and of the accumulator differ in number
// 32 rows into an accumulator of 16.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  auto acc = tile::zeros<float, 16, 32>(p);
  acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
