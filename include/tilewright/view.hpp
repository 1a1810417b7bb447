// Matrix views: where a matrix is in memory. A view is a pointer, two extents, two strides and an element type; it owns
// nothing and says nothing about how large the allocation around it is.
//
// Slicing, transposing, flipping and broadcasting give another view of the same memory, with NumPy's semantics; no
// element is ever copied. Extents and strides are signed 64-bit and count elements, never bytes. Strides may be
// negative or zero.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tilewright/dtype.hpp>

namespace tilewright {

/// A half-open range with a step, as in NumPy's start:stop:step. Missing parts take NumPy's defaults; negative start
/// and stop count from the end; out-of-range ones are clamped; a negative step walks backwards.
struct Slice {
  std::optional<i64> start, stop, step;
};

/// A slice of rows and one of columns.
struct Slices {
  Slice rows, cols;
};

/// Parses "r0:r1:rs,c0:c1:cs" in NumPy's syntax; every number may be missing, and so may ",c0:c1:cs".
/// Throws Error slice_syntax (also for a single index, which would make a one-dimensional array) and slice_step_zero.
Slices parse_slices(std::string_view text);

/// A read-only matrix of rows x cols elements. Element (i, j) is at data + (i * row_stride + j * col_stride) *
/// size_of(type).
struct MatrixView {
  const void* data = nullptr;
  DType type = DType::f16;
  i64 rows = 0, cols = 0;              // extents, >= 0
  i64 row_stride = 0, col_stride = 0;  // in elements, any sign

  /// The view of the same elements with rows and columns exchanged: (cols, rows).
  MatrixView transposed() const;
  /// The part that the slices name. Where it holds at most one row or column, that axis keeps the stride it had.
  /// Throws slice_step_zero, negative_extent and address_range.
  MatrixView slice(const Slice& rows_part, const Slice& cols_part) const;
  MatrixView slice(const Slices& parts) const { return slice(parts.rows, parts.cols); }
  /// Rows, or columns, in reverse order. Throws negative_extent and address_range.
  MatrixView flipped_rows() const;
  MatrixView flipped_cols() const;
  /// A matrix of new_rows x new_cols in which an axis of extent 1 is repeated by stride 0.
  /// Throws broadcast, and negative_extent for an asked extent below zero.
  MatrixView broadcast_to(i64 new_rows, i64 new_cols) const;
  friend bool operator==(const MatrixView&, const MatrixView&) = default;
};

/// A matrix that can be written. Converts to MatrixView.
struct MutableMatrixView {
  void* data = nullptr;
  DType type = DType::f16;
  i64 rows = 0, cols = 0;
  i64 row_stride = 0, col_stride = 0;

  operator MatrixView() const { return {data, type, rows, cols, row_stride, col_stride}; }
  MutableMatrixView transposed() const;
  MutableMatrixView slice(const Slice& rows_part, const Slice& cols_part) const;
  MutableMatrixView slice(const Slices& parts) const { return slice(parts.rows, parts.cols); }
  MutableMatrixView flipped_rows() const;
  MutableMatrixView flipped_cols() const;
};

/// A view of typed memory with the strides given.
template <class E>
constexpr MatrixView view_of(const E* data, i64 rows, i64 cols, i64 row_stride, i64 col_stride = 1) {
  return {data, dtype_of<E>, rows, cols, row_stride, col_stride};
}
template <class E>
constexpr MutableMatrixView mutable_view_of(E* data, i64 rows, i64 cols, i64 row_stride, i64 col_stride = 1) {
  return {data, dtype_of<E>, rows, cols, row_stride, col_stride};
}

/// The lowest and highest byte address that a view's elements occupy, as [begin, end); begin == end for an empty view
/// and for one without memory.
/// Throws negative_extent and address_range.
struct ByteRange {
  const std::byte* begin;
  const std::byte* end;
};
ByteRange byte_range(const MatrixView& view);

/// "130x65 f16, strides (65, 1)": for messages.
std::string to_string(const MatrixView& view);

}  // namespace tilewright
