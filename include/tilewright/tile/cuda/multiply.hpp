// The product of two blocks in shared memory, added to an accumulator in registers: wgmma or mma.sync m16n8k16 for
// 16-bit elements, fused multiply-adds in order of k for float.
//
// wgmma reads blocks as they lie, along either axis; it is told where by a descriptor. For mma.sync,
// ldmatrix brings an operand's fragments in the order that the instruction wants, whichever of its axes is adjacent in
// shared memory: one way it transposes, the other it does not.
#pragma once

#include <tilewright/tile/cuda/mover.hpp>
#include <tilewright/tile/cuda/ptx/matrix.hpp>
#include <tilewright/tile/cuda/ptx/wgmma.hpp>
#include <tilewright/tile/cuda/staged.hpp>

namespace tilewright::cuda {

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

/// What wgmma is told of a block of 16-bit elements: the swizzle, the chunks from 8 rows of a panel to the next 8 and
/// from panel to panel, and in the lowest bits the chunk, counted from the beginning of shared memory, where the part
/// begins that it multiplies: at element (outer, inner) of a block that begins at chunk `block`.
template <class B>
__device__ unsigned long long descriptor(u32 block, int outer, int inner) {
  static_assert(B::span > 1, "cuda: wgmma takes rows of a multiple of 16 elements");
  constexpr u32 swizzle = B::span == 8 ? 1 : B::span == 4 ? 2 : 3;
  constexpr u32 high = swizzle << 30 | static_cast<u32>(8 * B::pitch / 16), panels = static_cast<u32>(B::panel / 16)
                                                                                     << 16;
  const u32 low = block + (panels + static_cast<u32>(B::offset(outer, inner) / 16));
  return static_cast<unsigned long long>(high) << 32 | low;
}

/// The chunk of a block, as descriptors count it. In a cluster the addresses of all but its first block of threads have
/// a bit above, which says whose memory it is: it would change the way from panel to panel.
__device__ inline u32 chunk_of(u32 address) { return (address & 0x3ffff) / 16; }

/// N columns from column First on, in as few instructions as cover them. Left: a descriptor, or registers.
template <class E, int N, class BB, bool AlongM, int First = 0, class Left>
__device__ void multiply_columns(float* upper, float* lower, const Left& a, u32 b, int k, int col) {
  constexpr int width = ptx::wgmma_width(N - First);
  const unsigned long long right = descriptor<BB>(b, BB::axis == 0 ? col : k, BB::axis == 0 ? k : col);
  if constexpr (tile::is_same<Left, unsigned long long>) {
    ptx::wgmma<E, width, AlongM, BB::axis == 1>(upper + First / 4, lower + First / 4, a, right);
  } else {
    ptx::wgmma<E, width, BB::axis == 1>(upper + First / 4, lower + First / 4, a, right);
  }
  if constexpr (First + width < N) {
    multiply_columns<E, N, BB, AlongM, First + width>(upper, lower, a, b, k, col + width);
  }
}

/// The fragments of a 16 x 16 atom of a raw A at a thread's own rows and columns: see layout.hpp for g and t.
template <class A>
__device__ void load_raw(u32 (&to)[4], const A& a, int row, int k) {
  const int g = lane_index() / 4, t = lane_index() % 4;
  const auto pair = [&](u32 low, u32 high) {
    return static_cast<u32>(ptx::load_shared_half(low)) | static_cast<u32>(ptx::load_shared_half(high)) << 16;
  };
  if constexpr (A::axis == 1) {
    const u32 column = static_cast<u32>(row / 16 * A::sixteen + (k + 2 * t) * A::next);
    const u32 upper = a.row_address(g) + column, lower = a.row_address(g + 8) + column;
    to[0] = pair(upper, upper + A::next), to[1] = pair(lower, lower + A::next);
    to[2] = pair(upper + 8 * A::next, upper + 9 * A::next), to[3] = pair(lower + 8 * A::next, lower + 9 * A::next);
  } else {
    const u32 column = static_cast<u32>(k / 16 * A::sixteen + (row + g) * A::next);
    const u32 even = a.row_address(2 * t) + column, odd = a.row_address(2 * t + 1) + column;
    const u32 even8 = a.row_address(2 * t + 8) + column, odd8 = a.row_address(2 * t + 9) + column;
    to[0] = pair(even, odd), to[1] = pair(even + 8 * A::next, odd + 8 * A::next);
    to[2] = pair(even8, odd8), to[3] = pair(even8 + 8 * A::next, odd8 + 8 * A::next);
  }
}

/// The product by wgmma, of a block at shared address `a` or of a raw one. meanwhile() is called while tensor cores
/// multiply; when this returns, they are done, unless it GoesOn. Fragments of a raw block are the tensor cores' until
/// they are done: they stand in registers of this function's own, or, where work goes on, in those of its Ahead.
template <class E, int K, class L, class BA, class BB, bool GoesOn, class A, class F>
__device__ void multiply_in_groups(float (&acc)[L::row_slots][L::col_slots], const A& a, u32 b, F meanwhile) {
  // The same number for all threads of a warp, and the compiler is to know it.
  const int warp = L::team.warps == 4 ? 0 : __shfl_sync(0xffffffffu, warp_index(), 0) / 4 * 4;
  constexpr int columns = L::cols_of_atoms * 16;
  const int col = L::atom_col(warp, 0) * 16;
  constexpr bool raw = !tile::is_same<A, u32>;
  u32 own[raw && !GoesOn ? K / 16 * L::rows_of_atoms : 1][4];
  [[maybe_unused]] const auto load = [](u32(*to)[4], const auto& from) {
    if constexpr (requires { from.existing; }) {  // of a warp's only rows
      if (from.few && L::rows_of_atoms == 1 && L::atom_row(warp_index(), 0) * 16 >= from.existing) return;
    }
#pragma unroll
    for (int k = 0; k < K; k += 16) {
#pragma unroll
      for (int i = 0; i < L::rows_of_atoms; ++i) {
        load_raw(to[k / 16 * L::rows_of_atoms + i], from, L::atom_row(warp_index(), i) * 16, k);
      }
    }
  };
  // multiply(row of atoms, k) for all of them.
  const auto each = [](auto multiply) {
    ptx::wgmma_begin();
#pragma unroll
    for (int k = 0; k < K; k += 16) {
#pragma unroll
      for (int i = 0; i < L::rows_of_atoms; ++i) multiply(i, k);
    }
    ptx::wgmma_commit();
  };
  if constexpr (!raw) {
    each([&](int i, int k) {
      const int row = L::atom_row(warp, i) * 16;
      const unsigned long long left = descriptor<BA>(chunk_of(a), BA::axis == 1 ? row : k, BA::axis == 1 ? k : row);
      multiply_columns<E, columns, BB, BA::axis == 0>(acc[2 * i], acc[2 * i + 1], left, chunk_of(b), k, col);
    });
  } else {
    u32(*left)[4] = own;
    bool fresh = true;
    if constexpr (GoesOn) left = a.work->ahead.fragments, fresh = a.work->ahead.fresh;
    if (fresh) load(left, a);
    each([&](int i, int k) {
      multiply_columns<E, columns, BB, false>(acc[2 * i], acc[2 * i + 1], left[k / 16 * L::rows_of_atoms + i],
                                              chunk_of(b), k, col);
    });
  }
  meanwhile();
  if constexpr (raw && GoesOn) {  // while this step's fragments multiply
    A next = a;
    next.address = a.work->ahead.address;
    load(a.work->ahead.next, next);
  }
  if constexpr (!GoesOn) {
    ptx::wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < L::row_slots; ++i) {
#pragma unroll
      for (int j = 0; j < L::col_slots; ++j) ptx::pin(acc[i][j]);
    }
  }
  if constexpr (raw && !GoesOn) {
#pragma unroll
    for (auto& words : own) ptx::hold(words, b);
  }
}

}  // namespace detail

