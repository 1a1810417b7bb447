// Layouts: one matrix, laid out in memory in every way a caller may have it, in memory that reveals a stray access.
//
// Input is an operand whose pages are poisoned with NaN and infinities wherever the view does not reach (row padding,
// gaps between slices, what surrounds it) and write-protected once filled. Output is a result prefilled with NaN,
// surrounded by cells with a pattern that must still be there afterwards. Both end, or begin, exactly at an unmapped
// page.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tests/oracle/cells.hpp"
#include "tests/oracle/pages.hpp"

namespace oracle {

enum class Layout : unsigned char {
  packed,
  ld_plus_1,
  ld_plus_8,
  transposed,          // columns are contiguous
  transposed_plus_1,   // the same, ld + 1
  sliced,              // every second row, every third column: no unit stride
  off_by_one,          // ld a multiple of 8, base one element past an aligned address
  flipped_rows,        // negative row stride
  flipped_cols,        // negative column stride
  transposed_flipped,  // both strides negative, columns contiguous
  broadcast_rows,      // row stride 0: inputs only, as are the rest
  broadcast_cols,
  broadcast_both,
};
inline constexpr std::array<Layout, 13> input_layouts = {Layout::packed,
                                                         Layout::ld_plus_1,
                                                         Layout::ld_plus_8,
                                                         Layout::transposed,
                                                         Layout::transposed_plus_1,
                                                         Layout::sliced,
                                                         Layout::off_by_one,
                                                         Layout::flipped_rows,
                                                         Layout::flipped_cols,
                                                         Layout::transposed_flipped,
                                                         Layout::broadcast_rows,
                                                         Layout::broadcast_cols,
                                                         Layout::broadcast_both};
inline constexpr std::span<const Layout> output_layouts = std::span(input_layouts).first(10);

inline const char* name_of(Layout layout) {
  static constexpr std::array<const char*, 13> names = {"packed",
                                                        "ld+1",
                                                        "ld+8",
                                                        "transposed",
                                                        "transposed ld+1",
                                                        "sliced (2,3)",
                                                        "base off by one",
                                                        "rows flipped",
                                                        "columns flipped",
                                                        "transposed and flipped",
                                                        "rows broadcast",
                                                        "columns broadcast",
                                                        "one element broadcast"};
  return names[static_cast<std::size_t>(layout)];
}

/// Where the elements of a rows x cols matrix are, in elements of a block that holds just them.
struct Placement {
  i64 row_stride = 0, col_stride = 0;
  i64 origin = 0;  // offset of element (0, 0) in the block
  i64 span = 0;    // elements of the block
};

/// Fills in origin and span: `lead` elements come before the first one in memory.
inline Placement spanned(Placement p, i64 rows, i64 cols, i64 lead) {
  if (rows == 0 || cols == 0) return p;
  const i64 last_row = (rows - 1) * p.row_stride, last_col = (cols - 1) * p.col_stride;
  const i64 lowest = std::min<i64>(last_row, 0) + std::min<i64>(last_col, 0);
  const i64 highest = std::max<i64>(last_row, 0) + std::max<i64>(last_col, 0);
  p.origin = lead - lowest;
  p.span = lead + highest - lowest + 1;
  return p;
}

inline Placement place(Layout layout, i64 rows, i64 cols) {
  Placement p;
  i64 lead = 0;
  switch (layout) {
    case Layout::packed:
      p = {cols, 1};
      break;
    case Layout::ld_plus_1:
      p = {cols + 1, 1};
      break;
    case Layout::ld_plus_8:
      p = {cols + 8, 1};
      break;
    case Layout::transposed:
      p = {1, rows};
      break;
    case Layout::transposed_plus_1:
      p = {1, rows + 1};
      break;
    case Layout::sliced:
      p = {2 * (3 * cols + 1), 3};
      break;
    case Layout::off_by_one:
      p = {(cols + 7) / 8 * 8, 1}, lead = 1;
      break;
    case Layout::flipped_rows:
      p = {-cols, 1};
      break;
    case Layout::flipped_cols:
      p = {cols, -1};
      break;
    case Layout::transposed_flipped:
      p = {-1, -rows};
      break;
    case Layout::broadcast_rows:
      p = {0, 1};
      break;
    case Layout::broadcast_cols:
      p = {1, 0};
      break;
    case Layout::broadcast_both:
      break;
  }
  return spanned(p, rows, cols, lead);
}

/// NaN patterns with a payload that arithmetic does not produce: what an output holds before, and what surrounds it.
inline std::uint32_t untouched_bits(Type type) {
  return type == Type::f16 ? 0x7e11u : type == Type::bf16 ? 0x7fd1u : 0x7fc01111u;
}
inline std::uint32_t guard_bits(Type type) {
  return type == Type::f16 ? 0x7e5au : type == Type::bf16 ? 0x7fdau : 0x7fc05a5au;
}

/// A matrix placed in guarded pages.
class Placed {
 public:
  Placed() = default;
  Placed(Type type, i64 rows, i64 cols, Layout layout, Edge edge) : layout_(layout), edge_(edge) {
    const Placement p = place(layout, rows, cols);
    pages_ = Pages(p.span * format(type).bytes, edge);
    cells_ = {pages_.block() + p.origin * format(type).bytes, type, rows, cols, p.row_stride, p.col_stride};
  }
  const Cells& cells() const { return cells_; }
  std::string describe() const {
    return std::string(format(cells_.type).name) + " " + std::to_string(cells_.rows) + "x" +
           std::to_string(cells_.cols) + " " + name_of(layout_) + ", strides (" + std::to_string(cells_.row_stride) +
           ", " + std::to_string(cells_.col_stride) + "), " + (edge_ == Edge::end ? "ends" : "begins") +
           " at an unmapped page";
  }

