#include "cli/planned_gpu.hpp"

#include <tilewright/cuda.hpp>
#include "cuda/device.hpp"
#include "cuda/pack.hpp"

namespace tilewright::cli {

std::vector<std::string> PlannedGpu::architectures() const { return cuda::architectures_for(major, minor); }

plan::GpuDescription PlannedGpu::description() const {
  return {multiprocessors, shared_bytes, cuda::has_wgmma(architecture())};
}

PlannedGpu planned_gpu() {
  if (!cuda::unavailable().empty()) return {};
  const cuda::DeviceDescription& d = cuda::describe(0);
  return {d.name, d.major, d.minor, d.multiprocessors, d.shared_bytes};
}

}  // namespace tilewright::cli
