// Where elements are on a GPU: which thread holds which element of a value, and at which byte of shared memory an
// element of a block lies. Arithmetic alone, shared by the executor and by the footprint that the host computes.
//
// A value is cut into atoms of 16 x 16 elements, the size of two matrix instructions m16n8k16, and a grid of warps
// shares the atoms. Inside an atom the elements lie as those instructions want their accumulator: thread
// (g, t) = (lane / 4, lane % 4) holds rows g and g + 8, columns 2t, 2t + 1, 2t + 8 and 2t + 9. One layout serves all
// values, so that an epilogue works on the accumulator's registers where they are.
//
// A block in shared memory is rows of adjacent elements, in chunks of 16 bytes. The chunks of a row are exchanged by an
// exclusive or with the row's number, so that eight rows at one column lie in eight different groups of banks: ldmatrix
// reads and 16-byte writes are free of conflicts for every row of an even number of chunks. These are wgmma's swizzles
// of 128, 64 and 32 bytes as well, so that both instructions multiply the same blocks.
#pragma once

#include <tilewright/tile/cuda/config.hpp>
#include <tilewright/tile/memory.hpp>

namespace tilewright::cuda {

constexpr int up(int number, int multiple) { return (number + multiple - 1) / multiple * multiple; }

/// Bytes. Swizzles are a matter of the address, so blocks begin where their pattern does.
inline constexpr int block_alignment = 1024;

/// The distribution of a value of M x N over a team of warps. Values of extent 1 on an axis that are derived from
/// another one keep the other's distribution: each thread holds the rows, or columns, that it holds there.
template <int M, int N, Team W>
struct Fragments {
  static constexpr int m = M, n = N;
  static constexpr Team team = W;
  static constexpr bool transposed = false;
  static constexpr int atom_rows = up(M, 16) / 16, atom_cols = up(N, 16) / 16;

 private:
  struct Choice {
    int rows, cols;  // of warps
    bool groups;     // four warps, one below the other, share 64 rows: what wgmma wants
  };
  /// Groups of four warps, as many of them as possible along the rows: then the fewest read B. A group's columns must
  /// be whole swizzled rows of B.
  static constexpr Choice choose_groups() {
    constexpr int groups = W.tensor == Tensor::wgmma && W.warps % 4 == 0 && N % 16 == 0 ? W.warps / 4 : 0;
    for (int rows = groups; rows >= 1; --rows) {
      if (groups % rows != 0 || M % (64 * rows) != 0) continue;
      const int cols = groups / rows, own = N / cols;
      if (own <= 256 && (cols == 1 || (N % cols == 0 && own % 64 == 0))) return {4 * rows, cols, true};
    }
    return {0, 0, false};
  }
  /// The warps' grid with the fewest atoms a warp, and of those the one that reads the fewest operand atoms.
  static constexpr Choice choose() {
    if (choose_groups().groups) return choose_groups();
    Choice best{W.warps, 1, false};
    int fewest = 1 << 30;
    for (int rows = 1; rows <= W.warps; ++rows) {
      if (W.warps % rows != 0) continue;
      const int cols = W.warps / rows;
      const int a = (atom_rows + rows - 1) / rows, b = (atom_cols + cols - 1) / cols;
      const int cost = a * b * 64 + a + b;
      if (cost < fewest) fewest = cost, best = {rows, cols, false};
    }
    return best;
  }

 public:
  static constexpr bool groups = choose().groups;
  static constexpr int warp_rows = choose().rows, warp_cols = choose().cols;
  static constexpr int rows_of_atoms = (atom_rows + warp_rows - 1) / warp_rows;  // a warp's own
  static constexpr int cols_of_atoms = (atom_cols + warp_cols - 1) / warp_cols;
  static constexpr int row_slots = rows_of_atoms * 2, col_slots = cols_of_atoms * 4;  // a thread's own rows, columns
  /// Whether every slot of every thread holds an element of the value.
  static constexpr bool exact = M == warp_rows * rows_of_atoms * 16 && N == warp_cols * cols_of_atoms * 16;

  /// A warp's place in the grid.
  static constexpr int warp_row(int warp) { return groups ? warp / 4 / warp_cols * 4 + warp % 4 : warp / warp_cols; }
  static constexpr int warp_col(int warp) { return groups ? warp / 4 % warp_cols : warp % warp_cols; }
  /// The place of a warp's i-th row and j-th column of atoms among all.
  static constexpr int atom_row(int warp, int i) {
    return groups ? (warp / 4 / warp_cols * rows_of_atoms + i) * 4 + warp % 4 : warp_row(warp) * rows_of_atoms + i;
  }
  static constexpr int atom_col(int warp, int j) { return warp_col(warp) * cols_of_atoms + j; }

