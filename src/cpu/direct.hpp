// Multiplication with one operand read where it lies: for few rows or few columns of the output, of which an element of
// the other operand serves so few that its way through a panel costs more than its products.
//
// multiply_rows(): few rows of A, rows of B contiguous. A piece of a strip of B is converted by the register tile that
// needs it first, and stays in the nearest cache while the other rows of A pass by. multiply_tall() has one register
// tile for all rows, a single vector wide; a single row, multiply_row(), takes B from registers. multiply_across(): the
// same with columns of B contiguous, which are read along k and transposed in registers. multiply_columns(): A where it
// lies. As many rows of A as a register tile has are converted into a buffer, a piece of k at a time and as they lie,
// where a panel would have to be transposed; B is packed, before that or by the first of these rows. Sums take their
// products in order of k: the bits are those of multiply() in micro_kernel.hpp.
//
// Start at multiply_direct_b() and multiply_direct_a().
#pragma once

#include "cpu/access.hpp"
#include "cpu/micro_kernel.hpp"
#include "cpu/packing.hpp"

namespace tilewright::cpu {

/// Lines of an operand where they lie, each contiguous: rows of B along their columns, rows of A along k.
template <class V, class E>
struct Lines {
  const E* base;
  i64 stride;  // elements from one line to the next

  /// Whether V::b_rows lines are too many at a time for the nearest cache.
  static constexpr bool crowded() { return false; }

  /// Elements from one place to that `lines` lines and `more` elements after it.
  i64 distance(int lines, int more = 0) const { return ahead<V>(lines, stride, more); }

  /// Vectors of elements of a group of lines, from `at` on, as floats; `count` of the last vector and zeros behind. What
  /// lies `next` elements further, which need not exist, is in the L2 soon: a vector or two of many lines are no stream
  /// that hardware foresees.
  template <int group, int vectors>
  [[gnu::always_inline]] void read(int line, int at, int count, i64 next,
                                   typename V::Reg (&out)[group][vectors]) const {
    const E* from = element_at<V>(base, line * stride + at);
#pragma GCC unroll 8
    for (int g = 0; g < group; ++g, from = element_at<V>(from, stride)) {
      __builtin_prefetch(element_at<V>(from, next), 0, 2);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const E* const vector = from + v * V::lanes;
        out[g][v] = v < vectors - 1 || count == V::lanes ? V::read(vector) : V::read_first(vector, count);
      }
    }
  }
  /// `length` elements from `at` on as floats, to whole vectors. The same of line `next`, which need not exist, is in
  /// the L2 soon.
  [[gnu::always_inline]] void copy(int line, int at, int length, int next, float* out) const {
    const E* const from = element_at<V>(base, line * stride + at);
    const E* const fetched = element_at<V>(element_at<V>(base, ahead<V>(next, stride)), at);
    int i = 0;
    for (; i + V::lanes <= length; i += V::lanes) {
      __builtin_prefetch(element_at<V>(fetched, i), 0, 2);
      V::store(out + i, V::read(from + i));
    }
    if (i == length) return;
    __builtin_prefetch(element_at<V>(fetched, i), 0, 2);
    V::store(out + i, V::read_first(from + i, length - i));
  }
};

/// `count` of a vector's lanes, of which a whole vector needs no mask.
template <class V>
[[gnu::always_inline]] inline typename V::Reg load_lanes(const float* p, int count) {
  return count == V::lanes ? V::load(p) : V::load_first(p, count);
}
template <class V>
[[gnu::always_inline]] inline void store_lanes(float* p, int count, typename V::Reg x) {
  if (count == V::lanes) return V::store(p, x);
  V::store_first(p, count, x);
}

/// Calls use(lines) for an operand of any type.
template <class V, class Use>
void with_lines(const void* base, DType type, i64 stride, Use use) {
  if (type == DType::f16) return use(Lines<V, f16>{static_cast<const f16*>(base), stride});
  if (type == DType::bf16) return use(Lines<V, bf16>{static_cast<const bf16*>(base), stride});
  use(Lines<V, float>{static_cast<const float*>(base), stride});
}

