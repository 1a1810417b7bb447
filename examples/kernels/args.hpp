// The arguments of the matrix-multiplication kernels in this folder: plain data, the same on every target.
#pragma once

#include <tilewright/tile/tile.hpp>

namespace kernels {

using namespace tilewright;

/// C (m x n) = A (m x k) * B (k x n).
template <class In, class Out>
struct MatmulArgs {
  i64 m, n, k;
  tile::Matrix<const In> a;
  tile::Matrix<const In> b;
  tile::Matrix<Out> c;
};

}  // namespace kernels
