// The tiles that the operator's programs are compiled for: one table, read by the planner at run time and by the code
// that instantiates the programs at compile time, so that the two cannot disagree.
//
// Every extent is a multiple of 16. The flat ones serve products with one short side, the others general shapes.
#pragma once

#include <array>

#include <tilewright/plan.hpp>

namespace tilewright::plan {

inline constexpr std::array tiles = {
    TileShape{16, 16, 16},    TileShape{32, 32, 32},    TileShape{64, 32, 32},      TileShape{64, 64, 64},
    TileShape{128, 128, 128}, TileShape{256, 16, 256},  TileShape{16, 256, 4096},   TileShape{64, 512, 512},
    TileShape{64, 2048, 512}, TileShape{128, 256, 256}, TileShape{224, 256, 256},   TileShape{256, 256, 1024},
    TileShape{256, 512, 512}, TileShape{448, 256, 512}, TileShape{1024, 1024, 512},
};

}  // namespace tilewright::plan
