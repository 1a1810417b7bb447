// The grid of a launch: how many programs there are, on up to three axes, and in which order they own output tiles.
#pragma once

#include <tilewright/tile/order.hpp>

namespace tilewright::tile {

struct Grid {
  i64 x = 1, y = 1, z = 1;
  constexpr i64 programs() const { return x * y * z; }
};

/// What a program object knows of itself: its ids, the grid, and the order. Executors add the rest.
class ProgramIds {
 public:
  constexpr ProgramIds(Grid grid, Order order, i64 number)
      : id_{number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y},
        grid_{grid.x, grid.y, grid.z},
        order_(order) {}

  /// This program's number on an axis, and how many there are.
  constexpr i64 id(int axis) const { return id_[axis]; }
  constexpr i64 grid(int axis) const { return grid_[axis]; }
  /// The output tile of this program in a grid of tiles that axis 0 counts.
  constexpr TileCoord output_tile(TileGrid tiles) const { return tile_of(order_, tiles, id_[0]); }
  /// This program's number over all axes.
  constexpr i64 number() const { return id_[0] + grid_[0] * (id_[1] + grid_[1] * id_[2]); }

 private:
  i64 id_[3];
  i64 grid_[3];
  Order order_;
};

}  // namespace tilewright::tile
