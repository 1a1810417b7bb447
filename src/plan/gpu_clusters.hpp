// What clusters of blocks of threads are for, on compute capability 9.0 and by tma: two that bring the right operand of
// their programs once (c2), or several that share one program's sum (split=cluster(S)).
#pragma once

#include <array>
#include <string>

#include "plan/gpu_planner.hpp"

namespace tilewright::plan {

/// Whether programs 2i and 2i + 1 are tiles one below the other of the product as it is multiplied, and of one class of
/// rows: they have the right operand's blocks in common. Two multiprocessors work on them.
bool in_pairs(const Problem& problem, const Plan& plan, const GpuDescription& gpu);

/// 2 where a plan by tma is faster in pairs, by the model; else 1.
i64 best_cluster(const Problem& problem, Plan plan, const GpuDescription& gpu);

/// The blocks of a cluster that may share a sum, and a thread's sums of a program that is shared, at most.
inline constexpr std::array<i64, 4> cluster_parts = {2, 4, 8, 16};
inline constexpr i64 most_shared_sums = 32;
/// The blocks of threads that share each program of a plan.
constexpr i64 blocks_of_program(const Plan& plan) {
  return plan.split.kind == SplitKind::cluster ? plan.split.parts : 1;
}
/// How many programs run at once under a plan; 0 if not one does. A cluster lies within a part of the device of up to
/// 18 multiprocessors: an H200, which has 132, takes 66 clusters of 2, 30 of 4, 15 of 8 and 7 of 16. More than 8 blocks
/// a cluster are not for every device: large ones are taken to have them.
constexpr i64 programs_at_once(const Plan& plan, const GpuDescription& gpu) {
  const i64 blocks = blocks_of_program(plan);
  if (blocks > 8 && gpu.multiprocessors < 8 * blocks) return 0;
  return (blocks > 2 ? gpu.multiprocessors * 9 / 10 : gpu.multiprocessors) / blocks;
}
/// The split that leaves fewer multiprocessors without work, where programs are few: the best by the model.
Split best_split(const Problem& problem, Plan plan, const GpuDescription& gpu);

/// Why a plan's blocks do not work in clusters as it says; empty if they do.
std::string cluster_rejection(const Problem& problem, const Plan& plan, const GpuDescription& gpu);

}  // namespace tilewright::plan
