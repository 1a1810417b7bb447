// expect: tile::dot: the columns of a and the rows of b differ in number
// Inner extents 32 and 16.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  const auto rs = tile::arange<16, 's'>();
  auto acc = tile::zeros<float, 32, 32>(p);
  acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rs, rn));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
