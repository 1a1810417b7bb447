// Program orders: the map from a program's number to the output tile it owns.
//
// One definition for the tile language, the planner, explain and the tests. An order is a hint for cache reuse, never a
// dependency: programs may run in any order, at the same time, and on any core.
#pragma once

#include <tilewright/tile/element.hpp>

namespace tilewright {

/// Ceiling division of an extent (>= 0) by a tile extent (> 0).
constexpr i64 cdiv(i64 extent, i64 tile) { return extent / tile + (extent % tile != 0 ? 1 : 0); }

enum class OrderKind : unsigned char { linear, grouped };

/// linear: row by row over the grid. grouped(G): G rows of tiles are walked column by column, then the next G rows.
struct Order {
  OrderKind kind = OrderKind::linear;
  i64 group = 1;  // rows of tiles a group; 1 for linear
  friend constexpr bool operator==(const Order&, const Order&) = default;
};

/// A grid of output tiles, or the coordinates of one tile in it.
struct TileGrid {
  i64 rows, cols;
  friend constexpr bool operator==(const TileGrid&, const TileGrid&) = default;
};
struct TileCoord {
  i64 row, col;
  friend constexpr bool operator==(const TileCoord&, const TileCoord&) = default;
};

namespace detail {
/// tile_of in integers that hold the number of tiles: divisions of 64 bits are slow on some targets.
template <class Int>
constexpr TileCoord tile_in(Order order, Int tile_rows, Int tile_cols, Int id) {
  if (order.kind == OrderKind::linear) return {static_cast<i64>(id / tile_cols), static_cast<i64>(id % tile_cols)};
  // The band avoids overflow of group * cols.
  const Int band = order.group < static_cast<i64>(tile_rows) ? static_cast<Int>(order.group) : tile_rows;
  const Int first = id / (band * tile_cols) * band;                      // first row of this group
  const Int rows = tile_rows - first < band ? tile_rows - first : band;  // the last group may be short
  const Int within = id % (band * tile_cols);
  return {static_cast<i64>(first + within % rows), static_cast<i64>(within / rows)};
}
}  // namespace detail

/// The tile that program `id` owns, 0 <= id < grid.rows * grid.cols. A bijection for every grid and every group >= 1.
constexpr TileCoord tile_of(Order order, TileGrid grid, i64 id) {
  return detail::tile_in<i64>(order, grid.rows, grid.cols, id);
}

/// The inverse of tile_of.
constexpr i64 program_of(Order order, TileGrid grid, TileCoord tile) {
  if (order.kind == OrderKind::linear) return tile.row * grid.cols + tile.col;
  const i64 band = order.group < grid.rows ? order.group : grid.rows;
  const i64 first = tile.row / band * band;
  const i64 rows = grid.rows - first < band ? grid.rows - first : band;
  return first * grid.cols + tile.col * rows + (tile.row - first);
}

/// K steps [begin, end).
struct StepRange {
  i64 begin, end;
  friend constexpr bool operator==(const StepRange&, const StepRange&) = default;
};

/// The K steps that part `part` of `parts` sums: ceil(steps / parts) consecutive ones; the last parts may have fewer,
/// or none.
constexpr StepRange steps_of_part(i64 steps, i64 parts, i64 part) {
  const i64 each = cdiv(steps, parts);
  const i64 begin = part * each, end = begin + each;
  return {begin < steps ? begin : steps, end < steps ? end : steps};
}

}  // namespace tilewright
