// expect: the operands' row counts differ, and neither is 1 (mixed layouts?)
// A tile and its transpose.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  const auto acc = tile::zeros<float, 32, 16>(p);
  const auto sum = acc + tile::trans(acc);
  tile::store(x.c, rm, rn, sum);
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