  static constexpr int row(int warp, int lane, int slot) {
    return atom_row(warp, slot / 2) * 16 + slot % 2 * 8 + lane / 4;
  }
  static constexpr int col(int warp, int lane, int slot) {
    return atom_col(warp, slot / 4) * 16 + slot / 2 % 2 * 8 + lane % 4 * 2 + slot % 2;
  }
};

/// The same registers with rows and columns exchanged.
template <class L>
struct Transposed {
  using straight = L;
  static constexpr int m = L::n, n = L::m;
  static constexpr Team team = L::team;
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
template <class L, int M, int N, class K, int R, int C, Team W>
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
template <class L, int M, int N, class K, int R, int C, Team W>
using CombinedLayout = decltype(detail::combined<L, M, N, K, R, C, W>());

/// The chunks of 16 bytes in a row of a panel, of a block whose adjacent elements take so many bytes.
constexpr int chunk_span(int bytes) {
  const int chunks = up(bytes, 16) / 16;
  return chunks % 8 == 0 ? 8 : chunks % 4 == 0 ? 4 : chunks % 2 == 0 ? 2 : 1;
}

/// A block of R x C elements of ES bytes in shared memory; Axis: whose neighbours are adjacent. It is cut along the
/// adjacent axis into panels of `span` chunks of 16 bytes; a panel is its rows, one after the other.
template <int R, int C, int ES, int Axis>
struct Block {
  static constexpr int axis = Axis;
  static constexpr int inner = Axis == 1 ? C : R;  // adjacent
  static constexpr int outer = Axis == 1 ? R : C;
  static constexpr int chunks = up(inner * ES, 16) / 16;  // a row's
  static constexpr int span = chunk_span(inner * ES);
  static constexpr int pitch = span * 16;  // bytes from one row of a panel to the next
  static constexpr int panel = outer * pitch;
  static constexpr int bytes = up(chunks / span * panel, block_alignment);

