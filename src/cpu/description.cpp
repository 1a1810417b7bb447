// This machine as the planner sees it, looked up once.
#include <algorithm>

#include <tilewright/tile/cpu/kernels.hpp>

#include "cpu/machine.hpp"

namespace tilewright {

const CpuDescription& this_cpu() {
  // Never destroyed: the destructor of a static object may multiply.
  static const CpuDescription& machine = *new CpuDescription([] {
    CpuDescription found = cpu::read_caches("/");
    found.cores = std::min(cpu::affinity_cores(), cpu::quota_cores("/").value_or(cpu::affinity_cores()));
    const std::span<const Mma> sets = cpu::instruction_sets();
    found.mma = sets.front();
    found.instruction_sets.assign(sets.begin(), sets.end());
    return found;
  }());
  return machine;
}

}  // namespace tilewright
