// expect: tile::dot: illegal tile; M, N and K must each be a multiple of 16
// A dot of 8 rows.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  const auto rs = tile::arange<8, 's'>();
  auto acc = tile::zeros<float, 8, 32>(p);
  acc += tile::dot(tile::load(x.a, rs, rk), tile::load(x.b, rk, rn));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
