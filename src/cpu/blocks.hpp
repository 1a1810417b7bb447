// Reading a block of a matrix into a tile of floats, and writing a tile to a block, rounded once.
//
// As in packing.hpp there are three ways, by the axis along which elements are contiguous, and memory outside of the
// bounds is neither read nor written.
//
// Start at load() and store().
#pragma once

#include "cpu/access.hpp"

namespace tilewright::cpu {

/// The lanes x lanes part of a block at (i, j), cut off at the ends of the bounds.
struct Part {
  int i, j, rows, cols;
};
template <class V>
Part part_at(const Axis& row, const Axis& col, int i, int j) {
  return {i, j, lower<V>(V::lanes, row.end - i), lower<V>(V::lanes, col.end - j)};
}

/// `other` wherever the tile lies outside of the bounds.
template <class V>
void fill_outside(const Axis& row, const Axis& col, int rows, int cols, float other, float* tile, i64 ld) {
  for (int i = 0; i < rows; ++i) {
    const bool inside = i >= row.begin && i < row.end;
    const int before = inside ? col.begin : cols, after = inside ? col.end : cols;
    for (int j = 0; j < before; ++j) tile[i * ld + j] = other;
    for (int j = after; j < cols; ++j) tile[i * ld + j] = other;
  }
}

template <class V, class E>
void load_rows(const E* base, const Axis& row, const Axis& col, float other, float* tile, i64 ld) {
  for (int i = row.begin; i < row.end; ++i) {
    const i64 offset = offset_of<V>(row, i);
    float* out = tile + i * ld;
    if (offset == Operand::masked) {
      for (int j = col.begin; j < col.end; ++j) out[j] = other;
      continue;
    }
    int j = col.begin;
    for (; j + V::lanes <= col.end; j += V::lanes) V::store(out + j, V::read(element_at<V>(base, offset + j)));
    if (j < col.end) V::store_first(out + j, col.end - j, V::read_first(element_at<V>(base, offset + j), col.end - j));
  }
}

template <class V, class E>
void load_columns(const E* base, const Axis& row, const Axis& col, float other, float* tile, i64 ld) {
  for (int j = col.begin; j < col.end; j += V::lanes) {
    for (int i = row.begin; i < row.end; i += V::lanes) {
      const Part part = part_at<V>(row, col, i, j);
      typename V::Reg block[V::lanes];  // [col][row], then [row][col]
      for (int c = 0; c < V::lanes; ++c) {
        const i64 offset = offset_of<V>(col, j + c);
        if (offset == Operand::masked) {
          block[c] = V::broadcast(&other);
        } else {
          block[c] = V::read_first(element_at<V>(base, offset + i), part.rows);
        }
      }
      V::transpose(block);
      for (int r = 0; r < part.rows; ++r) V::store_first(tile + (i + r) * ld + j, part.cols, block[r]);
    }
  }
}

template <class V, class E>
void load_elements(const E* base, const Axis& row, const Axis& col, float other, float* tile, i64 ld) {
  for (int i = row.begin; i < row.end; ++i) {
    const i64 start = offset_of<V>(row, i);
    for (int j = col.begin; j < col.end; j += V::lanes) {
      const int count = lower<V>(V::lanes, col.end - j);
      E gathered[V::lanes] = {};
      bool masked[V::lanes];
      for (int c = 0; c < count; ++c) {
        const i64 offset = offset_of<V>(col, j + c);
        masked[c] = start == Operand::masked || offset == Operand::masked;
        if (!masked[c]) gathered[c] = *element_at<V>(base, start + offset);
      }
      float* out = tile + i * ld + j;
      V::store_first(out, count, V::read(gathered));
      for (int c = 0; c < count; ++c) {
        if (masked[c]) out[c] = other;
      }
    }
  }
}

template <class V, class E>
void load_block(const E* base, const Axis& row, const Axis& col, float other, float* tile, i64 ld) {
  if (contiguous<V>(col)) return load_rows<V>(base, row, col, other, tile, ld);
  if (contiguous<V>(row)) return load_columns<V>(base, row, col, other, tile, ld);
  load_elements<V>(base, row, col, other, tile, ld);
}

/// tile (rows, cols) from a block of memory, `other` outside of its bounds.
template <class V>
void load(const void* base, DType type, const Block& block, int rows, int cols, float other, float* tile, i64 ld) {
  const Axis row = axis_of<V>(block.row_stride, block.row_offsets, block.row_begin, block.row_end, rows);
  const Axis col = axis_of<V>(block.col_stride, block.col_offsets, block.col_begin, block.col_end, cols);
  fill_outside<V>(row, col, rows, cols, other, tile, ld);
  if (type == DType::f16) return load_block<V>(static_cast<const f16*>(base), row, col, other, tile, ld);
  if (type == DType::bf16) return load_block<V>(static_cast<const bf16*>(base), row, col, other, tile, ld);
  load_block<V>(static_cast<const float*>(base), row, col, other, tile, ld);
}

template <class V, class E>
void store_rows(const float* tile, i64 ld, E* base, const Axis& row, const Axis& col) {
  for (int i = row.begin; i < row.end; ++i) {
    const i64 offset = offset_of<V>(row, i);
    if (offset == Operand::masked) continue;
    const float* from = tile + i * ld;
    int j = col.begin;
    for (; j + V::lanes <= col.end; j += V::lanes) V::write(element_at<V>(base, offset + j), V::load(from + j));
    if (j < col.end) {
      V::write_first(element_at<V>(base, offset + j), col.end - j, V::load_first(from + j, col.end - j));
    }
  }
}

template <class V, class E>
void store_columns(const float* tile, i64 ld, E* base, const Axis& row, const Axis& col) {
  for (int j = col.begin; j < col.end; j += V::lanes) {
    for (int i = row.begin; i < row.end; i += V::lanes) {
      const Part part = part_at<V>(row, col, i, j);
      typename V::Reg block[V::lanes];  // [row][col], then [col][row]
      for (int r = 0; r < V::lanes; ++r) {
        block[r] = r < part.rows ? V::load_first(tile + (i + r) * ld + j, part.cols) : V::zero();
      }
      V::transpose(block);
      for (int c = 0; c < part.cols; ++c) {
        const i64 offset = offset_of<V>(col, j + c);
        if (offset != Operand::masked) V::write_first(element_at<V>(base, offset + i), part.rows, block[c]);
      }
    }
  }
}

template <class V, class E>
void store_elements(const float* tile, i64 ld, E* base, const Axis& row, const Axis& col) {
  for (int i = row.begin; i < row.end; ++i) {
    const i64 start = offset_of<V>(row, i);
    if (start == Operand::masked) continue;
    for (int j = col.begin; j < col.end; j += V::lanes) {
      const int count = lower<V>(V::lanes, col.end - j);
      E rounded[V::lanes];
      V::write(rounded, V::load_first(tile + i * ld + j, count));
      for (int c = 0; c < count; ++c) {
        const i64 offset = offset_of<V>(col, j + c);
        if (offset != Operand::masked) *element_at<V>(base, start + offset) = rounded[c];
      }
    }
  }
}

template <class V, class E>
void store_block(const float* tile, i64 ld, E* base, const Axis& row, const Axis& col) {
  if (contiguous<V>(col)) return store_rows<V>(tile, ld, base, row, col);
  if (contiguous<V>(row)) return store_columns<V>(tile, ld, base, row, col);
  store_elements<V>(tile, ld, base, row, col);
}

/// The elements of a block that are inside of its bounds, from tile (rows, cols).
template <class V>
void store(const float* tile, i64 ld, int rows, int cols, void* base, DType type, const Block& block) {
  const Axis row = axis_of<V>(block.row_stride, block.row_offsets, block.row_begin, block.row_end, rows);
  const Axis col = axis_of<V>(block.col_stride, block.col_offsets, block.col_begin, block.col_end, cols);
  if (type == DType::f16) return store_block<V>(tile, ld, static_cast<f16*>(base), row, col);
  if (type == DType::bf16) return store_block<V>(tile, ld, static_cast<bf16*>(base), row, col);
  store_block<V>(tile, ld, static_cast<float*>(base), row, col);
}

}  // namespace tilewright::cpu
