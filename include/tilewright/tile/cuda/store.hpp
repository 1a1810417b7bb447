// Stores of the CUDA executor: from the registers of a program's threads to memory.
//
// A warp's registers hold atoms of 16 x 16, in which no thread has neighbours enough for a wide write. So each warp
// puts 16 rows (or columns) at a time into a staging area of its own in shared memory and writes whole rows of memory
// from there, 16 bytes a thread. Where a row of memory begins inside of an aligned chunk of 16 bytes, it is staged as
// many bytes further on: then its chunks are chunks of the staging area as well, and but for the two ends of a row all
// is written in whole chunks, whatever C's leading dimension is. Start at store_along().
#pragma once

#include <tilewright/tile/cuda/mover.hpp>
#include <tilewright/tile/cuda/ptx/roles.hpp>

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
  static constexpr int unit = 16 / es, chunks = inner / unit;  // elements a chunk, chunks a line
  /// Whether neighbours along the lines, and the lines themselves, are a stride apart.
  static constexpr bool affine = Axis == 1 ? To::Cols::affine : To::Rows::affine;
  static constexpr bool regular = affine && (Axis == 1 ? To::Rows::affine : To::Cols::affine);
  const To& target;
  u32 area;
  int line, along;  // where it begins

  __device__ unsigned long long address(int l, int position) const {
    return Axis == 1 ? target.address(line + l, along + position) : target.address(along + position, line + l);
  }
  /// Bytes from an aligned chunk of memory to the beginning of a line.
  template <bool Shifted>
  __device__ u32 shift(int l) const {
    if constexpr (!Shifted) {
      return 0;
    } else if constexpr (regular) {  // eight lines are a multiple of 16 bytes, and so are 16 neighbours
      return static_cast<u32>(Axis == 1 ? target.address(l & 7, 0) : target.address(0, l & 7)) & 15u;
    } else {
      return static_cast<u32>(address(l, 0)) & 15u;
    }
  }
  template <bool Shifted>
  __device__ u32 staged(int l, int position) const {
    return area + static_cast<u32>(l * Area::pitch + position * es) + shift<Shifted>(l);
  }

  /// Registers to the staging area: the atoms from (strip, first) on, so many of them, `skipped` positions behind the
  /// lines' beginnings.
  template <bool Shifted, int Atoms = atoms>
  __device__ void fill(const Value& value, int strip, int first, int skipped = 0) const {
    const int lane = lane_index();
    if constexpr (!Shifted && es == 2 && L::team.tensor == Tensor::wgmma) {
#pragma unroll
      for (int a = 0; a < Atoms; ++a) {
        const int i = Axis == 1 ? strip * 2 : (first + a) * 2, j = Axis == 1 ? (first + a) * 4 : strip * 4;
        const auto& upper = value.values[i];
        const auto& lower = value.values[i + 1];
        // Rows g and g + 8 on the left, then on the right; transposed, a matrix' rows are columns.
        const u32 words[4] = {pair(upper[j], upper[j + 1]), pair(lower[j], lower[j + 1]),
                              pair(upper[j + 2], upper[j + 3]), pair(lower[j + 2], lower[j + 3])};
        const int l = Axis == 1 ? lane % 16 : lane % 8 + lane / 16 * 8, at = Axis == 1 ? lane / 16 : lane / 8 % 2;
        ptx::store_matrices<Axis == 0>(area + static_cast<u32>(l * Area::pitch + a * 32 + at * 16 + skipped * es),
                                       words);
      }
    } else {
      constexpr int across = Axis == 1 ? 2 : 4, slots = Atoms * (Axis == 1 ? 4 : 2);
#pragma unroll
      for (int u = 0; u < across; ++u) {
#pragma unroll
        for (int v = 0; v < slots; ++v) {
          const int i = Axis == 1 ? strip * 2 + u : first * 2 + v, j = Axis == 1 ? first * 4 + v : strip * 4 + u;
          const int r = (Axis == 1 ? 0 : v / 2 * 16) + i % 2 * 8 + lane / 4;
          const int c = (Axis == 1 ? v / 4 * 16 : 0) + j / 2 % 2 * 8 + lane % 4 * 2 + j % 2;
          const u32 to = staged<Shifted>(Axis == 1 ? r : c, (Axis == 1 ? c : r) + skipped);
          if constexpr (es == 4) {
            ptx::store_shared(to, value.values[i][j]);
          } else if constexpr (Axis == 1 && !Shifted) {
            if (v % 2 == 0) ptx::store_shared(to, pair(value.values[i][j], value.values[i][j + 1]));
          } else {
            ptx::store_shared(to, ptx::round_to<E>(value.values[i][j]).bits);
          }
        }
      }
    }
  }

  /// Adjacent elements, lines that begin anywhere. span: of positions along the lines, rows: of lines.
  template <bool Shifted>
  __device__ void write_chunks(const tile::Span& span, const tile::Span& rows) const {
    constexpr int down = 32 / chunks, turns = (16 + down - 1) / down;
    const int lane = lane_index(), own = lane / chunks, chunk = lane % chunks;
    const i64 stride = Axis == 1 ? target.rows.stride() : target.cols.stride();
    const unsigned long long begin = address(own, 0);
    const bool inside = span.first <= along && along + inner <= span.last;
    constexpr int batch = turns < 4 ? turns : 4;  // reads in flight
    // Where fragments of operands take registers as well, unrolled it would spill some.
#pragma unroll(L::team.tensor == Tensor::wgmma ? turns / batch : 1)
    for (int first = 0; first < turns; first += batch) {
      uint4 values[batch];
#pragma unroll
      for (int n = 0; n < batch; ++n) {
        const int l = (own + (first + n) * down) % 16;
        values[n] = ptx::load_shared_chunk(area + static_cast<u32>(l * Area::pitch + chunk * 16));
      }
#pragma unroll
      for (int n = 0; n < batch; ++n) {
        const int l = own + (first + n) * down;
        const u32 before = shift<Shifted>(l);
        const int at = along + chunk * unit - static_cast<int>(before) / es;
        const bool exists = own < down && l < 16 && line + l >= rows.first && line + l < rows.last;
        const bool end = Shifted && chunk == 0 && before != 0;  // one of the line's two
        if (exists & !end & (inside | (span.first <= at & at + unit <= span.last))) {
          const unsigned long long to = begin + static_cast<unsigned long long>(stride * (l - own)) * es;
          *reinterpret_cast<uint4*>(to - before + static_cast<unsigned>(chunk * 16)) = values[n];
        }
      }
    }
    if (Shifted) write_ends<true>(span, rows);
    if (!inside) write_ends<false>(span, rows);
  }

  /// Elements of lines in chunks that are not written as a whole: Own: the two ends, which are one chunk together; else
  /// the one that the last existing position cuts.
  template <bool Own>
  __device__ void write_ends(const tile::Span& span, const tile::Span& rows) const {
    constexpr int down = 32 / unit;
#pragma unroll(L::team.tensor == Tensor::wgmma && chunks >= 16 ? 16 / down : 1)
    for (int l = lane_index() / unit; l < 16; l += down) {
      const int e = lane_index() % unit, before = static_cast<int>(shift<true>(l)) / es;
      int position = 0;
      bool cut = before != 0;
      if constexpr (Own) {
        position = e < unit - before ? e : inner - unit + e;
      } else {
        const int last = (span.last - along + before) / unit;  // of the line's chunks
        position = last * unit - before + e;
        cut = last < chunks && (last > 0 || !cut);
      }
      const int at = along + position;
      if (cut && line + l >= rows.first && line + l < rows.last && span.first <= at && at < span.last) {
        copy(address(l, position), staged<true>(l, position));
      }
    }
  }

  /// Any strides, any order of lines.
  __device__ void write_elements() const {
#pragma unroll 1
    for (int n = lane_index(); n < 16 * inner; n += 32) {
      const int l = n / inner, position = n % inner, at = along + position;
      if (!L::exact && (at >= extent || line + l >= lines)) continue;
      const bool admitted = Axis == 1 ? target.rows.admits(line + l) && target.cols.admits(at)
                                      : target.cols.admits(line + l) && target.rows.admits(at);
      if (admitted) copy(address(l, position), staged<false>(l, position));
    }
  }

 private:
  __device__ static u32 pair(float low, float high) {
    return static_cast<u32>(ptx::round_to<E>(low).bits) | static_cast<u32>(ptx::round_to<E>(high).bits) << 16;
  }
  /// One element from the staging area to memory.
  __device__ static void copy(unsigned long long to, u32 from) {
    if constexpr (es == 4) {
      *reinterpret_cast<float*>(to) = ptx::load_shared_float(from);
    } else {
      *reinterpret_cast<u16*>(to) = ptx::load_shared_half(from);
    }
  }
};

