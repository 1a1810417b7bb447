#include "plan/gpu_planner.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

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

constexpr int widest_copy = 16, narrowest_copy = 4;  // bytes
constexpr i64 f32_stages = 2;                        // arithmetic takes so long that one block on its way is enough
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

// Plans that are taken without being asked for are few: the kernel of each, for all element types and layouts, is
// compiled ahead into the kernel pack (pack/). Whatever a request names is taken beyond them.
constexpr TileShape short_tile{16, 64, 64}, middle_tile{64, 64, 64};
constexpr TileShape large_tile(DType input) { return {128, 128, input == DType::f32 ? 32 : 64}; }
/// Elements that are gathered wait in registers: the largest tiles under which none is spilled.
constexpr TileShape gathered_tile(DType input) { return input == DType::f32 ? TileShape{64, 32, 32} : middle_tile; }

/// Another output type than the inputs' or f32: rare, so one tile and copies that suit most alignments have to do.
bool converts(const Problem& problem) { return problem.output != problem.input && problem.output != DType::f32; }

struct Movers {
  Mover a, b;
};
/// The movers of a default plan. Gathering one operand gathers both, and shifting one shifts both, but for the commonest
/// types where the other operand is aligned: there keeping them apart saves a sixth of the time, so only the middle tile
/// goes without.
Movers default_movers(const Problem& problem, const TileShape& tile) {
  const Movers own{gpu_mover(problem.a), gpu_mover(problem.b)};
  const auto one_of = [&](Mover mover) { return own.a == mover || own.b == mover; };
  if (one_of(Mover::gather)) return {Mover::gather, Mover::gather};
  const i64 better = std::max(problem.a.alignment, problem.b.alignment);
  const bool apart = tile != middle_tile && better == widest_copy && problem.output == problem.input;
  if (one_of(Mover::realign) && !apart) return {Mover::realign, Mover::realign};
  return own;
}

/// Whether a plan is one that is taken without being asked for.
bool by_default(const Plan& plan, const Problem& problem) {
  if (plan.a == Mover::gather || plan.b == Mover::gather) return plan.tile == gathered_tile(problem.input);
  if (plan.tile == middle_tile || converts(problem)) return plan.tile == middle_tile;
  return plan.tile == large_tile(problem.input) || (plan.tile == short_tile && problem.input != DType::f32);
}

/// Why a plan does not run on a device; empty if it does.
std::string rejection_of(const Plan& plan, const Problem& problem, const GpuDescription& gpu) {
  const i64 accumulators = plan.tile.m * plan.tile.n / (plan.warps * warp_threads);
  if (accumulators > most_accumulators) {
    return fmt::format("{} accumulators a thread do not fit in its registers: at most {}", accumulators,
                       most_accumulators);
  }
  const i64 bytes = shared_bytes_of(plan, problem.input, problem.output);
  if (bytes > gpu.shared_bytes) {
    return fmt::format("{} stages take {} bytes of shared memory, the device has {}", plan.stages,
                       with_separators(bytes), with_separators(gpu.shared_bytes));
  }
  return {};
}

/// Of the part of a tile that one warp has, as the executor shares a tile out (include/tilewright/tile/cuda/layout.hpp).
i64 longer_side_of_part(const TileShape& tile, i64 warps) {
  const i64 rows = cdiv(tile.m, 16), cols = cdiv(tile.n, 16);  // in units of 16 outputs
  i64 least = std::numeric_limits<i64>::max(), side = 0;
  for (i64 down = 1; down <= warps; down *= 2) {
    const i64 a = cdiv(rows, down), b = cdiv(cols, warps / down), cost = a * b * 64 + a + b;
    if (cost < least) least = cost, side = 16 * std::max(a, b);
  }
  return side;
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

int copy_bytes(const Problem& problem, const Plan& plan) {
  if (plan.a != plan.b) return 0;
  const bool wide = problem.a.alignment >= widest_copy && problem.b.alignment >= widest_copy && !converts(problem);
  return wide ? widest_copy : narrowest_copy;
}

Mma gpu_mma(DType input) { return input == DType::f32 ? Mma::fma : Mma::mma_sync; }

i64 shared_bytes_of(const Plan& plan, DType input, DType output) {
  const bool settles = plan.a == Mover::realign || plan.b == Mover::realign;
  const i64 blocks = (plan.tile.m + plan.tile.n) * plan.tile.k * size_of(input);
  // Rows that are realigned arrive with 16 bytes more each, and settle in two blocks besides.
  const i64 rows = plan.tile.k + std::max(plan.tile.m, plan.tile.n);
  const i64 stage = settles ? blocks + 16 * rows : blocks;
  // Each warp stages 16 rows, or columns, of its part of the output behind them.
  const i64 staging = plan.warps * 16 * (longer_side_of_part(plan.tile, plan.warps) * size_of(output) + 16);
  return plan.stages * stage + (settles ? 2 * blocks : 0) + staging;
}

PlanChoice choose_gpu_plan(const Problem& problem, const PlanRequest& request, const GpuDescription& gpu) {
  check_request(problem, request);
  std::vector<Candidate> ranked, beyond, rejected;  // beyond: they run, and are no default plans
  for (const GpuTile& entry : gpu_tiles) {
    if (request.tile && *request.tile != entry.tile) continue;
    Plan plan;
    plan.tile = entry.tile;
    plan.warps = request.warps.value_or(entry.warps);
    plan.stages = request.stages.value_or(problem.input == DType::f32 ? f32_stages : entry.stages);
    plan.order = request.order.value_or(gpu_order);
    const Movers movers = default_movers(problem, plan.tile);
    plan.a = request.a.value_or(movers.a);
    plan.b = request.b.value_or(movers.b);
    plan.mma = gpu_mma(problem.input);
    // A stage less is better than another tile.
    while (!request.stages && plan.stages > 2 &&
           shared_bytes_of(plan, problem.input, problem.output) > gpu.shared_bytes)
      --plan.stages;
    std::string reason = rejection_of(plan, problem, gpu);
    const double microseconds = modelled_microseconds(problem, plan, gpu);
    if (!reason.empty()) {
      rejected.push_back({plan, std::move(reason), 0});
    } else if (request.tile || by_default(plan, problem)) {
      ranked.push_back({plan, {}, microseconds});
    } else {
      beyond.push_back({plan, "taken where it is asked for: default plans are few, and packed", microseconds});
    }
  }
  if (ranked.empty()) {  // a small device: what fits is better than what is packed
    ranked = std::exchange(beyond, {});
    for (Candidate& candidate : ranked) candidate.rejected.clear();
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
  std::ranges::move(beyond, std::back_inserter(choice.candidates));
  std::ranges::move(rejected, std::back_inserter(choice.candidates));
  return choice;
}

}  // namespace tilewright::plan