/// Rows of B from `at` on, a group of them, by one row of A: acc[j] += sum over the group of a[k] * b[k, j], for
/// `vectors` vectors of columns from `first` on, `columns` of the last one.
template <class V, int group, int vectors, class Rows>
[[gnu::always_inline]] inline void multiply_group(const float* a, const Rows& b, int at, int first, int columns,
                                                  float* acc, bool add) {
  constexpr int last = vectors - 1;
  typename V::Reg line[group][vectors], sum[vectors];
  b.read(at, first, columns, b.distance(group), line);
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    sum[v] = add ? load_lanes<V>(acc + first + v * V::lanes, v < last ? V::lanes : columns) : V::zero();
  }
#pragma GCC unroll 8
  for (int g = 0; g < group; ++g) {
    const typename V::Reg element = V::broadcast(a + (at + g) * RowPanel<V>::k_step);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[v] = V::multiply_add(element, line[g][v], sum[v]);
  }
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    store_lanes<V>(acc + first + v * V::lanes, v < last ? V::lanes : columns, sum[v]);
  }
}

/// acc (1, n) += a (1, k), packed, * b (k, n), where it lies, or = if not add. A group of rows of B is read over its
/// whole width before the next one.
template <class V, class Rows>
void multiply_row(const float* a, const Rows& b, int n, int k, float* acc, bool add) {
  const auto over_width = [&]<int group>(int at) {
    int j = 0;
    for (; n - j >= 2 * V::lanes; j += 2 * V::lanes)
      multiply_group<V, group, 2>(a, b, at, j, V::lanes, acc, add || at > 0);
    for (; j < n; j += V::lanes)
      multiply_group<V, group, 1>(a, b, at, j, lower<V>(n - j, V::lanes), acc, add || at > 0);
  };
  int at = 0;
  if (b.crowded()) {
    for (; at + V::b_rows / 2 <= k; at += V::b_rows / 2) over_width.template operator()<V::b_rows / 2>(at);
  }
  for (; at + V::b_rows <= k; at += V::b_rows) over_width.template operator()<V::b_rows>(at);
  for (; at < k; ++at) over_width.template operator()<1>(at);
}

/// Columns of a strip of B where they lie, row by row.
template <class V, class Rows>
struct LinesInPlace {
  Rows rows;
  int row, column, count;  // count: columns of the last vector
  i64 next;                // elements to what is read after these rows

  template <class, int vectors>
  [[gnu::always_inline]] void read(typename V::Reg (&out)[1][vectors]) {
    rows.read(row, column, count, next, out);
    ++row;
  }
};

/// The same. What is read goes, converted, to a panel as well, of which `panel_ahead` lines are fetched before they are
/// written: none of one that is in the nearest cache.
template <class V, class Rows, int panel_ahead = 0>
struct ConvertedLines {
  LinesInPlace<V, Rows> lines;
  float* panel;

  template <class>
  using Half = V;
  template <class, int vectors>
  [[gnu::always_inline]] void read(typename V::Reg (&out)[1][vectors]) {
    lines.template read<V>(out);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      float* const to = panel + v * V::lanes;
      if constexpr (panel_ahead > 0) __builtin_prefetch(to + panel_ahead * ColumnPanel<V>::pitch, 1, 2);
      V::store(to, out[0][v]);
    }
    panel += ColumnPanel<V>::pitch;
  }
};

/// Rows of A without gaps: what multiply_tall reads.
template <int rows>
struct TightRows {
  static constexpr int row_step = 1, k_step = rows;
};

/// Fewer rows are too few sums to hide the latency of a multiply-add, and multiply too little with a vector of B.
constexpr int least_tall_rows = 10;

/// So much of k of a strip of B stays in the nearest cache, as it lies, beside the rows of A: each vector of it is read
/// and converted once, but two share a cache line.
constexpr int tall_depth = 256;

/// multiply_rows() for least_tall_rows up to V::tall_mr rows, all in one register tile: m is `rows` or less.
template <class V, class Rows, int rows = V::tall_mr>
void multiply_tall(const float* a_panel, const Rows& b, int m, int n, int k, float* acc, i64 ld, bool add) {
  if constexpr (rows > least_tall_rows) {
    if (m < rows) return multiply_tall<V, Rows, rows - 1>(a_panel, b, m, n, k, acc, ld, add);
  }
  using A = RowPanel<V>;
  using B = LinesInPlace<V, Rows>;
  alignas(64) float a[tall_depth * rows];
  for (int at = 0; at < k; at += tall_depth) {
    const int depth = lower<V>(k - at, tall_depth);
    for (int i = 0; i < depth; ++i) {
      for (int s = 0; s < A::strips(rows); ++s) {
        const Strip strip = A::strip(rows, s);
        const float* const from = a_panel + (s * static_cast<i64>(k) + at + i) * A::pitch;
        V::store_first(a + i * rows + strip.first, strip.count, V::load(from));
      }
    }
    for (int j = 0; j < n; j += V::lanes) {
      const int columns = lower<V>(n - j, V::lanes), strip = 2 * V::lanes;
      const i64 next = j + strip < n ? strip : b.distance(depth, -j);
      float* const sums = acc + j;
      multiply_tile<V, TightRows<rows>, B, float, rows, 1>(a, B{b, at, j, columns, next}, depth, sums, ld, columns,
                                                           add || at > 0, sums + V::lanes, sums, ld);
    }
  }
}

