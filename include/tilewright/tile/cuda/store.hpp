// Stores of the CUDA executor: from the registers of a program's threads to memory.
//
// A warp's registers hold atoms of 16 x 16, in which no thread has neighbours enough for a wide write. So each warp
// puts 16 rows (or columns) at a time into a staging area of its own in shared memory and writes whole rows of memory
// from there, 16 bytes a thread where they are aligned. Start at store_along().
#pragma once

#include <tilewright/tile/cuda/mover.hpp>

namespace tilewright::cuda {

/// Memory that a value is written to.
template <class P, class Mask>
struct Target {
  using E = typename P::element;
  using Rows = AxisOf<tile::plain<decltype(P::row_term)>, tile::plain<decltype(Mask::rows)>>;
  using Cols = AxisOf<tile::plain<decltype(P::col_term)>, tile::plain<decltype(Mask::cols)>>;
  Rows rows;
  Cols cols;
  unsigned long long base;

  __device__ Target(const P& pointers, const Mask& mask)
      : rows(pointers.row_term, mask.rows),
        cols(pointers.col_term, mask.cols),
        base(reinterpret_cast<unsigned long long>(pointers.root) +
             static_cast<unsigned long long>(pointers.offset + rows.origin() + cols.origin()) * sizeof(E)) {}
  __device__ bool admits(int r, int c) const { return rows.admits(r) && cols.admits(c); }
  __device__ unsigned long long address(int r, int c) const {
    return base + static_cast<unsigned long long>(rows.offset(r) + cols.offset(c)) * sizeof(E);
  }
  __device__ void write(int r, int c, float value) const {
    if (admits(r, c)) *reinterpret_cast<E*>(address(r, c)) = ptx::round_to<E>(value);
  }
  /// Whether neighbouring rows are nearer in memory than neighbouring columns.
  __device__ bool adjacent_rows() const {
    if constexpr (!Rows::affine || !Cols::affine) return false;
    const i64 down = rows.stride(), across = cols.stride();
    return (down == 1 || down == -1) && !(across == 1 || across == -1);
  }
};

/// The part of a warp's atoms that its staging area holds at a time: 16 lines of memory (rows for Axis 1, columns for
/// Axis 0), on each of them `inner` neighbours.
template <int Axis, class Value, class To>
struct Piece {
  using E = typename To::E;
  using L = typename Value::Layout;
  using Area = Staging<L, element_bytes<E>, Axis>;
  static constexpr int es = element_bytes<E>, inner = Area::inner, atoms = Area::atoms();
  static constexpr int lines = Axis == 1 ? Value::rows : Value::cols, extent = Axis == 1 ? Value::cols : Value::rows;
  /// Whether neighbours along the lines, and the lines themselves, are a stride apart.
  static constexpr bool affine = Axis == 1 ? To::Cols::affine : To::Rows::affine;
  static constexpr bool regular = affine && (Axis == 1 ? To::Rows::affine : To::Cols::affine);
  const To& target;
  u32 area;
  int line, along;  // where it begins

  /// Registers to the staging area: the atoms from (strip, first) on.
  __device__ void fill(const Value& value, int strip, int first) const {
    const int lane = lane_index();
    constexpr int across = Axis == 1 ? 2 : 4, slots = atoms * (Axis == 1 ? 4 : 2);
#pragma unroll
    for (int u = 0; u < across; ++u) {
#pragma unroll
      for (int v = 0; v < slots; ++v) {
        const int i = Axis == 1 ? strip * 2 + u : first * 2 + v, j = Axis == 1 ? first * 4 + v : strip * 4 + u;
        const int r = (Axis == 1 ? 0 : v / 2 * 16) + i % 2 * 8 + lane / 4;
        const int c = (Axis == 1 ? v / 4 * 16 : 0) + j / 2 % 2 * 8 + lane % 4 * 2 + j % 2;
        const u32 to = area + static_cast<u32>(Axis == 1 ? r * Area::pitch + c * es : c * Area::pitch + r * es);
        if constexpr (es == 4) {
          ptx::store_shared(to, value.values[i][j]);
        } else if constexpr (Axis == 1) {
          if (v % 2 == 0) {
            ptx::store_shared(to, static_cast<u32>(ptx::round_to<E>(value.values[i][j]).bits) |
                                      static_cast<u32>(ptx::round_to<E>(value.values[i][j + 1]).bits) << 16);
          }
        } else {
          ptx::store_shared(to, ptx::round_to<E>(value.values[i][j]).bits);
        }
      }
    }
  }

  __device__ u32 staged(int l, int position) const { return area + static_cast<u32>(l * Area::pitch + position * es); }
  __device__ unsigned long long address(int l, int position) const {
    return Axis == 1 ? target.address(line + l, along + position) : target.address(along + position, line + l);
  }
  __device__ bool exists(int l) const {
    if (!L::exact && line + l >= lines) return false;
    return Axis == 1 ? target.rows.admits(line + l) : target.cols.admits(line + l);
  }
  /// One element from the staging area to memory.
  __device__ static void copy(unsigned long long to, u32 from) {
    if constexpr (es == 4) {
      *reinterpret_cast<float*>(to) = ptx::load_shared_float(from);
    } else {
      *reinterpret_cast<u16*>(to) = ptx::load_shared_half(from);
    }
  }

