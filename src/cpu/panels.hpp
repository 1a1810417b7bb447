// Where an element of a packed operand is: the layout that packing writes and multiplication reads.
//
// An operand is cut along the output axis into strips, and each strip is stored k by k: [strip][k][pitch] floats, so
// that the micro-kernel reads both panels from front to back. `pitch` is a strip's width rounded up to whole vectors.
//
// Rows of A are shared out evenly: 15 rows at mr = 14 are strips of 8 and 7, not of 14 and 1, because a kernel of one
// row has too few independent sums to hide the latency of a fused multiply-add. Columns of B fill one strip after
// another, because a strip's width is whole vectors anyway.
//
// The functions are templates over the instruction set, which is a type local to its source file: see vector.hpp for
// why.
#pragma once

#include <tilewright/tile/cpu/kernels.hpp>

namespace tilewright::cpu {

/// A strip of lines (rows of A or columns of B): the first one and how many.
struct Strip {
  int first, count;
};

/// Rows of A: strips of at most V::mr rows.
template <class V>
struct RowPanel {
  static constexpr int width = V::mr;
  static constexpr int groups = (V::mr + V::lanes - 1) / V::lanes;  // vectors side by side in a strip
  static constexpr int pitch = groups * V::lanes;
  static constexpr int row_step = 1, k_step = pitch;
  static int strips(int lines) { return (lines + width - 1) / width; }
  static Strip strip(int lines, int s) {
    const int count = strips(lines), least = lines / count, longer = lines % count;
    return {s * least + (s < longer ? s : longer), least + (s < longer ? 1 : 0)};
  }
};

/// Columns of B: strips of two vectors.
template <class V>
struct ColumnPanel {
  static constexpr int width = 2 * V::lanes;
  static constexpr int groups = 2;
  static constexpr int pitch = width;
  static int strips(int lines) { return (lines + width - 1) / width; }
  static Strip strip(int lines, int s) {
    const int first = s * width;
    return {first, lines - first < width ? lines - first : width};
  }
};

/// Floats that a panel takes, in whole cache lines.
template <class V, class Panel>
i64 panel_floats(int lines, int k) {
  return (static_cast<i64>(Panel::strips(lines)) * k * Panel::pitch + 15) / 16 * 16;
}

}  // namespace tilewright::cpu
