// The planner for GPUs: the same steps as the CPU's (planner.cpp), over a table of tiles and a description of a device.
// Arithmetic alone: it runs on a device that a test invents.
#pragma once

#include <array>

#include <tilewright/plan.hpp>
#include "plan/gpu_operands.hpp"

namespace tilewright::plan {

/// What the planner knows of a GPU.
struct GpuDescription {
  i64 multiprocessors = 1;
  i64 shared_bytes = 48 << 10;  // that one program may use
  bool wgmma = false;           // compute capability 9.0
};

/// The warps of a program, those that multiply, its stages, and the programs that a block works on at once.
struct Team {
  int warps, stages, teams = 1;
};
/// A tile with the teams that go with it, where 16-bit elements are multiplied by mma.sync, by wgmma, by wgmma with
/// blocks that come by tma, and with a left block that stays as it lies in memory and a right one by tma (0 warps: not
/// under this tile).
struct GpuTile {
  TileShape tile;
  Team mma_sync, wgmma, tma, raw{0, 0};
};

/// The tiles that the operator's program is launched with: one table for the planner and for the code that launches.
/// The first serves products with a short side.
inline constexpr std::array gpu_tiles = {
    GpuTile{{16, 64, 64}, {4, 4}, {4, 4}, {0, 0}},
    GpuTile{{64, 32, 32}, {4, 3}, {4, 3}, {0, 0}},
    GpuTile{{64, 64, 64}, {4, 3}, {4, 3}, {4, 12, 2}, {4, 10, 2}},
    GpuTile{{64, 64, 128}, {4, 3}, {4, 3}, {0, 0}},
    GpuTile{{128, 128, 32}, {4, 4}, {4, 3}, {0, 0}},
    GpuTile{{64, 128, 64}, {4, 3}, {4, 3}, {4, 8, 2}, {4, 7, 2}},
    GpuTile{{128, 64, 64}, {4, 3}, {4, 3}, {0, 0}, {4, 7, 2}},
    GpuTile{{128, 128, 64}, {8, 2}, {4, 3}, {4, 6, 2}, {8, 5}},
    GpuTile{{128, 192, 64}, {8, 2}, {8, 3}, {8, 4}},
    GpuTile{{64, 256, 64}, {8, 2}, {8, 3}, {4, 5, 2}},
    GpuTile{{128, 256, 64}, {8, 2}, {8, 3}, {8, 4}, {8, 4}},
    GpuTile{{256, 128, 64}, {8, 2}, {8, 3}, {8, 4}, {8, 4}},
};

/// What multiplies elements of a type in a tile that so many warps share: wgmma wants 64 rows for each four of them.
Mma gpu_mma(DType input, const TileShape& tile, i64 warps, const GpuDescription& gpu);

/// Bytes of shared memory that a plan's pipeline takes.
i64 shared_bytes_of(const Problem& problem, const Plan& plan);

/// Chooses the fields that the request leaves open, as choose_plan does for a CPU. Throws plan_value, plan_unavailable
/// and workspace.
PlanChoice choose_gpu_plan(const Problem& problem, const PlanRequest& request, const GpuDescription& gpu,
                           i64 workspace_bytes = 0);

}  // namespace tilewright::plan
