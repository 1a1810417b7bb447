// expect: tile::dot: a and b have different element types
// f16 times float.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  auto acc = tile::zeros<float, 32, 32>(p);
  acc += tile::dot(tile::load(x.a, rm, rk), tile::cast<float>(p.load(tile::load(x.b, rk, rn))));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
