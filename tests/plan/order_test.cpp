// Program orders: every program owns one tile and every tile has one program, on every grid.

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include <tilewright/tile/order.hpp>

namespace tilewright {
namespace {

/// The tiles of an order as its definition reads: G rows at a time, column by column.
std::vector<TileCoord> walked(TileGrid grid, i64 group) {
  std::vector<TileCoord> tiles;
  for (i64 first = 0; first < grid.rows; first += group) {
    for (i64 col = 0; col < grid.cols; ++col) {
      for (i64 row = first; row < first + group && row < grid.rows; ++row) tiles.push_back({row, col});
    }
  }
  return tiles;
}

TEST(Order, GroupedWalksGroupsColumnByColumnOnEverySmallGrid) {
  for (i64 rows = 1; rows <= 13; ++rows) {
    for (i64 cols = 1; cols <= 13; ++cols) {
      for (i64 group = 1; group <= 20; ++group) {
        const TileGrid grid{rows, cols};
        const Order order{OrderKind::grouped, group};
        const std::vector<TileCoord> expected = walked(grid, group);
        ASSERT_EQ(expected.size(), static_cast<std::size_t>(rows * cols));
        for (i64 id = 0; id < rows * cols; ++id) {
          const TileCoord tile = tile_of(order, grid, id);
          ASSERT_EQ(tile, expected[static_cast<std::size_t>(id)])
              << rows << "x" << cols << " group " << group << " id " << id;
          ASSERT_EQ(program_of(order, grid, tile), id) << rows << "x" << cols << " group " << group;
        }
      }
    }
  }
}

TEST(Order, LinearWalksRowByRowOnEverySmallGrid) {
  for (i64 rows = 1; rows <= 13; ++rows) {
    for (i64 cols = 1; cols <= 13; ++cols) {
      for (i64 id = 0; id < rows * cols; ++id) {
        const TileCoord expected{id / cols, id % cols};
        ASSERT_EQ(tile_of({}, {rows, cols}, id), expected);
        ASSERT_EQ(program_of({}, {rows, cols}, expected), id);
      }
    }
  }
}

TEST(Order, HugeGridsAndGroupsDoNotOverflow) {
  constexpr i64 largest = std::numeric_limits<i64>::max();
  const i64 extents[] = {1, 2, 3, 65535, 65536, (i64{1} << 31) - 1, i64{1} << 31};
  const i64 groups[] = {1, 7, 8, i64{1} << 31, largest - 1, largest};
  for (const i64 rows : extents) {
    for (const i64 cols : extents) {
      const TileGrid grid{rows, cols};
      for (const i64 group : groups) {
        const Order order{OrderKind::grouped, group};
        for (const i64 id : {i64{0}, rows * cols / 3, rows * cols / 2, rows * cols - 1}) {
          const TileCoord tile = tile_of(order, grid, id);
          ASSERT_TRUE(tile.row >= 0 && tile.row < rows && tile.col >= 0 && tile.col < cols)
              << rows << "x" << cols << " id " << id;
          ASSERT_EQ(program_of(order, grid, tile), id) << rows << "x" << cols << " group " << group;
        }
      }
    }
  }
}

TEST(Order, LastProgramOwnsTheLastTile) {
  for (i64 group = 1; group <= 6; ++group) {
    EXPECT_EQ(tile_of({OrderKind::grouped, group}, {5, 3}, 14), (TileCoord{4, 2})) << group;
  }
}

TEST(CeilDivision, HoldsAtTheEdges) {
  EXPECT_EQ(cdiv(0, 64), 0);
  EXPECT_EQ(cdiv(1, 64), 1);
  EXPECT_EQ(cdiv(64, 64), 1);
  EXPECT_EQ(cdiv(65, 64), 2);
  constexpr i64 largest = std::numeric_limits<i64>::max();
  EXPECT_EQ(cdiv(largest, 2), largest / 2 + 1);
}

TEST(StepsOfPart, CoverAllStepsOnceInOrder) {
  for (i64 steps = 0; steps <= 40; ++steps) {
    for (i64 parts = 1; parts <= 12; ++parts) {
      i64 next = 0;
      for (i64 part = 0; part < parts; ++part) {
        const StepRange range = steps_of_part(steps, parts, part);
        ASSERT_EQ(range.begin, next) << steps << " steps, part " << part << " of " << parts;
        ASSERT_GE(range.end, range.begin);
        ASSERT_LE(range.end - range.begin, cdiv(steps, parts));
        next = range.end;
      }
      ASSERT_EQ(next, steps);
    }
  }
}

}  // namespace
}  // namespace tilewright
