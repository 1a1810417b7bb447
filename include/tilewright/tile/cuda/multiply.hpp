// The product of two blocks in shared memory, added to an accumulator in registers: mma.sync m16n8k16 for 16-bit
// elements, fused multiply-adds in order of k for float.
//
// ldmatrix brings an operand's fragments in the order that the instruction wants, whichever of its axes is adjacent in
// shared memory: one way it transposes, the other it does not.
#pragma once

#include <tilewright/tile/cuda/layout.hpp>
#include <tilewright/tile/cuda/ptx/copy.hpp>
#include <tilewright/tile/cuda/ptx/matrix.hpp>

namespace tilewright::cuda {

__device__ inline int warp_index() { return static_cast<int>(threadIdx.x) / 32; }
__device__ inline int lane_index() { return static_cast<int>(threadIdx.x) % 32; }

namespace detail {

/// The fragments of a 16 x 16 atom of A (M x K): block B holds it at shared address `at`.
template <class B>
__device__ void load_a(u32 (&to)[4], u32 at, int row, int k) {
  const int lane = lane_index();
  if constexpr (B::axis == 1) {
    ptx::load_matrices<false>(to, at + static_cast<u32>(B::offset(row + lane % 16, k + lane / 16 * 8)));
  } else {
    ptx::load_matrices<true>(to,
                             at + static_cast<u32>(B::offset(k + lane % 8 + lane / 16 * 8, row + lane / 8 % 2 * 8)));
  }
}
/// The fragments of a 16 x 16 atom of B (K x N): two words for columns 0 to 7, two for 8 to 15.
template <class B>
__device__ void load_b(u32 (&to)[4], u32 at, int k, int col) {
  const int lane = lane_index();
  if constexpr (B::axis == 0) {
    ptx::load_matrices<false>(to,
                              at + static_cast<u32>(B::offset(col + lane % 8 + lane / 16 * 8, k + lane / 8 % 2 * 8)));
  } else {
    ptx::load_matrices<true>(to,
                             at + static_cast<u32>(B::offset(k + lane % 8 + lane / 8 % 2 * 8, col + lane / 16 * 8)));
  }
}

/// A float of a block that is addressed by its rows and columns.
template <class B>
__device__ float load_float(u32 at, int row, int col) {
  return ptx::load_shared_float(at + static_cast<u32>(B::axis == 1 ? B::offset(row, col) : B::offset(col, row)));
}

}  // namespace detail

/// acc (M x N, distributed as L) += the block BA (M x K) at a, times the block BB (K x N) at b.
template <class E, int K, class L, class BA, class BB>
__device__ void multiply(float (&acc)[L::row_slots][L::col_slots], u32 a, u32 b) {
  const int warp = warp_index();
  if constexpr (tile::is_same<E, float>) {
    const int lane = lane_index();
    const auto inside = [](int position, int extent) { return L::exact || position < extent ? position : extent - 1; };
#pragma unroll 4
    for (int k = 0; k < K; ++k) {
      float left[L::row_slots], right[L::col_slots];
#pragma unroll
      for (int i = 0; i < L::row_slots; ++i)
        left[i] = detail::load_float<BA>(a, inside(L::row(warp, lane, i), L::m), k);
#pragma unroll
      for (int j = 0; j < L::col_slots; ++j) {
        right[j] = detail::load_float<BB>(b, k, inside(L::col(warp, lane, j), L::n));
      }
#pragma unroll
      for (int i = 0; i < L::row_slots; ++i) {
#pragma unroll
        for (int j = 0; j < L::col_slots; ++j) acc[i][j] = fmaf(left[i], right[j], acc[i][j]);
      }
    }
  } else {
    // A warp without atoms of its own, or with fewer, repeats the last one: its sums have no element and go nowhere.
    const auto atom = [](int own, int last) { return L::exact || own < last ? own : last; };
    const int first_row = warp / L::warp_cols * L::rows_of_atoms, first_col = warp % L::warp_cols * L::cols_of_atoms;
#pragma unroll
    for (int k = 0; k < K; k += 16) {
      u32 left[L::rows_of_atoms][4], right[L::cols_of_atoms][4];
#pragma unroll
      for (int i = 0; i < L::rows_of_atoms; ++i) {
        detail::load_a<BA>(left[i], a, atom(first_row + i, L::atom_rows - 1) * 16, k);
      }
#pragma unroll
      for (int j = 0; j < L::cols_of_atoms; ++j) {
        detail::load_b<BB>(right[j], b, k, atom(first_col + j, L::atom_cols - 1) * 16);
      }
#pragma unroll
      for (int i = 0; i < L::rows_of_atoms; ++i) {
#pragma unroll
        for (int j = 0; j < L::cols_of_atoms; ++j) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            ptx::multiply<E>(acc[2 * i][4 * j + 2 * h], acc[2 * i][4 * j + 2 * h + 1], acc[2 * i + 1][4 * j + 2 * h],
                             acc[2 * i + 1][4 * j + 2 * h + 1], left[i], right[j][2 * h], right[j][2 * h + 1]);
          }
        }
      }
    }
  }
}

}  // namespace tilewright::cuda
