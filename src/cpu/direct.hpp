// Multiplication with one operand read where it lies: for few rows or few columns of the output, of which an element of
// the other operand serves so few that its way through a panel costs more than its products.
//
// multiply_rows(): few rows of A, rows of B contiguous. A group of rows of B is converted into registers, a vector or
// two of columns at a time, and the rows of A pass by. multiply_across(): the same with columns of B contiguous, which
// are read along k and transposed in registers. multiply_columns(): few columns of B. As many rows of A as a register
// tile has are converted into a buffer, a piece of k at a time and as they lie, where a panel would have to be
// transposed. Sums take their products in order of k: the bits are those of multiply() in micro_kernel.hpp.
//
// Start at multiply_direct_b() and multiply_direct_a().
#pragma once

#include "cpu/access.hpp"
#include "cpu/micro_kernel.hpp"

namespace tilewright::cpu {

/// Lines of an operand where they lie, each contiguous: rows of B along their columns, rows of A along k.
template <class V, class E>
struct Lines {
  const E* base;
  i64 stride;  // elements from one line to the next

  /// Whether V::b_rows lines are too many at a time for the nearest cache.
  static constexpr bool crowded() { return false; }

  /// Vectors of elements of a group of lines, from `at` on, as floats; `count` of the last vector and zeros behind. The
  /// same of the next group, which need not exist, is in the L2 soon: read in memory order, but many lines deep, they
  /// are no stream that hardware foresees.
  template <int group, int vectors>
  [[gnu::always_inline]] void read(int line, int at, int count, typename V::Reg (&out)[group][vectors]) const {
    const E* from = element_at<V>(base, line * stride + at);
#pragma GCC unroll 8
    for (int g = 0; g < group; ++g, from = element_at<V>(from, stride)) {
      __builtin_prefetch(element_at<V>(from, ahead<V>(group, stride)), 0, 2);
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

/// acc[i * ld + j] += sum over `group` of k of a[i, k] * b[k, j], for `rows` rows and `vectors` vectors of columns,
/// `columns` of the last one.
template <class V, int group, int rows, int vectors>
[[gnu::always_inline]] inline void add_row_group(const float* elements, const typename V::Reg (&line)[group][vectors],
                                                 int columns, float* acc, i64 ld, bool add) {
  using A = RowPanel<V>;
  constexpr int last = vectors - 1;
  typename V::Reg sum[rows][vectors];
#pragma GCC unroll 3
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      const int count = v < last ? V::lanes : columns;
      sum[r][v] = add ? load_lanes<V>(acc + r * ld + v * V::lanes, count) : V::zero();
    }
  }
#pragma GCC unroll 8
  for (int g = 0; g < group; ++g) {
#pragma GCC unroll 3
    for (int r = 0; r < rows; ++r) {
      const typename V::Reg element = V::broadcast(elements + g * A::k_step + r * A::row_step);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = V::multiply_add(element, line[g][v], sum[r][v]);
    }
  }
#pragma GCC unroll 3
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < last; ++v) V::store(acc + r * ld + v * V::lanes, sum[r][v]);
    store_lanes<V>(acc + r * ld + last * V::lanes, columns, sum[r][last]);
  }
}

/// A packed, as multiply_rows needs it for every group: a division for each would cost as much as a row.
struct FewRows {
  const float* panel;
  i64 step;                // floats from one strip of the panel to the next
  int strips, longest;     // the rows of all strips but the last ones, which may have one row less
  int longest_strips = 0;  // how many are so long
};

/// A group of rows of B from `at` on, and at most `vectors` vectors of its columns from `first` on, `columns` of the
/// last one.
template <class V, int group, int vectors, class Rows>
[[gnu::always_inline]] inline void multiply_row_group(const Rows& b, int at, int first, int columns, const FewRows& a,
                                                      float* acc, i64 ld, bool add) {
  using A = RowPanel<V>;
  typename V::Reg line[group][vectors];
  b.read(at, first, columns, line);
  const float* strip = a.panel + at * A::k_step;
  acc += first;
  for (int s = 0; s < a.strips; ++s, strip += a.step) {
    const float* elements = strip;
    int rows = s < a.longest_strips ? a.longest : a.longest - 1;
    for (; rows >= 3; rows -= 3, elements += 3 * A::row_step, acc += 3 * ld) {
      add_row_group<V, group, 3, vectors>(elements, line, columns, acc, ld, add);
    }
    for (; rows >= 2; rows -= 2, elements += 2 * A::row_step, acc += 2 * ld) {
      add_row_group<V, group, 2, vectors>(elements, line, columns, acc, ld, add);
    }
    if (rows == 1) {
      add_row_group<V, group, 1, vectors>(elements, line, columns, acc, ld, add);
      acc += ld;
    }
  }
}

