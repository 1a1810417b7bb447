// expect: tile::atomic_add: memory must hold float
// An atomic addition to f16.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  tile::atomic_add(x.c, rm, rn, tile::zeros<float, 32, 32>(p));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
