#include "plan/gpu_model.hpp"
#include "plan/gpu_planner.hpp"

#include <algorithm>

namespace tilewright::plan {
namespace {

i64 whole(i64 bytes) {
  constexpr i64 alignment = 1024;  // of a block
  return cdiv(bytes, alignment) * alignment;
}
i64 block_bytes(const Problem& problem, const Plan& plan, i64 edge) {
  return whole(edge * plan.tile.k * size_of(problem.input));
}
i64 stage_bytes_of(const Problem& problem, const Plan& plan) {
  const i64 element = size_of(problem.input);
  const i64 left = block_bytes(problem, plan, plan.tile.m), right = block_bytes(problem, plan, plan.tile.n);
  // Rows that are realigned arrive with 32 bytes more each, along the axis that makes more of them, and settle in two
  // blocks besides; those of the left operand of wgmma do not.
  const auto raw = [&](i64 edge) { return whole(edge * plan.tile.k * element + 32 * std::max(edge, plan.tile.k)); };
  // Beside boxes rows have 32 bytes more each, and every four of them if they run along the edge.
  const auto rows = [&](i64 edge, const LayoutClass& layout) {
    const i64 step = has_second_rows(layout) ? 2 : 1;
    return whole(std::max(edge * (plan.tile.k * element * step + 32), plan.tile.k * (edge * element * step + 32 + 8)));
  };
  if (boxed(plan)) {
    return (plan.a == Mover::tma ? left : rows(plan.tile.m, problem.a)) +
           (plan.b == Mover::tma ? right : rows(plan.tile.n, problem.b));
  }
  return settles(plan) ? raw(plan.tile.m) + raw(plan.tile.n) : left + right;
}

}  // namespace

i64 shared_bytes_of(const Problem& problem, const Plan& plan) {
  const i64 left = block_bytes(problem, plan, plan.tile.m), right = block_bytes(problem, plan, plan.tile.n);
  // Each warp stages 16 rows of its part of the output behind them, of at most so many bytes and 16 more.
  const i64 line = plan.mma == Mma::wgmma && plan.warps >= 8 ? 128 : 256;
  const i64 staging = plan.teams * plan.warps * 16 * (line + 16);
  const i64 barriers = boxed(plan) ? 16 * plan.stages + 8 * plan.teams : 0;
  const i64 settled = !settles(plan) || boxed(plan) ? 0 : plan.mma == Mma::wgmma ? right : left + right;
  return plan.stages * stage_bytes_of(problem, plan) + 2 * settled + staging + barriers;
}

}  // namespace tilewright::plan
