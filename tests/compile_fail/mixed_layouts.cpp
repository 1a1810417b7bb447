// expect: the operands' row counts differ, and neither is 1 (mixed layouts?)
// A tile of 16 rows added to one of 32.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  const auto sum = tile::zeros<float, 32, 32>(p) + tile::zeros<float, 16, 32>(p);
  tile::store(x.c, rm, rn, sum);
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
