// The GPU that plans are spoken of for: the first one here, else an H200 that is assumed.
#pragma once

#include <string>
#include <vector>

#include "plan/gpu_planner.hpp"

namespace tilewright::cli {

struct PlannedGpu {
  std::string name = "an NVIDIA H200, assumed because no GPU is here";
  int major = 9, minor = 0;
  i64 multiprocessors = 132, shared_bytes = 227 << 10;

  std::vector<std::string> architectures() const;
  std::string architecture() const { return architectures().front(); }
  plan::GpuDescription description() const;  // what the planner knows of it
};
PlannedGpu planned_gpu();

}  // namespace tilewright::cli
