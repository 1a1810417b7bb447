#include "plan/candidates.hpp"

#include <algorithm>
#include <utility>

#include <tilewright/error.hpp>
#include "plan/gpu_clusters.hpp"

namespace tilewright::plan {
namespace {

/// What `all` asks of a GPU beside the table's own teams.
constexpr i64 searched_warps[] = {4, 8}, searched_stages[] = {2, 3, 4, 6, 8, 12}, searched_teams[] = {1, 2},
              searched_clusters[] = {1, 2};

bool holds(const PlanList& list, const Plan& plan) {
  return std::ranges::find(list.plans, plan, &ListedPlan::plan) != list.plans.end();
}

/// The planner's choice as a list.
PlanList list_of(PlanChoice choice) {
  PlanList list{choice.plan, std::move(choice.reason), {}, {}};
  for (Candidate& candidate : choice.candidates) {
    if (candidate.rejected.empty()) {
      list.plans.push_back({candidate.plan, candidate.microseconds, true});
    } else {
      list.rejected.push_back(std::move(candidate));
    }
  }
  return list;
}

/// Adds what a planner ranks for a request that it may refuse.
void add_ranked(PlanList& list, const auto& choose) {
  try {
    for (const Candidate& candidate : choose().candidates) {
      if (candidate.rejected.empty() && !holds(list, candidate.plan))
        list.plans.push_back({candidate.plan, candidate.microseconds, false});
    }
  } catch (const Error&) {  // not a plan of this problem and device
  }
}

void finish(PlanList& list) {
  std::ranges::stable_sort(list.plans, {}, &ListedPlan::microseconds);
  std::erase_if(list.rejected, [&](const Candidate& candidate) { return holds(list, candidate.plan); });
}

/// The one value that is asked for, or all that are searched.
template <class T>
std::vector<T> values(const std::optional<T>& asked, std::vector<T> searched) {
  if (asked) searched.assign(1, *asked);
  return searched;
}

/// Movers of a GPU worth a look: boxes, the layout's own, and of operands that are not both aligned, or of which every
/// second element is wanted, the one that shifts. Which of them go together, the planner knows.
std::vector<Mover> gpu_movers(const LayoutClass& layout, bool aligned) {
  const Mover own = gpu_mover(layout);
  if (has_second_rows(layout)) return {Mover::realign, own};
  if (own == Mover::gather) return {own};
  std::vector<Mover> movers = {Mover::tma, own};
  if (!aligned && own != Mover::realign) movers.push_back(Mover::realign);
  return movers;
}

/// None, and those that the blocks of a cluster share.
std::vector<Split> splits_of(bool shared) {
  std::vector<Split> splits = {{}};
  if (!shared) return splits;
  for (const i64 parts : cluster_parts) splits.push_back({SplitKind::cluster, parts});
  return splits;
}

/// Calls visit(request) for every way to fill in what a request leaves open under one tile.
void for_each_gpu_request(const Problem& given, const PlanRequest& request, const GpuTile& entry, const auto& visit) {
  const Problem problem = as_packed(given, request.packing.value_or(Packing{}));
  const bool aligned = std::min(problem.a.alignment, problem.b.alignment) >= 16;
  std::vector<i64> stages(std::begin(searched_stages), std::end(searched_stages));
  for (const Team& team : {entry.mma_sync, entry.wgmma, entry.tma, entry.raw}) {
    if (team.warps > 0 && std::ranges::find(stages, team.stages) == stages.end()) stages.push_back(team.stages);
  }
  PlanRequest one = request;
  one.tile = entry.tile;
  for (const Mover a : values(request.a, gpu_movers(problem.a, aligned))) {
    for (const Mover b : values(request.b, gpu_movers(problem.b, aligned))) {
      const bool boxes = a == Mover::tma || b == Mover::tma;
      for (const Mma mma : values(request.mma, problem.input == DType::f32 ? std::vector{Mma::fma}
                                                                           : std::vector{Mma::wgmma, Mma::mma_sync})) {
        for (const i64 warps : values(request.warps, {std::begin(searched_warps), std::end(searched_warps)})) {
          for (const i64 teams : values(request.teams, {std::begin(searched_teams), std::end(searched_teams)})) {
            if (teams > 1 && !boxes) continue;
            for (const i64 cluster :
                 values(request.cluster, {std::begin(searched_clusters), std::end(searched_clusters)})) {
              if (cluster > 1 && !boxes) continue;
              for (const Split& split : values(request.split, splits_of(boxes && cluster == 1))) {
                for (const i64 depth : values(request.stages, stages)) {
                  one.a = a, one.b = b, one.mma = mma, one.split = split;
                  one.warps = warps, one.teams = teams, one.cluster = cluster, one.stages = depth;
                  visit(one);
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace

std::size_t PlanList::chosen_at() const {
  return static_cast<std::size_t>(std::ranges::find(plans, chosen, &ListedPlan::plan) - plans.begin());
}

void PlanList::keep_first(std::size_t count) {
  std::size_t at = 0;
  std::erase_if(plans, [&](const ListedPlan& one) { return at++ >= count && one.plan != chosen; });
}

PlanList list_plans(const Problem& problem, const PlanRequest& request, const CpuDescription& cpu, i64 threads,
                    i64 workspace_bytes, Breadth breadth) {
  PlanList list = list_of(choose_plan(problem, request, cpu, threads, workspace_bytes));
  if (breadth == Breadth::by_default) return list;
  const auto movers = [](const LayoutClass& layout) {
    return layout.unit == UnitAxis::none ? std::vector{Mover::gather} : std::vector{Mover::pack, Mover::direct};
  };
  PlanRequest one = request;
  for (const TileShape& tile : compiled_tiles()) {
    if (request.tile && *request.tile != tile) continue;
    one.tile = tile;
    for (const Mover a : values(request.a, movers(problem.a))) {
      for (const Mover b : values(request.b, movers(problem.b))) {
        if (a == Mover::direct && b == Mover::direct && !(request.a && request.b)) continue;  // does as a direct alone
        one.a = a, one.b = b;
        add_ranked(list, [&] { return choose_plan(problem, one, cpu, threads, workspace_bytes); });
      }
    }
  }
  finish(list);
  return list;
}

PlanList list_gpu_plans(const Problem& problem, const PlanRequest& request, const GpuDescription& gpu, Breadth breadth,
                        i64 workspace_bytes) {
  PlanList list = list_of(choose_gpu_plan(problem, request, gpu, workspace_bytes));
  if (breadth == Breadth::by_default) return list;
  for (const Candidate& candidate : list.rejected) {
    if (candidate.microseconds > 0) list.plans.push_back({candidate.plan, candidate.microseconds, false});
  }
  for (const GpuTile& entry : gpu_tiles) {
    if (request.tile && *request.tile != entry.tile) continue;
    for_each_gpu_request(problem, request, entry, [&](const PlanRequest& one) {
      add_ranked(list, [&] { return choose_gpu_plan(problem, one, gpu, workspace_bytes); });
    });
  }
  finish(list);
  return list;
}

}  // namespace tilewright::plan
