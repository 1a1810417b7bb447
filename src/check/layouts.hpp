// Operands for the exact checker: matrices of a given extent laid out in every way a view can be, at addresses that
// hold no memory.
#pragma once

#include <array>

#include <tilewright/check.hpp>
#include <tilewright/kernel.hpp>

namespace tilewright::exact {

/// How a matrix lies in its buffer.
enum class Layout : unsigned char {
  packed,             // row-major, no padding
  row_padded,         // row-major, 3 elements between rows
  transposed,         // column-major
  transposed_padded,  // column-major, 5 elements between columns
  stepped,            // every second row and third column of a larger matrix
  shifted,            // row-major, the base one element into the buffer
  flipped_rows,       // the last row first in memory
  flipped,            // both axes reversed
};
inline constexpr std::array<Layout, 8> layouts = {
    Layout::packed,  Layout::row_padded, Layout::transposed,   Layout::transposed_padded,
    Layout::stepped, Layout::shifted,    Layout::flipped_rows, Layout::flipped};
std::string_view name_of(Layout layout);

/// A view and the buffer around it. slot: operands with different slots are far apart.
struct Operand {
  MutableMatrixView view;
  Buffer buffer;
};
Operand place(std::string name, Role role, Layout layout, i64 rows, i64 cols, DType type, int slot);

}  // namespace tilewright::exact
