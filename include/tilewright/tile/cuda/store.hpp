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

template <class E>
__device__ void copy_element(unsigned long long to, u32 from) {
  if constexpr (sizeof(E) == 4) {
    *reinterpret_cast<float*>(to) = ptx::load_shared_float(from);
  } else {
    *reinterpret_cast<u16*>(to) = ptx::load_shared_half(from);
  }
}

/// Each warp writes its atoms, 16 rows (Axis 1) or 16 columns (Axis 0) at a time, through its own staging area.
template <int Axis, class Value, class To>
__device__ void store_along(const Value& value, const To& target, u32 scratch) {
  using E = typename To::E;
  using L = typename Value::Layout;
  using Area = Staging<L, element_bytes<E>, Axis>;
  constexpr int es = element_bytes<E>;
  const int warp = warp_index(), lane = lane_index();
  const u32 area = scratch + static_cast<u32>(warp * Area::bytes);
  const int first_row = warp / L::warp_cols * L::rows_of_atoms * 16;
  const int first_col = warp % L::warp_cols * L::cols_of_atoms * 16;
  constexpr int strips = Axis == 1 ? L::rows_of_atoms : L::cols_of_atoms;
  constexpr int slots = Axis == 1 ? Value::col_slots : Value::row_slots;  // along a strip
  constexpr int across = Axis == 1 ? 2 : 4;                               // slots of one strip the other way
  const auto row_at = [&](int strip, int line, int position) {
    return first_row + (Axis == 1 ? strip * 16 + line : position);
  };
  const auto col_at = [&](int strip, int line, int position) {
    return first_col + (Axis == 1 ? position : strip * 16 + line);
  };
  const auto inside = [](int r, int c) { return L::exact || (r < Value::rows && c < Value::cols); };
  bool wide = false;  // whole 16-byte chunks, aligned
  tile::Span span{0, 0};
  if constexpr ((Axis == 1 ? To::Cols::affine : To::Rows::affine)) {
    const i64 stride = Axis == 1 ? target.cols.stride() : target.rows.stride();
    const i64 pitch = Axis == 1 ? target.rows.stride() : target.cols.stride();
    constexpr bool regular = Axis == 1 ? To::Rows::affine : To::Cols::affine;
    wide = stride == 1 && regular && ((target.base | (static_cast<unsigned long long>(pitch) * sizeof(E))) & 15u) == 0;
    span = Axis == 1 ? target.cols.span() : target.rows.span();
  }
#pragma unroll
  for (int strip = 0; strip < strips; ++strip) {
    __syncwarp();
#pragma unroll
    for (int u = 0; u < across; ++u) {
#pragma unroll
      for (int v = 0; v < slots; ++v) {
        const int i = Axis == 1 ? strip * across + u : v, j = Axis == 1 ? v : strip * across + u;
        const int r = Value::row(i) - first_row, c = Value::col(j) - first_col;
        const u32 to = area + static_cast<u32>(Axis == 1 ? (r - strip * 16) * Area::pitch + c * es
                                                         : (c - strip * 16) * Area::pitch + r * es);
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
    __syncwarp();
    constexpr int per_chunk = 16 / es, chunks = Area::inner / per_chunk;
    if (wide) {
#pragma unroll
      for (int n = lane; n < 16 * chunks; n += 32) {
        const int line = n / chunks, position = n % chunks * per_chunk;
        const int r = row_at(strip, line, position), c = col_at(strip, line, position);
        if (!inside(r, c)) continue;
        const int along = Axis == 1 ? c : r;
        const u32 from = area + static_cast<u32>(line * Area::pitch + position * es);
        const bool line_exists = Axis == 1 ? target.rows.admits(r) : target.cols.admits(c);
        if (!line_exists) continue;
        if (span.first <= along && along + per_chunk <= span.last) {
          *reinterpret_cast<uint4*>(target.address(r, c)) = ptx::load_shared_chunk(from);
        } else {
#pragma unroll
          for (int e = 0; e < per_chunk; ++e) {
            if (span.first <= along + e && along + e < span.last) {
              copy_element<E>(target.address(Axis == 1 ? r : r + e, Axis == 1 ? c + e : c),
                              from + static_cast<u32>(e * es));
            }
          }
        }
      }
    } else {
#pragma unroll
      for (int n = lane; n < 16 * Area::inner; n += 32) {
        const int line = n / Area::inner, position = n % Area::inner;
        const int r = row_at(strip, line, position), c = col_at(strip, line, position);
        if (inside(r, c) && target.admits(r, c)) {
          copy_element<E>(target.address(r, c), area + static_cast<u32>(line * Area::pitch + position * es));
        }
      }
    }
  }
}

}  // namespace tilewright::cuda
