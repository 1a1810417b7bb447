#include "plan/gpu_planner.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include "plan/number.hpp"
#include "plan/request.hpp"

namespace tilewright::plan {
namespace {

/// Groups of rows of tiles, so that programs at work at the same time share columns of B in the L2.
constexpr Order gpu_order{OrderKind::grouped, 8};

// One element of K of a tile of BM x BN costs a multiprocessor BM * BN multiplications and the way of BM + BN operands
// to where they are multiplied, each of which takes as long as so many multiplications. The rate was measured on one
// H200 with this library's own mma.sync kernels; it ranks plans and does not predict.
constexpr double operand_cost = 64;
constexpr double costs_a_microsecond = 1.7e6;
constexpr double fma_slowdown = 16;

constexpr i64 warp_threads = 32;
constexpr i64 most_accumulators = 128;  // a thread's: half of its registers

void check_mover(const std::optional<Mover>& mover, const LayoutClass& layout, std::string_view operand) {
  if (!mover || *mover == Mover::gather) return;
  check_target(*mover, Target::cuda, operand);
  const bool allowed = layout.unit != UnitAxis::none && (*mover == Mover::realign || layout.alignment >= 4);
  if (!allowed) {
    throw Error(
        ErrorCode::plan_value,
        fmt::format("{0}={1} does not suit the layout of {0}, which is {2}. Use {0}={3}.", operand, to_string(*mover),
                    to_string(layout), layout.unit == UnitAxis::none ? "gather" : "realign"));
  }
}

/// What suits no plan on a GPU, whatever the tile.
void check_request(const Problem& problem, const PlanRequest& request) {
  check_extents_and_order(problem, request);
  if (request.tile && std::ranges::find(gpu_tiles, *request.tile, &GpuTile::tile) == gpu_tiles.end()) {
    std::string at_hand;
    for (const GpuTile& entry : gpu_tiles) at_hand += (at_hand.empty() ? "" : ", ") + text_of(entry.tile);
    unavailable(
        fmt::format("the tile {} is not one of the target cuda's. Use one of {}.", text_of(*request.tile), at_hand));
  }
  constexpr std::array<i64, 5> warps = {1, 2, 4, 8, 16};
  if (request.warps && std::ranges::find(warps, *request.warps) == warps.end()) {
    throw Error(ErrorCode::plan_value, fmt::format("w{}: a program has 1, 2, 4, 8 or 16 warps.", *request.warps));
  }
  if (request.stages && (*request.stages < 1 || *request.stages > 16)) {
    throw Error(ErrorCode::plan_value, fmt::format("s{}: a pipeline has 1 to 16 stages.", *request.stages));
  }
  if (request.split && request.split->kind != SplitKind::none) {
    unavailable("split=split_k(S) is the target cpu's. Use split=none.");
  }
  if (request.mma && *request.mma != gpu_mma(problem.input)) {
    unavailable(fmt::format("mma={} does not multiply {} on the target cuda. Use mma={}.", to_string(*request.mma),
                            name_of(problem.input), to_string(gpu_mma(problem.input))));
  }
  check_mover(request.a, problem.a, "a");
  check_mover(request.b, problem.b, "b");
}

/// Why a plan does not run on a device; empty if it does.
std::string rejection_of(const Plan& plan, const Problem& problem, const GpuDescription& gpu) {
  const i64 accumulators = plan.tile.m * plan.tile.n / (plan.warps * warp_threads);
  if (accumulators > most_accumulators) {
    return fmt::format("{} accumulators a thread do not fit in its registers: at most {}", accumulators,
                       most_accumulators);
  }
  const i64 bytes = shared_bytes_of(plan, problem.input);
  if (bytes > gpu.shared_bytes) {
    return fmt::format("{} stages take {} bytes of shared memory, the device has {}", plan.stages,
                       with_separators(bytes), with_separators(gpu.shared_bytes));
  }
  return {};
}

double modelled_microseconds(const Problem& problem, const Plan& plan, const GpuDescription& gpu) {
  const double m = static_cast<double>(plan.tile.m), n = static_cast<double>(plan.tile.n);
  const i64 programs = cdiv(problem.m, plan.tile.m) * cdiv(problem.n, plan.tile.n);
  const double multiply = m * n * (plan.mma == Mma::fma ? fma_slowdown : 1);
  const double waves = static_cast<double>(cdiv(programs, gpu.multiprocessors));
  return waves * static_cast<double>(problem.k) * (multiply + operand_cost * (m + n)) / costs_a_microsecond;
}

}  // namespace

Mover gpu_mover(const LayoutClass& layout) {
  if (layout.unit == UnitAxis::none) return Mover::gather;
  return layout.alignment >= 4 ? Mover::async_copy : Mover::realign;
}

Mma gpu_mma(DType input) { return input == DType::f32 ? Mma::fma : Mma::mma_sync; }

i64 shared_bytes_of(const Plan& plan, DType input) {
  const bool settles = plan.a == Mover::realign || plan.b == Mover::realign;
  const i64 blocks = (plan.tile.m + plan.tile.n) * plan.tile.k * size_of(input);
  // Rows that are realigned arrive with 16 bytes more each, and settle in two blocks besides.
  const i64 rows = plan.tile.k + std::max(plan.tile.m, plan.tile.n);
  const i64 stage = settles ? blocks + 16 * rows : blocks;
  // Each warp stages 16 rows of its part of the output, in FP32 at most, behind them.
  const i64 staging = plan.warps * 16 * (std::max(plan.tile.m, plan.tile.n) * 4 + 16);
  return plan.stages * stage + (settles ? 2 * blocks : 0) + staging;
}

PlanChoice choose_gpu_plan(const Problem& problem, const PlanRequest& request, const GpuDescription& gpu) {
  check_request(problem, request);
  std::vector<Candidate> ranked, rejected;
  for (const GpuTile& entry : gpu_tiles) {
    if (request.tile && *request.tile != entry.tile) continue;
    Plan plan;
    plan.tile = entry.tile;
    plan.warps = request.warps.value_or(entry.warps);
    plan.stages = request.stages.value_or(entry.stages);
    plan.order = request.order.value_or(gpu_order);
    plan.a = request.a.value_or(gpu_mover(problem.a));
    plan.b = request.b.value_or(gpu_mover(problem.b));
    plan.mma = gpu_mma(problem.input);
    // A stage less is better than another tile.
    while (!request.stages && plan.stages > 2 && shared_bytes_of(plan, problem.input) > gpu.shared_bytes) --plan.stages;
    std::string reason = rejection_of(plan, problem, gpu);
    if (reason.empty()) {
      ranked.push_back({plan, {}, modelled_microseconds(problem, plan, gpu)});
    } else {
      rejected.push_back({plan, std::move(reason), 0});
    }
  }
  if (ranked.empty()) {
    unavailable(fmt::format("{}: {}. Use fewer stages, more warps or a smaller tile.", to_string(rejected.front().plan),
                            rejected.front().rejected));
  }
  std::ranges::stable_sort(ranked, {}, &Candidate::microseconds);
  PlanChoice choice;
  choice.plan = ranked.front().plan;
  choice.reason =
      ranked.size() == 1
          ? std::string("the only candidate that the request and the device leave.")
          : fmt::format("least modelled time of {} candidates: {} on {} multiprocessors; next is {} with {}.",
                        ranked.size(), time_text(ranked[0].microseconds), gpu.multiprocessors,
                        text_of(ranked[1].plan.tile), time_text(ranked[1].microseconds));
  choice.candidates = std::move(ranked);
  std::ranges::move(rejected, std::back_inserter(choice.candidates));
  return choice;
}

}  // namespace tilewright::plan
