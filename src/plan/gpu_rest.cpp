#include "plan/gpu_rest.hpp"

#include <algorithm>

#include "plan/gpu_clusters.hpp"
#include "plan/gpu_model.hpp"

namespace tilewright::plan {
namespace {

constexpr i64 most_rounds = 16;
constexpr i64 begins_at = 64;  // rows of 64 elements begin at lines, and classes of rows are at most so many

/// The least rest of rows or columns that leaves so many tiles at most.
Rest least_rest(const Problem& problem, const Plan& plan, RestKind kind, i64 most_tiles) {
  const i64 extent = kind == RestKind::rows ? problem.m : problem.n;
  for (i64 own = (extent - 1) / begins_at * begins_at; own > 0; own -= begins_at) {
    const Rest rest{kind, extent - own};
    const Problem before = without_rest(problem, rest);
    if (tile_rows(before, plan) * tile_cols(before, plan) <= most_tiles) return rest;
  }
  return {};
}

}  // namespace

Problem without_rest(const Problem& problem, const Rest& rest) {
  Problem own = problem;
  if (rest.kind == RestKind::rows) own.m -= rest.count;
  if (rest.kind == RestKind::cols) own.n -= rest.count;
  return own;
}

Problem rest_of(const Problem& problem, const Rest& rest) {
  Problem others = problem;
  (rest.kind == RestKind::rows ? others.m : others.n) = rest.count;
  return others;
}

Problem own_problem(const Problem& problem, const Plan& plan) {
  return without_rest(as_packed(problem, plan.packing), plan.rest);
}

PlanRequest request_of_rest() {
  PlanRequest request;
  request.rest = Rest{};
  return request;
}

std::vector<Rest> rests_of(const Problem& problem, const Plan& plan, const GpuDescription& gpu) {
  std::vector<Rest> rests;
  if (!boxed(plan) || blocks_of_program(plan) > 1) return rests;
  const i64 at_once = programs_at_once(plan, gpu), tiles = tile_rows(problem, plan) * tile_cols(problem, plan);
  const i64 rounds = tiles / std::max<i64>(at_once, 1);
  if (rounds < 1 || rounds > most_rounds || tiles % at_once == 0) return rests;
  for (const RestKind kind : {RestKind::rows, RestKind::cols}) {
    if (const Rest rest = least_rest(problem, plan, kind, rounds * at_once); rest.any()) rests.push_back(rest);
  }
  return rests;
}

}  // namespace tilewright::plan
