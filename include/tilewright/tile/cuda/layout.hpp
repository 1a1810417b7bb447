// Where elements are on a GPU: which thread holds which element of a value, and at which byte of shared memory an
// element of a block lies. Arithmetic alone, shared by the executor and by the footprint that the host computes.
//
// A value is cut into atoms of 16 x 16 elements, the size of two matrix instructions m16n8k16, and a grid of WM x WN
// warps shares the atoms. Inside an atom the elements lie as those instructions want their accumulator: thread
// (g, t) = (lane / 4, lane % 4) holds rows g and g + 8, columns 2t, 2t + 1, 2t + 8 and 2t + 9. One layout serves all
// values, so that an epilogue works on the accumulator's registers where they are.
//
// A block in shared memory is rows of D adjacent elements, in chunks of 16 bytes. The chunks of a row are exchanged by
// an exclusive or with the row's number, so that eight rows at one column lie in eight different groups of banks:
// ldmatrix reads and 16-byte writes are free of conflicts for every row of an even number of chunks.
#pragma once

#include <tilewright/tile/cuda/config.hpp>
#include <tilewright/tile/memory.hpp>

namespace tilewright::cuda {

constexpr int up(int number, int multiple) { return (number + multiple - 1) / multiple * multiple; }

/// The distribution of a value of M x N over W warps. Values of extent 1 on an axis that are derived from another one
/// keep the other's distribution: each thread holds the rows, or columns, that it holds there.
template <int M, int N, int W>
struct Fragments {
  static constexpr int m = M, n = N, warps = W;
  static constexpr bool transposed = false;
  static constexpr int atom_rows = up(M, 16) / 16, atom_cols = up(N, 16) / 16;

 private:
  struct Choice {
    int wm, wn;
  };
  /// The warps' grid with the fewest atoms a warp, and of those the one that reads the fewest operand atoms.
  static constexpr Choice choose() {
    Choice best{W, 1};
    int fewest = 1 << 30;
    for (int wm = 1; wm <= W; ++wm) {
      if (W % wm != 0) continue;
      const int wn = W / wm;
      const int a = (atom_rows + wm - 1) / wm, b = (atom_cols + wn - 1) / wn;
      const int cost = a * b * 64 + a + b;
      if (cost < fewest) fewest = cost, best = {wm, wn};
    }
    return best;
  }

 public:
  static constexpr int warp_rows = choose().wm, warp_cols = choose().wn;         // WM, WN
  static constexpr int rows_of_atoms = (atom_rows + warp_rows - 1) / warp_rows;  // a warp's own
  static constexpr int cols_of_atoms = (atom_cols + warp_cols - 1) / warp_cols;
  static constexpr int row_slots = rows_of_atoms * 2, col_slots = cols_of_atoms * 4;  // a thread's own rows, columns
  /// Whether every slot of every thread holds an element of the value.
  static constexpr bool exact = M == warp_rows * rows_of_atoms * 16 && N == warp_cols * cols_of_atoms * 16;

  static constexpr int row(int warp, int lane, int slot) {
    return (warp / warp_cols * rows_of_atoms + slot / 2) * 16 + slot % 2 * 8 + lane / 4;
  }
  static constexpr int col(int warp, int lane, int slot) {
    return (warp % warp_cols * cols_of_atoms + slot / 4) * 16 + slot / 2 % 2 * 8 + lane % 4 * 2 + slot % 2;
  }
};

/// The same registers with rows and columns exchanged.
template <class L>
struct Transposed {
  using straight = L;
  static constexpr int m = L::n, n = L::m, warps = L::warps;
  static constexpr bool transposed = true, exact = L::exact;
  static constexpr int row_slots = L::col_slots, col_slots = L::row_slots;

  static constexpr int row(int warp, int lane, int slot) { return L::col(warp, lane, slot); }
  static constexpr int col(int warp, int lane, int slot) { return L::row(warp, lane, slot); }
};
template <class L>
struct Flipped {
  using type = Transposed<L>;
};
template <class L>
struct Flipped<Transposed<L>> {
  using type = L;
};
template <class L>
using flipped = typename Flipped<L>::type;

/// Whether R x N values are a row, a column or all of what L distributes, and so can be where L has them.
template <class L, int R, int N>
inline constexpr bool slice_of = (R == 1 || R == L::m) && (N == 1 || N == L::n);

namespace detail {
template <class L, int M, int N, class K, int R, int C, int W>
constexpr auto combined() {
  constexpr int m = M > R ? M : R, n = N > C ? N : C;
  if constexpr (tile::is_same<L, K> || (M == m && N == n)) {
    return L{};
  } else if constexpr (R == m && C == n) {
    return K{};
  } else {
    return Fragments<m, n, W>{};
  }
}
}  // namespace detail
/// The distribution of what two values of M x N over L and R x C over K are combined to: the same if they share it,
/// else that of the one that is as large as the result.
template <class L, int M, int N, class K, int R, int C, int W>
using CombinedLayout = decltype(detail::combined<L, M, N, K, R, C, W>());

/// A block of R x C elements of ES bytes in shared memory; Axis: whose neighbours are adjacent.
template <int R, int C, int ES, int Axis>
struct Block {
  static constexpr int axis = Axis;
  static constexpr int inner = Axis == 1 ? C : R;  // D, adjacent
  static constexpr int outer = Axis == 1 ? R : C;
  static constexpr int chunks = up(inner * ES, 16) / 16;  // a row's
  static constexpr int pitch = chunks * 16;               // bytes
  static constexpr int bytes = up(outer * pitch, 128);

