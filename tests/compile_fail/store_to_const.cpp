// expect: tile::store: the pointer is to const elements
// A store to an input.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  tile::store(x.a, rm, rk, tile::zeros<float, 32, 32>(p));
  static_cast<void>(rn);
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
