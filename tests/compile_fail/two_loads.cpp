// expect: tile: arithmetic on two loads; read one with p.load(...) first
// The sum of two loads.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  const auto sum = tile::load(x.a, rm, rk) + tile::load(x.a, rm, rk);
  static_cast<void>(p);
  static_cast<void>(sum);
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