  /// The place of a 16-byte chunk in its row.
  static constexpr int place(int row, int chunk) {
    if constexpr (chunks % 8 == 0) {
      return chunk ^ (row & 7);
    } else if constexpr (chunks % 4 == 0) {
      return chunk ^ (row >> 1 & 3);
    } else if constexpr (chunks % 2 == 0) {
      return chunk ^ (row >> 2 & 1);
    } else {
      return chunk;
    }
  }
  /// Byte offset of an element, by its position along the outer and the inner axis.
  static constexpr int offset(int row, int position) {
    return row * pitch + place(row, position * ES / 16) * 16 + position * ES % 16;
  }
};

/// Bytes of an element in memory.
template <class E>
inline constexpr int element_bytes = static_cast<int>(sizeof(E));

/// The block that a load, or a value that is an operand, takes under a mover.
template <class L, int Axis>
using BlockOf = Block<L::rows, L::cols, element_bytes<typename L::element>, Axis>;

/// What is set aside for it, whichever axis turns out to be adjacent: the footprint need not know.
template <class L>
inline constexpr int block_bytes =
    BlockOf<L, 0>::bytes > BlockOf<L, 1>::bytes ? BlockOf<L, 0>::bytes : BlockOf<L, 1>::bytes;

/// The raw area of a realigned block: rows of its chunks and one more, as they lie in memory.
template <class B>
inline constexpr int raw_pitch = B::pitch + 16;
template <class L>
inline constexpr int raw_bytes = up(BlockOf<L, 0>::outer* raw_pitch<BlockOf<L, 0>>, 128) >
                                         up(BlockOf<L, 1>::outer* raw_pitch<BlockOf<L, 1>>, 128)
                                     ? up(BlockOf<L, 0>::outer* raw_pitch<BlockOf<L, 0>>, 128)
                                     : up(BlockOf<L, 1>::outer* raw_pitch<BlockOf<L, 1>>, 128);
/// Shared memory of a dot's operand that is not in shared memory yet: a value is written to its block, a load may take
/// a raw area in front of it.
template <class X>
constexpr int operand_need(bool settles) {
  if constexpr (requires { typename X::load_tag; }) {
    return settles ? raw_bytes<X> + block_bytes<X> : block_bytes<X>;
  } else {
    return block_bytes<X>;
  }
}
/// Blocks in which a pipeline settles what has arrived: the one that is consumed and the next.
inline constexpr int settled_blocks = 2;

/// Shared memory with which one warp stages its part of a store: 16 rows (or columns) of its atoms at a time, in the
/// memory's element type, each row padded by one chunk.
template <class L, int ES, int Axis>
struct Staging {
  static constexpr int inner = (Axis == 1 ? L::cols_of_atoms : L::rows_of_atoms) * 16;
  static constexpr int pitch = inner * ES + 16;
  static constexpr int bytes = 16 * pitch;
};
template <class L, int ES>
inline constexpr int staging_bytes = L::warps*(Staging<L, ES, 0>::bytes > Staging<L, ES, 1>::bytes
                                                   ? Staging<L, ES, 0>::bytes
                                                   : Staging<L, ES, 1>::bytes);

/// Shared memory of a reduction along an axis: one float for each result and each warp along that axis, none where one
/// warp holds all.
template <class L, int Along>
constexpr int reduction_bytes() {
  if constexpr (L::transposed) {
    return reduction_bytes<typename L::straight, 1 - Along>();
  } else {
    constexpr int warps = Along == 1 ? L::warp_cols : L::warp_rows;
    return warps == 1 ? 0 : warps * (Along == 1 ? up(L::m, 16) : up(L::n, 16)) * 4;
  }
}

/// Shared memory through which a value of R x C changes its distribution.
template <int R, int C>
inline constexpr int exchange_bytes = R* C * 4;

}  // namespace tilewright::cuda
