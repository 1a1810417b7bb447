// The multiplication of two packed panels: a tile of `rows` x `vectors` registers at a time.
//
// Each element of the tile is one register lane that is loaded from acc, takes its products in order of k and is stored
// back, in every variant alike. So its bits depend on its row of A, its column of B and the order of k, never on where
// in the block it is. Per k a full tile takes two vectors of B and one broadcast element per row of A; the sums never
// leave the registers.
//
// Start at multiply().
#pragma once

#include "cpu/access.hpp"
#include "cpu/panels.hpp"

namespace tilewright::cpu {

/// So many lines of B are fetched into the L2 ahead of their products. A panel may be larger than that, and hardware
/// that reads ahead stops at the end of each page.
constexpr int fetched_ahead = 64;

/// Lines of a panel of B, `pitch` floats apart.
template <int pitch>
struct PanelLines {
  const float* line;

  /// What half a strip's vector of columns is multiplied with.
  template <class V>
  using Half = typename V::Half;

  /// The line, and goes on to the next one.
  template <class V, int vectors>
  [[gnu::always_inline]] void read(typename V::Reg (&out)[1][vectors]) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      if (v * V::lanes % 16 == 0)
        __builtin_prefetch(line + fetched_ahead * pitch + v * V::lanes, 0, 2);  // a cache line
      out[0][v] = V::load(line + v * V::lanes);
    }
    line += pitch;
  }
};

/// One register tile: acc[r * ld + j] += sum over k of a[r, k] * b[k, j], or = if not add. `columns` of the last vector
/// are in use. A::row_step and A::k_step say where the elements of a are, b.read() gives the next line of b. `next`: the
/// sums of the tile that comes next, which need not exist; they are fetched, as an accumulator too may be larger than
/// the L2. The sums go to `out`, rounded if C is not float: to acc itself, or to the rows of a matrix.
/// Never inlined: a caller's own variables would push addresses out of the registers of the loop over k.
template <class V, class A, class B, class C, int rows, int vectors>
[[gnu::noinline]] void multiply_tile(const float* a, const B& first, int k, const float* acc, i64 ld, int columns,
                                     bool add, const float* next, void* out, i64 out_ld) {
  using Reg = typename V::Reg;
  constexpr int last = vectors - 1;
  B b = first;
  Reg sum[rows][vectors];
#pragma GCC unroll 32
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[r][v] = V::zero();
  }
  if (add) {
#pragma GCC unroll 32
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < last; ++v) sum[r][v] = V::load(acc + r * ld + v * V::lanes);
      sum[r][last] = V::load_first(acc + r * ld + last * V::lanes, columns);
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) __builtin_prefetch(next + r * ld + v * V::lanes, 1);
    }
  }
  for (; k > 0; --k) {
    Reg line[1][vectors];
    b.template read<V>(line);
#pragma GCC unroll 32
    for (int r = 0; r < rows; ++r) {
      const Reg element = V::broadcast(a + r * A::row_step);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = V::multiply_add(element, line[0][v], sum[r][v]);
    }
    a += A::k_step;
  }
#pragma GCC unroll 32
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < last; ++v) V::write(static_cast<C*>(out) + r * out_ld + v * V::lanes, sum[r][v]);
    V::write_first(static_cast<C*>(out) + r * out_ld + last * V::lanes, columns, sum[r][last]);
  }
}

template <class B>
using TileFunction = void (*)(const float* a, const B& first, int k, const float* acc, i64 ld, int columns, bool add,
                              const float* next, void* out, i64 out_ld);

/// The columns of a register tile: half a vector where V::Half is such a one, a vector, two.
enum Width : unsigned char { half, one, two };

/// How a strip of `count` columns is multiplied, and how many columns of the last vector are in use.
struct TileColumns {
  Width width;
  int last;
};
template <class V>
TileColumns columns_of(int count) {
  if (count > V::lanes) return {two, count - V::lanes};
  return {count <= V::Half::lanes ? half : one, count};
}

/// The register tiles by rows - 1 and width.
template <class V, class B>
struct TileTable {
  TileFunction<B> of[V::mr][3];
};

template <class V, class A, class B, class C, int rows = 1>
constexpr void fill(TileTable<V, B>& table) {
  table.of[rows - 1][half] = multiply_tile<typename B::template Half<V>, A, B, C, rows, 1>;
  table.of[rows - 1][one] = multiply_tile<V, A, B, C, rows, 1>;
  table.of[rows - 1][two] = multiply_tile<V, A, B, C, rows, 2>;
  if constexpr (rows < V::mr) fill<V, A, B, C, rows + 1>(table);
}

template <class V, class A, class B, class C>
constexpr TileTable<V, B> tile_table() {
  TileTable<V, B> table = {};
  fill<V, A, B, C>(table);
  return table;
}

/// Bytes of packed A that stay in the L2 while all of B passes by, strip by strip.
constexpr i64 a_block_bytes = 256 << 10;

/// acc (m, n) += a (m, k) * b (k, n), both packed, or = if not add. A strip of B stays in the nearest cache while a
/// block of strips of A passes by.
template <class V>
void multiply(const float* a_panel, const float* b_panel, int m, int n, int k, float* acc, i64 ld, bool add) {
  using A = RowPanel<V>;
  using B = ColumnPanel<V>;
  using BLines = PanelLines<B::pitch>;
  static constexpr TileTable<V, BLines> table = tile_table<V, A, BLines, float>();
  const i64 a_step = static_cast<i64>(k) * A::pitch, b_step = static_cast<i64>(k) * B::pitch;
  const int a_strips = A::strips(m), b_strips = B::strips(n);
  const i64 fitting = a_block_bytes / (a_step * static_cast<i64>(sizeof(float)) + 1);
  const int block = fitting < 1 ? 1 : fitting < a_strips ? static_cast<int>(fitting) : a_strips;
  for (int first = 0; first < a_strips; first += block) {
    for (int j = 0; j < b_strips; ++j) {
      const Strip columns = B::strip(n, j);
      const auto [width, last] = columns_of<V>(columns.count);
      for (int i = first; i < lower<V>(first + block, a_strips); ++i) {
        const Strip rows = A::strip(m, i);
        float* const sums = acc + rows.first * ld + columns.first;
        table.of[rows.count - 1][width](a_panel + i * a_step, BLines{b_panel + j * b_step}, k, sums, ld, last, add,
                                        sums + rows.count * ld, sums, ld);
      }
    }
  }
}

}  // namespace tilewright::cpu
