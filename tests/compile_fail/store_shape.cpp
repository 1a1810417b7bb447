// expect: tile::store: the pointers and the value differ in rows or columns (swapped?)
// A transposed tile stored as it was.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  const auto rs = tile::arange<16, 's'>();
  const auto acc = tile::zeros<float, 32, 16>(p);
  tile::store(x.c, rs, rm, acc);
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