 protected:
  Pages pages_;
  Cells cells_;
  Layout layout_ = Layout::packed;
  Edge edge_ = Edge::end;
};

/// An operand. element(i, j) gives its values; a broadcast axis takes those of index 0.
class Input : public Placed {
 public:
  Input() = default;
  template <class Element>
  Input(Type type, i64 rows, i64 cols, Layout layout, Edge edge, const Element& element)
      : Placed(type, rows, cols, layout, edge) {
    const auto open = pages_.open();
    const double inf = std::numeric_limits<double>::infinity();
    const std::array<std::uint32_t, 4> poison = {guard_bits(type), encode(type, inf), guard_bits(type),
                                                 encode(type, -inf)};
    const auto size = static_cast<std::size_t>(format(type).bytes);
    for (std::size_t at = 0, n = 0; at < open.size(); at += size, ++n) Cells::keep(&open[at], type, poison[n % 4]);
    const i64 own_rows = cells_.row_stride == 0 ? std::min<i64>(rows, 1) : rows;
    const i64 own_cols = cells_.col_stride == 0 ? std::min<i64>(cols, 1) : cols;
    for (i64 i = 0; i < own_rows; ++i) {
      for (i64 j = 0; j < own_cols; ++j) cells_.set(i, j, element(i, j));
    }
    pages_.seal();
  }
};

/// A result: every element holds untouched_bits, every other cell of its pages guard_bits.
class Output : public Placed {
 public:
  Output(Type type, i64 rows, i64 cols, Layout layout, Edge edge) : Placed(type, rows, cols, layout, edge) {
    const auto open = pages_.open();
    const auto size = static_cast<std::size_t>(format(type).bytes);
    for (std::size_t at = 0; at < open.size(); at += size) Cells::keep(&open[at], type, guard_bits(type));
    for (i64 i = 0; i < rows; ++i) {
      for (i64 j = 0; j < cols; ++j) cells_.set_bits(i, j, untouched_bits(type));
    }
  }

  /// Guard cells that no longer hold their pattern, as element offsets from element (0, 0) (of the base if empty).
  std::vector<i64> overwritten_guards() const {
    const auto open = pages_.open();
    const auto size = static_cast<std::size_t>(format(cells_.type).bytes);
    const i64 before = (cells_.base - open.data()) / format(cells_.type).bytes;
    std::vector<bool> own(open.size() / size, false);
    for (i64 i = 0; i < cells_.rows; ++i) {
      for (i64 j = 0; j < cells_.cols; ++j) {
        own[static_cast<std::size_t>(before + i * cells_.row_stride + j * cells_.col_stride)] = true;
      }
    }
    std::vector<i64> wrong;
    for (std::size_t n = 0; n < own.size(); ++n) {
      if (!own[n] && Cells::load(&open[n * size], cells_.type) != guard_bits(cells_.type)) {
        wrong.push_back(static_cast<i64>(n) - before);
      }
    }
    return wrong;
  }
};

}  // namespace oracle