/// So much of k of a strip of B stays in the nearest cache, converted, while all rows of A pass by.
constexpr int converted_depth = 128;

/// acc (m, n) += a (m, k), packed, * b (k, n), where it lies, or = if not add. The first strip of rows of A meets B as
/// it is read, the others find it converted. What is read next is on its way to the L2 meanwhile: the same rows of the
/// next strip or, behind the last one, the rows after these of the first.
template <class V, class Rows>
void multiply_rows(const float* a_panel, const Rows& b, int m, int n, int k, float* acc, i64 ld, bool add) {
  using A = RowPanel<V>;
  using B = ColumnPanel<V>;
  if (m == 1) return multiply_row<V>(a_panel, b, n, k, acc, add);
  if constexpr (V::tall_mr > 0) {
    if (m >= least_tall_rows && m <= V::tall_mr) return multiply_tall<V>(a_panel, b, m, n, k, acc, ld, add);
  }
  using AsItLies = ConvertedLines<V, Rows>;
  using Converted = PanelLines<B::pitch>;
  static constexpr auto first_table = tile_table<V, A, AsItLies, float>();
  static constexpr auto table = tile_table<V, A, Converted, float>();
  const i64 a_step = static_cast<i64>(k) * A::pitch;
  alignas(64) float panel[converted_depth * B::pitch];
  for (int at = 0; at < k; at += converted_depth) {
    const int depth = lower<V>(k - at, converted_depth);
    for (int j = 0; j < n; j += B::width) {
      const TileColumns columns = columns_of<V>(lower<V>(n - j, B::width));
      const i64 next = j + B::width < n ? B::width : b.distance(depth, -j);
      for (int s = 0; s < A::strips(m); ++s) {
        const Strip rows = A::strip(m, s);
        float* const sums = acc + rows.first * ld + j;
        const auto multiply_by = [&](const auto& tiles, const auto& lines) {
          tiles.of[rows.count - 1][columns.width](a_panel + s * a_step + at * A::k_step, lines, depth, sums, ld,
                                                  columns.last, add || at > 0, sums + B::width, sums, ld);
        };
        if (s == 0) {
          multiply_by(first_table, AsItLies{{b, at, j, columns.last, next}, panel});
        } else {
          multiply_by(table, Converted{panel});
        }
      }
    }
  }
}

/// acc[i * ld + j] += sum over `depth` of k of a[k * m + i] * block[k] lane j, for `rows` rows and `columns` lanes.
template <class V, int rows>
[[gnu::always_inline]] inline void add_block(const float* a, int m, const typename V::Reg* block, int depth,
                                             int columns, float* acc, i64 ld, bool add) {
  typename V::Reg sum[rows];
#pragma GCC unroll 2
  for (int r = 0; r < rows; ++r) sum[r] = add ? load_lanes<V>(acc + r * ld, columns) : V::zero();
  const auto step = [&](int k) {
#pragma GCC unroll 2
    for (int r = 0; r < rows; ++r) sum[r] = V::multiply_add(V::broadcast(a + k * m + r), block[k], sum[r]);
  };
  if (depth == V::lanes) {
#pragma GCC unroll 16
    for (int k = 0; k < V::lanes; ++k) step(k);
  } else {
    for (int k = 0; k < depth; ++k) step(k);
  }
#pragma GCC unroll 2
  for (int r = 0; r < rows; ++r) store_lanes<V>(acc + r * ld, columns, sum[r]);
}