  /// The place of a chunk in its panel's row.
  static constexpr int place(int row, int chunk) {
    if constexpr (span == 8) {
      return chunk ^ (row & 7);
    } else if constexpr (span == 4) {
      return chunk ^ (row >> 1 & 3);
    } else if constexpr (span == 2) {
      return chunk ^ (row >> 2 & 1);
    } else {
      return chunk;
    }
  }
  /// Byte offset of an element, by its position along the outer and the inner axis.
  static constexpr int offset(int row, int position) {
    const int chunk = position * ES / 16;
    return chunk / span * panel + row * pitch + place(row, chunk % span) * 16 + position * ES % 16;
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

/// The raw area of a realigned block: rows of its chunks and two more, as they lie in 32-byte sectors of memory: a copy
/// that changes a chunk's place in its sector is several requests of the L2 instead of one.
template <class B>
inline constexpr int raw_pitch = B::chunks * 16 + 32;
template <class B>
inline constexpr int raw_area = up(B::outer* raw_pitch<B>, block_alignment);
template <class B>
struct RawLayout {
  static constexpr int sixteen = 16 * raw_pitch<B>;  // from a row to the sixteenth behind it

  u32 first, step;  // of position (0, 0) in memory, and from row to row: the lowest bits are what counts

  /// The bytes to a row's position 0.
  constexpr u32 start(int row) const {
    return static_cast<u32>(row * raw_pitch<B>) + ((first + static_cast<u32>(row) * step) & 31u);
  }
};
template <class L>
inline constexpr int raw_bytes =
    raw_area<BlockOf<L, 0>> > raw_area<BlockOf<L, 1>> ? raw_area<BlockOf<L, 0>> : raw_area<BlockOf<L, 1>>;

/// How a left operand that stays as it lies in memory is in shared memory (rows.hpp). Its rows keep their place in
/// sectors of 32 bytes: a copy that changes a chunk's place there is several requests of the L2 instead of one.
///
/// Rows of K (axis 0) are read 16 bytes each by threads t of 0 to 3 at rows 2t, and then 2t + 1, so those four lie
/// together: 32 bytes of banks from one to the next, less what their places in sectors differ by, in the order in which
/// that is at least 16.
///
/// Rows along K (axis 1) are read 4 bytes each by threads t at eight rows at once, of which every fourth begins at the
/// same bank but for its place in its sector. Where places repeat as well, because rows are a multiple of 8 bytes
/// apart, rows 4 to 7 of eight change places in pairs: at most two then share a bank, where four did.
template <class B>
struct RowsLayout {
  static constexpr int chunks = B::chunks + 1;
  static constexpr int apart = up(chunks * 16 + 14, 32), four = 4 * apart + 32;
  static constexpr int sixteen = B::axis == 1 ? 16 * apart : 4 * four;  // from a row to the sixteenth behind it
  static constexpr int bytes = up(B::outer / 16 * sixteen, block_alignment);

  u32 first, step;  // of position (0, 0) in memory, and from row to row: the lowest bits are what counts

  /// The bytes to a row's position 0.
  constexpr u32 start(int row) const {
    const int t = B::axis == 1 ? 0 : row / 2 % 4;
    const u32 place = (first + static_cast<u32>(row - 2 * t) * step) & 31u;
    if (B::axis == 1) return static_cast<u32>((step % 8 == 0 ? row ^ (row >> 2 & 1) : row) * apart) + place;
    const int slope = static_cast<int>((2 * step + 16) & 31u) - 16;  // of places in sectors, from t to t + 1
    const int further = slope > 0 ? 3 * apart - t * (apart - slope) : t * (apart + slope);
    return static_cast<u32>((row / 8 * 2 + row % 2) * four + further) + place;
  }
};
/// The same of a block R x N, of which every Step-th element of memory is wanted.
template <class E, int R, int N, int Axis, int Step>
using SteppedRowsLayout = RowsLayout<Block<Axis == 0 ? R * Step : R, Axis == 1 ? N * Step : N, element_bytes<E>, Axis>>;
/// What is set aside, whichever axis turns out to be adjacent.
template <class L, int Step>
constexpr int rows_bytes() {
  constexpr int along_m = SteppedRowsLayout<typename L::element, L::rows, L::cols, 0, Step>::bytes;
  constexpr int along_k = SteppedRowsLayout<typename L::element, L::rows, L::cols, 1, Step>::bytes;
  return along_m > along_k ? along_m : along_k;
}

/// Whether a term of pointers is there, with an affine index.
template <class T>
inline constexpr bool affine_term = false;
template <int Axis, class I>
inline constexpr bool affine_term<tile::Term<Axis, I>> = I::affine;

/// Whether the first load of a pipeline's step, if it is realigned, stays as it arrived: wgmma takes its left operand
/// from registers, so threads pick its elements there.
template <class L>
constexpr bool stays_raw() {
  const bool affine = affine_term<tile::plain<decltype(L::pointers.row_term)>> &&
                      affine_term<tile::plain<decltype(L::pointers.col_term)>>;
  return affine && sizeof(typename L::element) == 2 && BlockOf<L, 0>::span > 1 && BlockOf<L, 1>::span > 1;
}
template <class L>
constexpr bool is_left(int which, Team team) {
  return which == 0 && team.tensor == Tensor::wgmma && stays_raw<L>();
}
/// The place where it is settled otherwise.
template <class L>
constexpr int settled_bytes(int which, Team team) {
  return is_left<L>(which, team) ? 0 : block_bytes<L>;
}
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
/// Shared memory of an operand that has stayed raw where wgmma does not take it from registers.
template <class X, class L>
constexpr int left_need(int which) {
  return which == 0 && L::groups ? 0 : block_bytes<X>;
}
/// Blocks in which a pipeline settles what has arrived: the one that is consumed and the next.
inline constexpr int settled_blocks = 2;

/// The bytes of memory that a warp stages in a row, at most: where teams of wgmma have large tiles, the room is better
/// spent on stages.
constexpr int staged_line(const Team& team) { return team.tensor == Tensor::wgmma && team.warps >= 8 ? 128 : 256; }

/// Shared memory with which one warp stages its part of a store: 16 rows (or columns) of some of its atoms at a time,
/// in the memory's element type, each row padded by one chunk.
///
/// Where four warps have 64 rows, 16 each, one below the other, columns of memory are whole only if they stage
/// together: each of 4 atoms in a row, into the areas of all four, which then have 16 columns of 64 rows each.
template <class L, int ES, int Axis>
struct Staging {
  static constexpr bool together =
      Axis == 0 && L::groups && L::cols_of_atoms % 4 == 0 && 64 * ES <= staged_line(L::team);
  static constexpr int atoms() {
    if (together) return 4;
    if (Axis == 0 && L::groups) return 1;  // a warp's next atom is four atoms below
    constexpr int all = Axis == 1 ? L::cols_of_atoms : L::rows_of_atoms;
    for (int number = all; number > 1; --number) {
      if (all % number == 0 && number * 16 * ES <= staged_line(L::team)) return number;
    }
    return 1;
  }
  static constexpr int inner = atoms() * 16;
  static constexpr int pitch = inner * ES + 16;
  static constexpr int bytes = 16 * pitch;
};
template <class L, int ES>
inline constexpr int staging_bytes = L::team.warps*(Staging<L, ES, 0>::bytes > Staging<L, ES, 1>::bytes
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