/// A barrier of the four warps that share 64 rows.
__device__ inline void barrier_of_four(int warp) {
  constexpr u32 first = 8;  // behind those of teams
  ptx::barrier_of<128>(first + threadIdx.y * 2 + static_cast<u32>(warp / 4));
}

/// Each warp writes its atoms, 16 rows (Axis 1) or 16 columns (Axis 0) at a time, through its own staging area.
template <int Axis, class Value, class To>
__device__ void store_along(const Value& value, const To& target, u32 scratch) {
  using P = Piece<Axis, Value, To>;
  using L = typename P::L;
  const int warp = warp_index();
  bool adjacent = false, aligned = false;  // in memory: neighbours along a line; every line to 16 bytes
  tile::Span span{0, 0}, rows{0, 0};
  if constexpr (P::regular) {
    const i64 pitch = Axis == 1 ? target.rows.stride() : target.cols.stride();
    span = Axis == 1 ? target.cols.span() : target.rows.span();
    rows = Axis == 1 ? target.rows.span() : target.cols.span();
    adjacent = (Axis == 1 ? target.cols.stride() : target.rows.stride()) == 1 && span.first == 0;
    aligned = ((target.base | (static_cast<unsigned long long>(pitch) * P::es)) & 15u) == 0;
  }
  const auto write = [&](const P& piece) {
    if (!adjacent) {
      piece.write_elements();
    } else if (aligned) {
      piece.template write_chunks<false>(span, rows);
    } else {
      piece.template write_chunks<true>(span, rows);
    }
  };
  // Loops that stay ones: which registers a piece has must be known to the compiler, what is done then need not.
  if constexpr (P::Area::together) {
    // A warp fills its 16 rows of everybody's columns and writes its own 16 columns of everybody's rows.
    const int first_warp = warp / 4 * 4, own = warp % 4;
    const auto at = [&](int strip, int down, int w) {
      return P{target, scratch + static_cast<u32>((first_warp + w) * P::Area::bytes),
               L::atom_col(warp, strip * 4 + w) * 16, L::atom_row(first_warp, down) * 16};
    };
    constexpr int quads = L::cols_of_atoms / 4, pieces = quads * L::rows_of_atoms;
#pragma unroll 1
    for (int n = 0; n < pieces; ++n) {
      barrier_of_four(warp);
#pragma unroll
      for (int k = 0; k < pieces; ++k) {
        if (k != n) continue;
        const int strip = k % quads, down = k / quads;
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          if (adjacent && !aligned) {
            at(strip, down, w).template fill<true, 1>(value, strip * 4 + w, down, own * 16);
          } else {
            at(strip, down, w).template fill<false, 1>(value, strip * 4 + w, down, own * 16);
          }
        }
      }
      barrier_of_four(warp);
      write(at(n % quads, n / quads, own));
    }
  } else {
    constexpr int strips = Axis == 1 ? L::rows_of_atoms : L::cols_of_atoms;
    constexpr int per_strip = (Axis == 1 ? L::cols_of_atoms : L::rows_of_atoms) / P::atoms;
#pragma unroll 1
    for (int n = 0; n < strips * per_strip; ++n) {
      const int strip = n / per_strip, first = n % per_strip * P::atoms;
      const int row = L::atom_row(warp, Axis == 1 ? strip : first) * 16;
      const int col = L::atom_col(warp, Axis == 1 ? first : strip) * 16;
      const P piece{target, scratch + static_cast<u32>(warp * P::Area::bytes), Axis == 1 ? row : col,
                    Axis == 1 ? col : row};
      __syncwarp();
#pragma unroll
      for (int k = 0; k < strips * per_strip; ++k) {
        if (k != n) continue;
        if (adjacent && !aligned) {
          piece.template fill<true>(value, k / per_strip, k % per_strip * P::atoms);
        } else {
          piece.template fill<false>(value, k / per_strip, k % per_strip * P::atoms);
        }
      }
      __syncwarp();
      write(piece);
    }
  }
}

}  // namespace tilewright::cuda
