#include "plan/gpu_clusters.hpp"

#include <fmt/format.h>

#include "plan/gpu_model.hpp"

namespace tilewright::plan {
namespace {

constexpr i64 least_shared_steps = 4;  // of each part, where nobody asks for a split

/// Whether an order takes tiles that are one below the other by twos.
bool pairs_by_order(const Plan& plan) { return plan.order.kind == OrderKind::grouped && plan.order.group % 2 == 0; }

/// What is missing for the blocks of a cluster to share a program's steps; empty if nothing is.
std::string not_shared(const Problem& problem, const Plan& plan, const GpuDescription& gpu) {
  if (!boxed(plan)) return "blocks that come by tma: compute capability 9.0, f16 or bf16";
  if (programs_at_once(plan, gpu) == 0) {
    return fmt::format("a larger device: clusters of {} are not taken to fit one of {} multiprocessors",
                       plan.split.parts, gpu.multiprocessors);
  }
  if (plan.cluster > 1) return "c1: a cluster shares a program's steps or an operand's blocks, not both";
  if (b_in_phases(problem, plan)) return "a sum in one go, and b's rows come in phases";
  const i64 steps = cdiv(problem.k, plan.tile.k);
  if (plan.split.parts > steps) return fmt::format("a step for each part, and K = {} has {}", problem.k, steps);
  const i64 sums = plan.tile.m * plan.tile.n / (plan.warps * 32);
  if (sums > most_shared_sums) {
    return fmt::format("threads with {} sums at most, and these have {}; use more warps or a smaller tile",
                       most_shared_sums, sums);
  }
  return {};
}

}  // namespace

bool in_pairs(const Problem& problem, const Plan& plan, const GpuDescription& gpu) {
  if (!pairs_by_order(plan) || gpu.multiprocessors < 2) return false;
  if (transposes(plan)) return tile_cols(problem, plan) % 2 == 0;
  if (!a_in_classes(problem, plan)) return tile_rows(problem, plan) % 2 == 0;
  const tile::Classes classes = classes_of(problem, plan);
  const bool all_short = classes.longer == 0, even_short = classes.tiles_short % 2 == 0;
  return even_short && (all_short || classes.tiles_long % 2 == 0);
}

i64 best_cluster(const Problem& problem, Plan plan, const GpuDescription& gpu) {
  // Where boxes alone bring rows of whole lines, pairs win nothing and wait for each other.
  const bool split_lines = plan.a != plan.b || !problem.a.whole_lines || !problem.b.whole_lines;
  if (!boxed(plan) || !split_lines || !in_pairs(problem, plan, gpu)) return 1;
  plan.cluster = 1;
  const double alone = modelled_microseconds(problem, plan, gpu);
  plan.cluster = 2;
  return modelled_microseconds(problem, plan, gpu) < alone ? 2 : 1;
}

Split best_split(const Problem& problem, Plan plan, const GpuDescription& gpu) {
  Split best = plan.split;
  if (!boxed(plan)) return best;
  double least = modelled_microseconds(problem, plan, gpu);
  const i64 programs = tile_rows(problem, plan) * tile_cols(problem, plan);
  for (const i64 parts : cluster_parts) {
    plan.split = {SplitKind::cluster, parts};
    if (programs > programs_at_once(plan, gpu) || parts * least_shared_steps > cdiv(problem.k, plan.tile.k)) break;
    if (!not_shared(problem, plan, gpu).empty()) break;
    if (const double time = modelled_microseconds(problem, plan, gpu); time < least) best = plan.split, least = time;
  }
  return best;
}

std::string cluster_rejection(const Problem& problem, const Plan& plan, const GpuDescription& gpu) {
  if (plan.cluster > 1 && !pairs_by_order(plan)) {
    return fmt::format("c{} wants tiles one below the other: order=grouped(G) with an even G", plan.cluster);
  }
  if (plan.cluster > 1 && !in_pairs(problem, plan, gpu)) {
    return fmt::format(
        "c{} wants an even number of tiles one below the other, in each class of rows, and two "
        "multiprocessors",
        plan.cluster);
  }
  if (plan.split.kind == SplitKind::cluster) {
    const std::string reason = not_shared(problem, plan, gpu);
    if (!reason.empty()) return fmt::format("split={} wants {}", to_string(plan.split), reason);
  }
  return {};
}

}  // namespace tilewright::plan