/// acc (m, n) += a (m, k), packed, * b (k, n), where it lies with its columns contiguous, or = if not add. A vector's
/// width of columns is read from one end to the other, as far as A stays in the nearest cache: it is packed once more,
/// without the gaps that a strip of few rows has.
template <class V, class Columns>
void multiply_across(const float* a_panel, const Columns& b, int m, int n, int k, float* acc, i64 ld, bool add) {
  using A = RowPanel<V>;
  constexpr int room = 8192;  // floats
  alignas(64) float a[room];
  const i64 a_step = static_cast<i64>(k) * A::pitch;
  const int fitting = room / m / V::lanes * V::lanes, piece = fitting < V::lanes ? V::lanes : fitting;
  for (int begin = 0; begin < k; begin += piece) {
    const int end = lower<V>(begin + piece, k);
    for (int s = 0; s < A::strips(m); ++s) {
      const Strip rows = A::strip(m, s);
      for (int at = begin; at < end; ++at) {
        for (int r = 0; r < rows.count; ++r) {
          a[(at - begin) * m + rows.first + r] = a_panel[s * a_step + at * A::k_step + r * A::row_step];
        }
      }
    }
    for (int j = 0; j < n; j += V::lanes) {
      const int columns = lower<V>(n - j, V::lanes);
      for (int at = begin; at < end; at += V::lanes) {
        const int depth = lower<V>(end - at, V::lanes);
        typename V::Reg block[V::lanes];
        b.read(j, columns, at, depth, block);
        const float* const elements = a + (at - begin) * m;
        int i = 0;
        for (; i + 2 <= m; i += 2) {
          add_block<V, 2>(elements + i, m, block, depth, columns, acc + i * ld + j, ld, add || at > 0);
        }
        if (i < m) add_block<V, 1>(elements + i, m, block, depth, columns, acc + i * ld + j, ld, add || at > 0);
      }
    }
  }
}

/// Columns of B where they lie, each contiguous along k.
template <class V, class E>
struct Columns {
  const E* base;
  i64 stride;  // elements from one column to the next

  /// block[i] lane j: element at + i of column first + j. Beyond `count` columns and `depth` elements: zeros.
  void read(int first, int count, int at, int depth, typename V::Reg (&block)[V::lanes]) const {
    const E* column[V::lanes];
    for (int j = 0; j < V::lanes; ++j) column[j] = element_at<V>(base, (first + (j < count ? j : 0)) * stride);
    if (depth == V::lanes) return V::read_transposed(column, at, block);
    for (int j = 0; j < V::lanes; ++j) block[j] = V::read_first(element_at<V>(column[j], at), depth);
    V::transpose(block);
  }
};

template <class V>
void multiply_direct_b(const float* a_panel, const Operand& b, int m, int n, int k, float* acc, i64 ld, bool add) {
  if (b.strip_stride == 1) {
    with_lines<V>(b.base, b.type, b.k_stride,
                  [&](auto rows) { multiply_rows<V>(a_panel, rows, m, n, k, acc, ld, add); });
    return;
  }
  const auto along_k = [&]<class E>(const E* base) {
    multiply_across<V>(a_panel, Columns<V, E>{base, b.strip_stride}, m, n, k, acc, ld, add);
  };
  if (b.type == DType::f16) return along_k(static_cast<const f16*>(b.base));
  if (b.type == DType::bf16) return along_k(static_cast<const bf16*>(b.base));
  along_k(static_cast<const float*>(b.base));
}

/// Rows of A, a piece of k each, one behind the other: what multiply_tile reads. The vector between two rows keeps them
/// from falling on the same sets of a cache.
template <class V, int piece_length>
struct RowPiece {
  static constexpr int length = piece_length;  // of k
  static constexpr int row_step = length + V::lanes, k_step = 1;
};

/// B in a panel.
template <class V>
struct PackedB {
  using Lines = PanelLines<ColumnPanel<V>::pitch>;
  Lines lines(int, int, int, const float* panel) const { return {panel}; }
};

/// B where it lies, of which the first strip of rows of A makes the panel. The same rows of the next strip are on their
/// way to the L2 meanwhile.
template <class V, class Rows>
struct UnpackedB {
  Rows rows;
  using Lines = ConvertedLines<V, Rows, 16>;
  Lines lines(int row, int column, int count, float* panel) const {
    return {{rows, row, column, count, ColumnPanel<V>::width}, panel};
  }
};

