// A kernel that can be launched: compiled, loaded on a device, with the geometry that all its launches share.
//
// Finding one takes text, files and perhaps a compiler; launching one takes a call of the driver. Who launches again
// and again keeps the Loaded and enqueues: then nothing is planned, written or allocated.
#pragma once

#include <tilewright/cuda.hpp>
#include "cuda/driver.hpp"

namespace tilewright::cuda {

struct Loaded {
  Function function = nullptr;
  int device = 0;
  unsigned threads = 0, thread_rows = 1, shared_bytes = 0;  // of a block
  unsigned most_blocks = 0;                                 // that share out the programs; 0: a block is a program
  unsigned cluster = 1;                                     // blocks that run side by side
  bool early = false;  // may begin while the kernel before it ends, for which it waits (roles.hpp)
};

/// What device code knows of a launch on an architecture: what multiplies there, and the shared memory of a program.
/// Throws Error plan_unavailable for wgmma where it does not exist.
Config config_of(const Launch& how, const detail::Needs& needs, const std::string& architecture);
/// The translation unit of a kernel under a launch.
std::string unit_of(const KernelText& text, const Config& config, std::size_t kernel_size, std::size_t args_size);

/// The kernel of a unit on a device, with so many bytes of shared memory: from the pack, the cache or the compiler, by the
/// first thread of a process that wants it. Throws Error driver, kernel.
Function function_of(const std::string& unit, int device, int shared_bytes);

/// Finds or compiles a kernel and loads it on how.device; the grid, the order and the stream are not looked at. A
/// process keeps what it loaded. Throws Error: target, driver, kernel, plan_value, plan_unavailable.
Loaded load_kernel(const KernelText& text, const Launch& how, const detail::Needs& needs, std::size_t kernel_size,
                   std::size_t args_size);

/// From now on each program is shared by the blocks of a cluster, so many: a grid has programs along x and their parts
/// along y, and every block has one. Of a kernel in roles. Throws Error driver.
void share_programs(Loaded& loaded, unsigned parts);

/// Enqueues every program of a grid. kernel, args: the bytes of the kernel and of its arguments; maps: of a kernel that
/// moves by tma. Throws Error: driver, plan_unavailable for a grid that is too large.
void enqueue(const Loaded& loaded, const tile::Grid& grid, const Order& order, void* stream, const void* kernel,
             const void* args, const TensorMaps* maps);

}  // namespace tilewright::cuda