/// acc (M x N, distributed as L) += the block BA (M x K) at a, times the block BB (K x N) at b. A: u32, or Raw where L
/// suits wgmma. Where the instructions run by themselves, meanwhile() is called meanwhile; if the product GoesOn, it
/// still does afterwards.
template <class E, int K, class L, class BA, class BB, bool GoesOn, class A, class F>
__device__ void multiply(float (&acc)[L::row_slots][L::col_slots], const A& a, u32 b, F meanwhile) {
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
  } else if constexpr (L::groups) {
    detail::multiply_in_groups<E, K, L, BA, BB, GoesOn>(acc, a, b, meanwhile);
  } else {
    // A warp without atoms of its own, or with fewer, repeats the last one: its sums have no element and go nowhere.
    const auto atom = [](int own, int last) { return L::exact || own < last ? own : last; };
#pragma unroll
    for (int k = 0; k < K; k += 16) {
      u32 left[L::rows_of_atoms][4], right[L::cols_of_atoms][4];
#pragma unroll
      for (int i = 0; i < L::rows_of_atoms; ++i) {
        detail::load_a<BA>(left[i], a, atom(L::atom_row(warp, i), L::atom_rows - 1) * 16, k);
      }
#pragma unroll
      for (int j = 0; j < L::cols_of_atoms; ++j) {
        detail::load_b<BB>(right[j], b, k, atom(L::atom_col(warp, j), L::atom_cols - 1) * 16);
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
