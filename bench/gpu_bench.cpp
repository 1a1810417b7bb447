// See gpu_bench.hpp.
#include "bench/gpu_bench.hpp"

#include <fmt/format.h>

#include <tilewright/cuda.hpp>
#include "cuda/compiler.hpp"

namespace tilewright::bench {

GpuBench::GpuBench() : monitor_(0), copy_gbytes_(gpu_.copy_gbytes_per_second()) {}

void GpuBench::take_over(HarnessOptions& options, bool host) {
  options.threads = {1};
  options.operands = [this](const Case& which) { return gpu_.operands(which); };
  options.timed = gpu_.timed(Manner::cold);
  options.aspects = {{"warm", gpu_.timed(Manner::warm)},
                     {"stream", gpu_.timed(Manner::stream)},
                     {"allocating", gpu_.timed(Manner::allocating)}};
  if (host) options.aspects.push_back({"host", gpu_.timed(Manner::host)});
  options.peak = [this](DType type) { return gpu_.peak(type); };
  options.memory_gbytes = copy_gbytes_;
  options.conditions = [this] { return monitor_.conditions(); };
  options.settle = {};
  options.rounds.settle = [this] { monitor_.sample(); };
  options.short_us = 0;  // already the first time is that of a graph
  // A replay of a graph is a sample, and one before it brings clocks and code back.
  options.rounds.sample_us = 1000;
  options.rounds.warm_us = 300;
}

GpuFacts GpuBench::facts() const {
  GpuFacts facts;
  facts.description = gpu_.description();
  facts.driver = monitor_.driver_version();
  cuda::check(cuda::driver().driver_get_version(&facts.cuda_version), "cuDriverGetVersion");
  facts.compiler = cuda::compiler_missing() == nullptr ? "NVRTC " + cuda::compiler_version() : "none";
  facts.power_limit_watts = monitor_.power_limit();
  facts.copy_gbytes = copy_gbytes_;
  return facts;
}

}  // namespace tilewright::bench