/// acc (m, n) += a (m, k), packed, * b (k, n), where it lies, or = if not add. A group of rows of B is read over its
/// whole width before the next one.
template <class V, class Rows>
void multiply_rows(const float* a_panel, const Rows& b, int m, int n, int k, float* acc, i64 ld, bool add) {
  FewRows a = {a_panel, static_cast<i64>(k) * RowPanel<V>::pitch, RowPanel<V>::strips(m), 0};
  for (int s = 0; s < a.strips; ++s) {
    const int rows = RowPanel<V>::strip(m, s).count;
    if (rows < a.longest) break;
    a.longest = rows;
    ++a.longest_strips;
  }
  const auto over_width = [&]<int group>(int at) {
    int j = 0;
    for (; n - j >= 2 * V::lanes; j += 2 * V::lanes)
      multiply_row_group<V, group, 2>(b, at, j, V::lanes, a, acc, ld, add || at > 0);
    for (; j < n; j += V::lanes)
      multiply_row_group<V, group, 1>(b, at, j, lower<V>(n - j, V::lanes), a, acc, ld, add || at > 0);
  };
  int at = 0;
  if (b.crowded()) {
    for (; at + V::b_rows / 2 <= k; at += V::b_rows / 2) over_width.template operator()<V::b_rows / 2>(at);
  }
  for (; at + V::b_rows <= k; at += V::b_rows) over_width.template operator()<V::b_rows>(at);
  for (; at < k; ++at) over_width.template operator()<1>(at);
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

/// Pieces of `Piece::length` of k, each by all columns before the next one. The last sums go to `out`, which is acc or,
/// if there is one piece, another matrix.
template <class V, class Piece, class C, class Rows>
void multiply_pieces(const Rows& a, const float* b_panel, int m, int n, int k, const float* acc, i64 ld, bool add,
                     C* out, i64 out_ld) {
  using B = ColumnPanel<V>;
  static constexpr TileTable<V> table = tile_table<V, Piece, C>();
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
        const Strip columns = B::strip(n, j);
        const auto [width, last] = columns_of<V>(columns.count);
        const float* const sums = acc + rows.first * ld + columns.first;
        table.of[rows.count - 1][width](piece, b_panel + (j * static_cast<i64>(k) + at) * B::pitch, length, sums, ld,
                                        last, add || at > 0, sums + columns.count,
                                        element_at<V>(out, rows.first * out_ld + columns.first), out_ld);
      }
    }
  }
}

/// Up to so many columns, rows of A are read in short pieces: they come from memory, and the next piece is fetched
/// while this one is multiplied. More columns give the time for long pieces, and want the sums in registers for longer.
constexpr int few_columns = 64;

/// acc (m, n) += a (m, k), where it lies, * b (k, n), packed, or = if not add.
template <class V, class Rows>
void multiply_columns(const Rows& a, const float* b_panel, int m, int n, int k, float* acc, i64 ld, bool add) {
  if (n <= few_columns) {
    multiply_pieces<V, RowPiece<V, 64>>(a, b_panel, m, n, k, acc, ld, add, acc, ld);
  } else {
    multiply_pieces<V, RowPiece<V, most_rounded_k>>(a, b_panel, m, n, k, acc, ld, add, acc, ld);
  }
}

/// The same to C in place of acc, rounded. k <= most_rounded_k.
template <class V, class Rows>
void multiply_columns_to(const Rows& a, const float* b_panel, int m, int n, int k, const float* acc, i64 ld, bool add,
                         const RoundedRows& c) {
  const auto to = [&]<class C>(C* out) {
    multiply_pieces<V, RowPiece<V, most_rounded_k>>(a, b_panel, m, n, k, acc, ld, add, out, c.stride);
  };
  if (c.type == DType::f16) return to(static_cast<f16*>(c.base));
  if (c.type == DType::bf16) return to(static_cast<bf16*>(c.base));
  to(static_cast<float*>(c.base));
}

template <class V>
void multiply_direct_a(const Operand& a, const float* b_panel, int m, int n, int k, float* acc, i64 ld, bool add) {
  with_lines<V>(a.base, a.type, a.strip_stride,
                [&](auto rows) { multiply_columns<V>(rows, b_panel, m, n, k, acc, ld, add); });
}
template <class V>
void multiply_direct_a_to(const Operand& a, const float* b_panel, int m, int n, int k, const float* acc, i64 ld,
                          bool add, const RoundedRows& c) {
  with_lines<V>(a.base, a.type, a.strip_stride,
                [&](auto rows) { multiply_columns_to<V>(rows, b_panel, m, n, k, acc, ld, add, c); });
}

}  // namespace tilewright::cpu
