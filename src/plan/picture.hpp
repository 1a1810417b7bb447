// The grid of output tiles as a picture in box characters, and its programs as a table, at most 80 columns wide.
#pragma once

#include <string>

#include "plan/facts.hpp"

namespace tilewright::plan {

/// Each tile shows its program's number (of part 0 of a split). Shaded is what a tile has beyond the matrix. Of a large
/// grid the first tiles and the last are drawn. Empty for a grid without tiles.
std::string draw_grid(const Geometry& geometry);

/// Which tile, rows and columns each program has; of many programs the first and the last ones.
std::string list_programs(const Geometry& geometry);

}  // namespace tilewright::plan
