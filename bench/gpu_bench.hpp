// Everything that run_suite needs to measure on a GPU instead of the host.
#pragma once

#include "bench/gpu.hpp"
#include "bench/gpu_monitor.hpp"
#include "bench/harness.hpp"
#include "bench/record.hpp"

namespace tilewright::bench {

class GpuBench {
 public:
  /// Throws Error target where there is no GPU, and driver.
  GpuBench();

  /// Puts the GPU in the host's place. host: how long the host takes to enqueue a call is measured as well.
  /// The options are about this object, which must outlive them.
  void take_over(HarnessOptions& options, bool host);
  GpuFacts facts() const;

 private:
  Gpu gpu_;
  GpuMonitor monitor_;
  double copy_gbytes_;
};

}  // namespace tilewright::bench
