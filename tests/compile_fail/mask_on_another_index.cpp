// expect: the mask bounds another index along the columns than the pointer uses
// The mask bounds n where the pointer walks k.
#include <examples/kernels/args.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

template <class P>
void body(P& p, const kernels::MatmulArgs<f16, f16>& x) {
  const auto rm = tile::arange<32, 'm'>();
  const auto rn = tile::arange<32, 'n'>();
  const auto rk = tile::arange<32, 'k'>();
  p.load(tile::load(x.a.ptr + tile::rows(rm) * x.a.row_stride + tile::cols(rk) * x.a.col_stride,
                    tile::rows(rm) < x.m && tile::cols(rn) < x.n));
}
template void body(describe::Program&, const kernels::MatmulArgs<f16, f16>&);
