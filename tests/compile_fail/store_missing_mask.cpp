// expect: tile::store: no mask; give `rows(...) < extent && cols(...) < extent`
// A store without a mask.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  tile::store(x.c.ptr + tile::rows(rm) * x.c.row_stride + tile::cols(rn), tile::zeros<float, 32, 32>(p));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
