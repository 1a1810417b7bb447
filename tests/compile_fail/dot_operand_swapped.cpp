// expect: tile::dot: a's columns and b's rows are different indices (rows and columns swapped in a load?)
// A loaded with rows and columns exchanged, on a square tile.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  auto acc = tile::zeros<float, 32, 32>(p);
  acc += tile::dot(tile::load(x.a, rk, rm), tile::load(x.b, rk, rn));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
