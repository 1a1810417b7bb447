// Layout classes: which axis of an operand has unit stride, and the alignment of every row start along it.
//
// An axis of extent 0 or 1 is never stepped along, so its stride says nothing and it counts as unit. A stride of -1 is
// not unit: wide loads run upwards.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include <tilewright/explain.hpp>

namespace tilewright {
namespace {

constexpr std::uint64_t widest_alignment = 16, line = 128;

/// The alignment, up to a line, that holds for base + i * stride (in elements) for every i of an axis.
std::uint64_t alignment_along(std::uint64_t base, i64 stride, i64 extent, i64 element_bytes) {
  std::uint64_t bits = base | line;
  // Two's complement keeps the low bits of a product whatever its sign and size.
  if (extent > 1) bits |= static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(element_bytes);
  return std::uint64_t{1} << std::countr_zero(bits);
}

}  // namespace

LayoutClass layout_class(const MatrixView& view, bool k_axis_is_cols) {
  const bool rows_unit = view.rows <= 1 || view.row_stride == 1;
  const bool cols_unit = view.cols <= 1 || view.col_stride == 1;
  const std::uint64_t base = reinterpret_cast<std::uintptr_t>(view.data);
  const std::uint64_t of_rows = alignment_along(base, view.row_stride, view.rows, size_of(view.type));
  const std::uint64_t of_cols = alignment_along(base, view.col_stride, view.cols, size_of(view.type));
  // Reading along one axis, the starts differ by the other's stride.
  std::uint64_t alignment = of_rows < of_cols ? of_rows : of_cols;
  if (rows_unit && cols_unit) {
    alignment = of_rows < of_cols ? of_cols : of_rows;
  } else if (cols_unit) {
    alignment = of_rows;
  } else if (rows_unit) {
    alignment = of_cols;
  }
  const bool empty = view.rows == 0 || view.cols == 0;
  const bool rows_forward = view.rows <= 1 || view.row_stride > 0, cols_forward = view.cols <= 1 || view.col_stride > 0;
  UnitAxis unit = UnitAxis::none;
  if (rows_unit && cols_unit) {
    unit = UnitAxis::both;
  } else if (rows_unit || cols_unit) {
    unit = cols_unit == k_axis_is_cols ? UnitAxis::k : UnitAxis::mn;
  }
  UnitAxis every_second = UnitAxis::none;
  if (unit == UnitAxis::none && (view.col_stride == 2 || view.row_stride == 2)) {
    every_second = (view.col_stride == 2) == k_axis_is_cols ? UnitAxis::k : UnitAxis::mn;
  }
  return {unit, static_cast<i64>(std::min(alignment, widest_alignment)), empty || (rows_forward && cols_forward),
          alignment >= line, every_second};
}

std::string to_string(const LayoutClass& layout) {
  constexpr std::string_view names[] = {"none", "k", "mn", "both"};
  const std::string_view second = names[static_cast<unsigned char>(layout.every_second)];
  return fmt::format("unit={} align={}{}{}", names[static_cast<unsigned char>(layout.unit)], layout.alignment,
                     layout.every_second == UnitAxis::none ? "" : fmt::format(" every-second={}", second),
                     layout.forward ? "" : " backward");
}

Problem problem_of(i64 m, i64 n, i64 k, DType input, DType output, const OperandStrides& strides) {
  Problem problem{m,
                  n,
                  k,
                  input,
                  output,
                  layout_class({nullptr, input, m, k, strides.a_row, strides.a_col}, true),
                  layout_class({nullptr, input, k, n, strides.b_row, strides.b_col}, false),
                  layout_class({nullptr, output, m, n, strides.c_row, strides.c_col}, false)};
  problem.c.whole_lines = true;  // of outputs nobody asks
  return problem;
}

}  // namespace tilewright
