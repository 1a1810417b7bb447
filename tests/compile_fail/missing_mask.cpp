// expect: tile::load: no mask; give `rows(...) < extent && cols(...) < extent`
// A load without a mask.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  p.load(tile::load(x.a.ptr + tile::rows(rm) * x.a.row_stride + tile::cols(rk) * x.a.col_stride));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