  /// function(line, n-th unit of a line, address of the unit's first position) for this thread's units of so many
  /// positions.
  template <int Unit, class F>
  __device__ void each(F function) const {
    constexpr int units = inner / Unit;
    const int lane = lane_index();
    if constexpr (regular && 32 % units == 0) {
      constexpr int down = 32 / units;
      unsigned long long to = address(lane / units, lane % units * Unit);
      const i64 stride = Axis == 1 ? target.rows.stride() : target.cols.stride();
#pragma unroll 2
      for (int l = 0; l < 16; l += down, to += static_cast<unsigned long long>(stride * down) * es) {
        if (down <= 16 || lane / units < 16) function(l + lane / units, lane % units, to);
      }
    } else {
#pragma unroll
      for (int n = lane; n < 16 * units; n += 32) function(n / units, n % units, address(n / units, n % units * Unit));
    }
  }

  /// Whole chunks of 16 bytes, which are aligned in memory.
  __device__ void write_chunks(const tile::Span& span) const {
    constexpr int unit = 16 / es;
    each<unit>([&](int l, int n, unsigned long long to) {
      const int at = along + n * unit;
      const u32 from = staged(l, n * unit);
      if (!exists(l)) return;
      if (span.first <= at && at + unit <= span.last) {
        *reinterpret_cast<uint4*>(to) = ptx::load_shared_chunk(from);
      } else {
#pragma unroll
        for (int e = 0; e < unit; ++e) {
          if (span.first <= at + e && at + e < span.last)
            copy(to + static_cast<unsigned>(e * es), from + static_cast<u32>(e * es));
        }
      }
    });
  }

  /// Adjacent elements of 2 bytes, lines that begin anywhere: in words of memory, of which those of an odd line hold
  /// one element of each of two neighbouring words of the staging area.
  __device__ void write_words(const tile::Span& span) const {
    each<2>([&](int l, int n, unsigned long long to) {
      if (!exists(l)) return;
      const bool odd = (to & 2) != 0;
      const int at = along + n * 2 - odd;  // the word's first position
      const u32 from = staged(l, n * 2);
      const u32 own = ptx::load_shared_word(from);
      const auto admits = [&](int position) { return span.first <= position && position < span.last; };
      if (!odd) {
        if (admits(at) && admits(at + 1)) {
          *reinterpret_cast<u32*>(to) = own;
        } else if (admits(at)) {
          *reinterpret_cast<u16*>(to) = static_cast<u16>(own);
        } else if (admits(at + 1)) {
          *reinterpret_cast<u16*>(to + 2) = static_cast<u16>(own >> 16);
        }
      } else {
        const u32 before = n > 0 ? ptx::load_shared_half(from - 2) : 0u;
        if (n > 0 && admits(at) && admits(at + 1)) {
          *reinterpret_cast<u32*>(to - 2) = before | own << 16;
        } else {
          if (n > 0 && admits(at)) *reinterpret_cast<u16*>(to - 2) = static_cast<u16>(before);
          if (admits(at + 1)) *reinterpret_cast<u16*>(to) = static_cast<u16>(own);
        }
        // The line's last element has no word.
        if (n == inner / 2 - 1 && admits(at + 2)) *reinterpret_cast<u16*>(to + 2) = static_cast<u16>(own >> 16);
      }
    });
  }

  __device__ void write_elements() const {
#pragma unroll 1
    for (int n = lane_index(); n < 16 * inner; n += 32) {
      const int l = n / inner, position = n % inner;
      if ((!L::exact && along + position >= extent) || !exists(l)) continue;
      if (Axis == 1 ? target.cols.admits(along + position) : target.rows.admits(along + position)) {
        copy(address(l, position), staged(l, position));
      }
    }
  }
};

/// Each warp writes its atoms, 16 rows (Axis 1) or 16 columns (Axis 0) at a time, through its own staging area.
template <int Axis, class Value, class To>
__device__ void store_along(const Value& value, const To& target, u32 scratch) {
  using P = Piece<Axis, Value, To>;
  using L = typename P::L;
  const int warp = warp_index();
  bool adjacent = false, wide = false;  // in memory; whole 16-byte chunks, aligned
  tile::Span span{0, 0};
  if constexpr (P::affine) {
    const i64 pitch = Axis == 1 ? target.rows.stride() : target.cols.stride();
    adjacent = (Axis == 1 ? target.cols.stride() : target.rows.stride()) == 1;
    wide = adjacent && P::regular && ((target.base | (static_cast<unsigned long long>(pitch) * P::es)) & 15u) == 0;
    span = Axis == 1 ? target.cols.span() : target.rows.span();
  }
  constexpr int strips = Axis == 1 ? L::rows_of_atoms : L::cols_of_atoms;
  constexpr int along = Axis == 1 ? L::cols_of_atoms : L::rows_of_atoms;
#pragma unroll
  for (int strip = 0; strip < strips; ++strip) {
#pragma unroll
    for (int first = 0; first < along; first += P::atoms) {
      const int row = L::atom_row(warp, Axis == 1 ? strip : first) * 16;
      const int col = L::atom_col(warp, Axis == 1 ? first : strip) * 16;
      const P piece{target, scratch + static_cast<u32>(warp * P::Area::bytes), Axis == 1 ? row : col,
                    Axis == 1 ? col : row};
      __syncwarp();
      piece.fill(value, strip, first);
      __syncwarp();
      if (wide) {
        piece.write_chunks(span);
      } else if (P::es == 2 && adjacent) {
        piece.write_words(span);
      } else {
        piece.write_elements();
      }
    }
  }
}

}  // namespace tilewright::cuda
