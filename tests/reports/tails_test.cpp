// Reports about tails: extents that are no multiple of a tile, a step or a group.
#include <algorithm>
#include <set>

#include "tests/reports/memory.hpp"

namespace {

using namespace reports;

/// Rows or columns of the largest compiled tile.
i64 largest_tile_edge() {
  i64 largest = 0;
  for (const TileShape& tile : compiled_tiles()) largest = std::max({largest, tile.m, tile.n});
  return largest;
}

/// Masked loads without a fill value spoiled sums whose K is no multiple of 32; then the same with NaN after each row.
TEST(Reports, TL_1_1000_x_999_x_1001_ones) {
  constexpr i64 m = 1000, n = 999, k = 1001;
  Memory a(Type::f16, m * (k + 3), not_a_number), b(Type::f16, k * (n + 5), not_a_number);
  for (const i64 padding : {0, 1}) {
    const i64 lda = k + 3 * padding, ldb = n + 5 * padding;
    for (i64 i = 0; i < m; ++i) {
      for (i64 j = 0; j < lda; ++j) a.set(i * lda + j, j < k ? 1.0 : not_a_number);
    }
    for (i64 i = 0; i < k; ++i) {
      for (i64 j = 0; j < ldb; ++j) b.set(i * ldb + j, j < n ? 1.0 : not_a_number);
    }
    Result(a.cells(m, k, lda), b.cells(k, n, ldb), Type::f16).expect_all(1001.0);
  }
}

/// A kernel extended K = 36 into the padding of rows of 64.
TEST(Reports, TL_2_k_of_36_in_rows_of_64) {
  constexpr i64 m = 20, n = 108, k = 36;
  Memory a(Type::f16, m * 64, not_a_number), b(Type::f16, k * 112, not_a_number);
  for (i64 i = 0; i < m; ++i) {
    for (i64 j = 0; j < k; ++j) a.set(i * 64 + j, 1.0);
  }
  for (i64 i = 0; i < k; ++i) {
    for (i64 j = 0; j < n; ++j) b.set(i * 112 + j, 1.0);
  }
  for (const PlanRequest& request : harness::all_programs()) {
    Result(a.cells(m, k, 64), b.cells(k, n, 112), Type::f32, request).expect_all(36.0);
  }
}

/// With a K tile of 8 modulo 16 the last 8 of K were dropped: 16 in place of 24.
TEST(Reports, TL_3_k_of_8_modulo_16) {
  Memory a(Type::f16, 64 * 56, 1.0), b(Type::f16, 64 * 56, 1.0);
  for (const i64 k : {24, 40, 56}) {
    for (const PlanRequest& request : harness::all_programs()) {
      Result(a.cells(64, k, k), b.cells(k, 64, 64), Type::f32, request).expect_all(static_cast<double>(k));
    }
  }
}

/// A band of output tiles was lost when their number along N was no multiple of 8.
TEST(Reports, TL_4_nine_tiles_along_n) {
  Memory ones(Type::f16, 9 * largest_tile_edge() * 64, 1.0);
  for (const PlanRequest& request : harness::all_programs()) {
    const i64 m = 2 * request.tile->m, n = 9 * request.tile->n;
    Result(ones.cells(m, 64, 64), ones.cells(64, n, n), Type::f32, request).expect_all(64.0);
  }
}

/// A fixed group of 8 on a grid of 9 x 9 missed 7 tiles and invented 7.
TEST(Reports, TL_5_every_grouped_order_is_a_permutation) {
  for (i64 rows = 1; rows <= 13; ++rows) {
    for (i64 cols = 1; cols <= 13; ++cols) {
      for (i64 group = 1; group <= 8; ++group) {
        std::set<std::pair<i64, i64>> tiles;
        for (i64 id = 0; id < rows * cols; ++id) {
          const TileCoord tile = tile_of(Order{OrderKind::grouped, group}, TileGrid{rows, cols}, id);
          ASSERT_TRUE(tile.row >= 0 && tile.row < rows && tile.col >= 0 && tile.col < cols)
              << rows << "x" << cols << ", group " << group << ", program " << id;
          tiles.insert({tile.row, tile.col});
        }
        ASSERT_EQ(static_cast<i64>(tiles.size()), rows * cols) << rows << "x" << cols << ", group " << group;
      }
    }
  }
}
TEST(Reports, TL_5_group_of_eight_on_ragged_grids) {
  // A[i, k] = u(i) v(k) and B[k, j] = v(k) w(j), so C[i, j] = u(i) w(j) * sum of v^2: exact, and each tile differs.
  constexpr i64 k = 1024, largest = 2560;
  const auto u = [](i64 i) { return static_cast<double>(i % 13 - 6); };
  const auto w = [](i64 j) { return static_cast<double>(j % 11 - 5); };
  const auto v = [](i64 l) { return static_cast<double>(l % 3 - 1); };
  Memory a(Type::f16, largest * k, 0.0), b(Type::f16, largest * k, 0.0);
  double squares = 0;
  for (i64 l = 0; l < k; ++l) {
    squares += v(l) * v(l);
    for (i64 i = 0; i < largest; ++i) {
      a.set(i * k + l, u(i) * v(l));
      b.set(l * largest + i, v(l) * w(i));
    }
  }
  PlanRequest request;
  request.tile = TileShape{128, 128, 128};
  request.order = Order{OrderKind::grouped, 8};
  for (const i64 extent : {1152, 1280, 1536, 1664, 2560}) {
    Result(a.cells(extent, k, k), b.cells(k, extent, largest), Type::f32, request).expect_each([&](i64 i, i64 j) {
      return u(i) * w(j) * squares + 0.0;
    });
  }
}

/// An N smaller than the tile was wrong: 3 x 7, inside a buffer of NaN that must stay.
TEST(Reports, TL_6_an_output_smaller_than_a_tile) {
  Memory a(Type::f16, 3 * 64, 1.0), b(Type::f16, 64 * 7, 1.0);
  for (const PlanRequest& request : harness::all_programs()) {
    Memory c(Type::f16, 5 * 16, not_a_number);
    gemm_into(view_of(a.cells(3, 64, 64)), view_of(b.cells(64, 7, 7)), view_of(c.cells(3, 7, 16, 1, 16)),
              harness::options_of(request));
    const Cells all = c.cells(5, 16, 16);
    for (i64 i = 0; i < 5; ++i) {
      for (i64 j = 0; j < 16; ++j) {
        if (i >= 1 && i < 4 && j < 7) {
          EXPECT_EQ(all.value(i, j), 64.0) << i << ", " << j << ", " << text_of(request);
        } else {
          EXPECT_TRUE(std::isnan(all.value(i, j))) << i << ", " << j << ", " << text_of(request);
        }
      }
    }
  }
}

/// A tile one short of the extent gave wrong results: the reported 5 x 2 x 1, and one past each tile.
TEST(Reports, TL_7_a_tile_just_under_the_extent) {
  const i64 longest = largest_tile_edge() + 1;
  Memory column(Type::f32, longest, 0.0), row(Type::f32, longest, 0.0);
  for (i64 n = 0; n < longest; ++n) {
    column.set(n, static_cast<double>(n + 1));
    row.set(n, static_cast<double>(10 * (n + 1)));
  }
  const auto want = [](i64 i, i64 j) { return static_cast<double>((i + 1) * 10 * (j + 1)); };
  for (const PlanRequest& request : harness::all_programs()) {
    Result(column.cells(5, 1, 1), row.cells(1, 2, 2), Type::f32, request).expect_each(want);
    Result(column.cells(request.tile->m + 1, 1, 1), row.cells(1, request.tile->n, request.tile->n), Type::f32, request)
        .expect_each(want);
    Result(column.cells(request.tile->m, 1, 1), row.cells(1, request.tile->n + 1, request.tile->n + 1), Type::f32,
           request)
        .expect_each(want);
  }
}

/// Wrong when M was no multiple of 16 (1752), right at its neighbours.
TEST(Reports, TL_8_m_of_1752) {
  constexpr i64 n = 4720, k = 584;
  Memory ones(Type::f16, k * n, 1.0);
  for (const i64 m : {1744, 1752, 1760}) Result(ones.cells(m, k, k), ones.cells(k, n, n), Type::f16).expect_all(584.0);
}

}  // namespace