/// Pieces of `Piece::length` of k, each by all columns before the next one. The last sums go to `out`, which is acc or,
/// if there is one piece, another matrix.
template <class V, class Piece, class C, class Rows, class RowsOfB>
void multiply_pieces(const Rows& a, const RowsOfB& b, float* b_panel, int m, int n, int k, const float* acc, i64 ld,
                     bool add, C* out, i64 out_ld) {
  using B = ColumnPanel<V>;
  using Converted = PanelLines<B::pitch>;
  static constexpr auto first_table = tile_table<V, Piece, typename RowsOfB::Lines, C>();
  static constexpr auto table = tile_table<V, Piece, Converted, C>();
  alignas(64) float piece[V::mr * Piece::row_step];
  for (int s = 0; s < RowPanel<V>::strips(m); ++s) {
    const Strip rows = RowPanel<V>::strip(m, s);
    for (int at = 0; at < k; at += Piece::length) {
      const int length = lower<V>(k - at, Piece::length);
      for (int r = 0; r < rows.count; ++r) {
        const int row = rows.first + r;
        a.copy(row, at, length, row + rows.count, piece + r * Piece::row_step);
      }
      for (int j = 0; j < B::strips(n); ++j) {
        const Strip strip = B::strip(n, j);
        const TileColumns columns = columns_of<V>(strip.count);
        float* const panel = b_panel + (j * static_cast<i64>(k) + at) * B::pitch;
        const float* const sums = acc + rows.first * ld + strip.first;
        const auto multiply_by = [&](const auto& tiles, const auto& lines) {
          tiles.of[rows.count - 1][columns.width](piece, lines, length, sums, ld, columns.last, add || at > 0,
                                                  sums + strip.count,
                                                  element_at<V>(out, rows.first * out_ld + strip.first), out_ld);
        };
        if (s == 0) {
          multiply_by(first_table, b.lines(at, strip.first, columns.last, panel));
        } else {
          multiply_by(table, Converted{panel});
        }
      }
    }
  }
}

/// Up to so many columns, rows of A are read in short pieces: they come from memory, and the next piece is fetched
/// while this one is multiplied. More columns give the time for long pieces, and want the sums in registers for longer.
constexpr int few_columns = 64;

/// acc (m, n) += a (m, k), where it lies, * b (k, n), or = if not add. b_panel holds b packed, or will.
template <class V, class Rows, class RowsOfB>
void multiply_columns(const Rows& a, const RowsOfB& b, float* b_panel, int m, int n, int k, float* acc, i64 ld,
                      bool add) {
  if (n <= few_columns) {
    multiply_pieces<V, RowPiece<V, 64>>(a, b, b_panel, m, n, k, acc, ld, add, acc, ld);
  } else {
    multiply_pieces<V, RowPiece<V, words_of_rows>>(a, b, b_panel, m, n, k, acc, ld, add, acc, ld);
  }
}

/// The same to C in place of acc, rounded. k <= words_of_rows.
template <class V, class Rows, class RowsOfB>
void multiply_columns_to(const Rows& a, const RowsOfB& b, float* b_panel, int m, int n, int k, const float* acc, i64 ld,
                         bool add, const RoundedRows& c) {
  const auto to = [&]<class C>(C* out) {
    multiply_pieces<V, RowPiece<V, words_of_rows>>(a, b, b_panel, m, n, k, acc, ld, add, out, c.stride);
  };
  if (c.type == DType::f16) return to(static_cast<f16*>(c.base));
  if (c.type == DType::bf16) return to(static_cast<bf16*>(c.base));
  to(static_cast<float*>(c.base));
}

template <class V>
void multiply_direct_a(const Operand& a, const Operand& b, float* b_panel, int m, int n, int k, float* acc, i64 ld,
                       bool add) {
  pack<V, ColumnPanel<V>>(b, n, k, b_panel);
  with_lines<V>(a.base, a.type, a.strip_stride,
                [&](auto rows) { multiply_columns<V>(rows, PackedB<V>{}, b_panel, m, n, k, acc, ld, add); });
}
template <class V>
void multiply_direct_a_to(const Operand& a, const Operand& b, float* b_panel, int m, int n, int k, const float* acc,
                          i64 ld, bool add, const RoundedRows& c) {
  pack<V, ColumnPanel<V>>(b, n, k, b_panel);
  with_lines<V>(a.base, a.type, a.strip_stride,
                [&](auto rows) { multiply_columns_to<V>(rows, PackedB<V>{}, b_panel, m, n, k, acc, ld, add, c); });
}

}  // namespace tilewright::cpu
