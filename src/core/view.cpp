// Views: address arithmetic, and the operations that make one view of another.
//
// Every operation first asks byte_offsets whether the view's own offsets fit in 63 bits; what it then computes lies
// within them and cannot overflow. Addresses are computed as integers: a view's base may be any place, and forming a
// pointer outside of its allocation would be undefined. An axis of extent 1 has no stride: its number is carried along,
// never used.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <tilewright/error.hpp>
#include <tilewright/view.hpp>

#include "core/checked.hpp"

namespace tilewright {
namespace {

struct ByteOffsets {
  i64 low, high;  // of the view's bytes from its base: [low, high)
};

/// Throws negative_extent and address_range.
ByteOffsets byte_offsets(const MatrixView& view) {
  if (view.rows < 0 || view.cols < 0) {
    throw Error(ErrorCode::negative_extent,
                fmt::format("a view of {} has a negative extent; extents are numbers of rows and columns, 0 or more",
                            to_string(view)));
  }
  if (view.rows == 0 || view.cols == 0) return {0, 0};
  const i64 size = size_of(view.type);
  std::optional<i64> low = 0, high = size;
  for (const auto& [extent, stride] : {std::pair{view.rows, view.row_stride}, std::pair{view.cols, view.col_stride}}) {
    const std::optional<i64> span =
        core::checked_product(extent - 1, stride, size);  // 0 for extent 1, whatever the stride
    std::optional<i64>& end = stride < 0 ? low : high;
    end = span && end ? core::checked_add(*end, *span) : std::nullopt;
  }
  if (!low || !high) {
    throw Error(
        ErrorCode::address_range,
        fmt::format("a view of {} reaches byte offsets that do not fit in 63 bits; strides count elements of {} "
                    "bytes, not bytes",
                    to_string(view), size));
  }
  return {*low, *high};
}

/// The address `elements` further on. No memory stays no memory, so that it can still be refused where it is used.
const void* advanced(const MatrixView& view, i64 elements) {
  if (view.data == nullptr) return nullptr;
  const auto bytes = static_cast<std::uintptr_t>(elements * size_of(view.type));
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(view.data) + bytes);
}

/// What a slice means for an axis: indices start, start + step, ..., `count` of them.
struct Range {
  i64 start, count, step;
};

/// NumPy's rules, which are Python's. Throws slice_step_zero.
Range resolve(const Slice& slice, i64 extent) {
  constexpr i64 most = std::numeric_limits<i64>::max();
  const i64 step = std::max(slice.step.value_or(1), -most);  // so that -step exists
  if (step == 0) throw Error(ErrorCode::slice_step_zero, "a slice has step 0; use 1 or more, or a negative step");
  const bool backwards = step < 0;
  // The places before the first and past the last index that this direction can be clamped to.
  const i64 low = backwards ? -1 : 0;
  const i64 high = backwards ? extent - 1 : extent;
  const auto clamped = [&](i64 index) { return std::clamp(index < 0 ? index + extent : index, low, high); };
  const i64 start = slice.start ? clamped(*slice.start) : (backwards ? high : low);
  const i64 stop = slice.stop ? clamped(*slice.stop) : (backwards ? low : high);
  const i64 distance = backwards ? start - stop : stop - start;
  if (distance <= 0) return {0, 0, step};
  return {start, (distance - 1) / (backwards ? -step : step) + 1, step};
}

/// For a view made from a mutable one: the constness that the shared code added comes off again.
MutableMatrixView writable(const MatrixView& view) {
  return {const_cast<void*>(view.data), view.type, view.rows, view.cols, view.row_stride, view.col_stride};
}

}  // namespace

MatrixView MatrixView::transposed() const { return {data, type, cols, rows, col_stride, row_stride}; }

MatrixView MatrixView::slice(const Slice& rows_part, const Slice& cols_part) const {
  byte_offsets(*this);
  const Range row = resolve(rows_part, rows);
  const Range col = resolve(cols_part, cols);
  MatrixView part{data, type, row.count, col.count, row_stride, col_stride};
  if (row.count == 0 || col.count == 0) return part;  // an empty view has no address: nothing to move
  part.data =
      advanced(*this, (row.start == 0 ? 0 : row.start * row_stride) + (col.start == 0 ? 0 : col.start * col_stride));
  if (row.count > 1) part.row_stride *= row.step;
  if (col.count > 1) part.col_stride *= col.step;
  return part;
}

MatrixView MatrixView::flipped_rows() const { return slice({.start = {}, .stop = {}, .step = -1}, {}); }
MatrixView MatrixView::flipped_cols() const { return slice({}, {.start = {}, .stop = {}, .step = -1}); }

MatrixView MatrixView::broadcast_to(i64 new_rows, i64 new_cols) const {
  if (new_rows < 0 || new_cols < 0) {
    throw Error(ErrorCode::negative_extent,
                fmt::format("a matrix cannot be broadcast to {}x{}: extents are 0 or more", new_rows, new_cols));
  }
  MatrixView wide = *this;
  const auto spread = [&](const char* axis, i64& extent, i64& stride, i64 wanted) {
    if (extent == wanted) return;
    if (extent != 1) {
      throw Error(
          ErrorCode::broadcast,
          fmt::format("a matrix of {}x{} cannot be broadcast to {}x{}: it has {} {}, and only an axis of extent 1 "
                      "can be repeated",
                      rows, cols, new_rows, new_cols, extent, axis));
    }
    extent = wanted;
    stride = 0;
  };
  spread("rows", wide.rows, wide.row_stride, new_rows);
  spread("columns", wide.cols, wide.col_stride, new_cols);
  return wide;
}

MutableMatrixView MutableMatrixView::transposed() const { return {data, type, cols, rows, col_stride, row_stride}; }
MutableMatrixView MutableMatrixView::slice(const Slice& rows_part, const Slice& cols_part) const {
  return writable(MatrixView(*this).slice(rows_part, cols_part));
}
MutableMatrixView MutableMatrixView::flipped_rows() const { return writable(MatrixView(*this).flipped_rows()); }
MutableMatrixView MutableMatrixView::flipped_cols() const { return writable(MatrixView(*this).flipped_cols()); }

ByteRange byte_range(const MatrixView& view) {
  const auto [low, high] = byte_offsets(view);
  if (view.data == nullptr) return {nullptr, nullptr};  // not an address to count from
  const auto base = reinterpret_cast<std::uintptr_t>(view.data);
  const auto begin = base + static_cast<std::uintptr_t>(low);
  const auto end = base + static_cast<std::uintptr_t>(high);
  if (begin > base || end < base) {
    throw Error(ErrorCode::address_range,
                fmt::format("a view of {} at address {:#x} wraps around the address space (byte offsets {} to {})",
                            to_string(view), base, low, high));
  }
  return {reinterpret_cast<const std::byte*>(begin), reinterpret_cast<const std::byte*>(end)};
}

std::string to_string(const MatrixView& view) {
  return fmt::format("{}x{} {}, strides ({}, {})", view.rows, view.cols, name_of(view.type), view.row_stride,
                     view.col_stride);
}

}  // namespace tilewright
