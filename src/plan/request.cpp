#include "plan/request.hpp"

#include <fmt/format.h>

#include <tilewright/error.hpp>

namespace tilewright::plan {

std::string text_of(const TileShape& tile) { return fmt::format("{}x{}x{}", tile.m, tile.n, tile.k); }

void unavailable(const std::string& message) { throw Error(ErrorCode::plan_unavailable, message); }

void check_extents_and_order(const Problem& problem, const PlanRequest& request) {
  if (problem.m < 0 || problem.n < 0 || problem.k < 0) {
    throw Error(ErrorCode::problem, fmt::format("the problem is M = {}, N = {}, K = {}: extents are not negative.",
                                                problem.m, problem.n, problem.k));
  }
  if (request.order && request.order->group < 1) {
    throw Error(ErrorCode::plan_value,
                fmt::format("order=grouped({}): a group has at least 1 row of tiles.", request.order->group));
  }
}

void check_target(Mover mover, Target own, std::string_view operand) {
  const bool cpus = mover == Mover::pack || mover == Mover::direct;
  const bool gpus = mover == Mover::async_copy || mover == Mover::realign || mover == Mover::tma;
  if (own == Target::cpu ? gpus : cpus) {
    unavailable(fmt::format("{0}={1} is the target {2}'s. Use {0}={3}.", operand, to_string(mover),
                            cpus ? "cpu" : "cuda",
                            own == Target::cpu ? fmt::format("pack or {}=gather", operand) : "gather"));
  }
}

}  // namespace tilewright::plan
