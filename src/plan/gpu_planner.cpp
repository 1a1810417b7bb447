#include "plan/gpu_planner.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include "plan/gpu_clusters.hpp"
#include "plan/gpu_model.hpp"
#include "plan/gpu_request.hpp"
#include "plan/gpu_rest.hpp"
#include "plan/number.hpp"
#include "plan/request.hpp"

namespace tilewright::plan {
namespace {

/// Groups of rows of tiles, so that programs at work at the same time share columns of B in the L2.
constexpr Order gpu_order{OrderKind::grouped, 8};

constexpr i64 f32_stages = 2;  // arithmetic takes so long that one block on its way is enough
constexpr i64 warp_threads = 32;
constexpr i64 most_accumulators = 128;  // a thread's: half of its registers

constexpr i64 most_phases = 8;  // none of them may be without rows

/// What a left block may have that stays as it lies in memory: each warp takes 16 rows at a time into registers.
constexpr i64 most_raw_rows = 128;
bool rows_stay_raw(i64 left_rows, i64 warps) { return left_rows <= most_raw_rows && left_rows % (16 * warps) == 0; }

/// A step's stage is given back when the next step's products have begun, and the fragments of a left operand that
/// stays raw are read one step ahead of those.
i64 least_stages(const Plan& plan) { return !boxed(plan) ? 1 : plan.a == plan.b ? 2 : 3; }

// Plans that are taken without being asked for are few: the kernel of each, for all element types and layouts, is
// compiled ahead into the kernel pack (pack/). Whatever a request names is taken beyond them.
constexpr TileShape short_tile{16, 64, 64}, middle_tile{64, 64, 64}, wide_tile{128, 192, 64};
/// wgmma takes raw rows from registers, which are too few for more of K; mma.sync is faster with two programs on a
/// multiprocessor than with longer steps.
TileShape large_tile(const Plan& plan, DType input) {
  const bool shorter = plan.mma == Mma::mma_sync || settles(plan);
  return {128, 128, input == DType::f32 || shorter ? 32 : 64};
}
/// Elements that are gathered wait in registers: the largest tiles under which none is spilled.
constexpr TileShape gathered_tile(DType input) { return input == DType::f32 ? TileShape{64, 32, 32} : middle_tile; }

/// Whether an operand may be the left one of wgmma as it lies in memory, beside boxes of the other.
bool may_stay_raw(const LayoutClass& layout, const LayoutClass& other) {
  return has_rows(layout) || (has_second_rows(layout) && has_boxes(other));
}

struct Movers {
  Mover a, b;
};
/// The ways in which boxes may bring an operand at least, best first: the table of docs/any-layout.md.
std::vector<Movers> boxed_movers(const Problem& problem) {
  if (problem.input == DType::f32 || !fits_boxes(problem) || converts(problem)) return {};
  const bool a_boxes = has_boxes(problem.a), b_boxes = has_boxes(problem.b);
  const bool a_classes = a_has_classes(problem), b_classes = b_has_classes(problem);
  // Every so many-th row of C is stored in adjacent elements if C's rows are such, and so are columns.
  const bool by_columns = stored_by_columns(problem);
  // Classes of few rows are tiles that are mostly empty.
  const bool few_rows = problem.m < 32 * row_classes(problem.a), few_columns = problem.n < 32 * row_classes(problem.b);
  const bool early_a = a_classes && !by_columns && b_along_n(problem) && !few_rows;
  const bool early_b = b_classes && by_columns && a_along_m(problem) && !few_columns;
  if ((a_boxes && b_boxes) || (b_boxes && early_a) || (a_boxes && early_b)) return {{Mover::tma, Mover::tma}};
  std::vector<Movers> ways;
  if (b_boxes && may_stay_raw(problem.a, problem.b)) ways.push_back({Mover::realign, Mover::tma});
  if ((a_boxes || a_classes) && may_stay_raw(problem.b, problem.a)) ways.push_back({Mover::tma, Mover::realign});
  if (!b_boxes && b_classes && has_rows(problem.a)) {
    const bool first = !few_columns && (few_rows || (by_columns && !a_boxes));
    ways.insert(first ? ways.begin() : ways.end(), {Mover::realign, Mover::tma});
  }
  if (ways.empty() && b_has_phases(problem) && has_rows(problem.a) && a_along_m(problem) && problem.k >= most_phases) {
    ways.push_back({Mover::realign, Mover::tma});
  }
  return ways;
}

/// The movers of a default plan. Beside boxes each operand has its own; else gathering one operand gathers both, and
/// shifting one shifts both, so that kernels are few.
Movers default_movers(const Problem& problem, const GpuTile& entry, const PlanRequest& request,
                      const GpuDescription& gpu) {
  const TileShape& tile = entry.tile;
  const auto asked = [&](Mover a, Mover b) { return request.a.value_or(a) == a && request.b.value_or(b) == b; };
  const auto in_roles = [&](const Team& team) {
    return team.warps > 0 && gpu_mma(problem.input, tile, request.warps.value_or(team.warps), gpu) == Mma::wgmma;
  };
  if (request.mma.value_or(Mma::wgmma) == Mma::wgmma) {
    for (const Movers& movers : boxed_movers(problem)) {
      const bool both = movers.a == movers.b;
      const Team& team = both ? entry.tma : entry.raw;
      if (!asked(movers.a, movers.b) || !in_roles(team)) continue;
      // A tile that nobody asked for is left to the layouts that it suits.
      const i64 left_rows = movers.a == Mover::realign ? tile.m : tile.n;
      if (both || !request.tile || rows_stay_raw(left_rows, request.warps.value_or(team.warps))) return movers;
    }
  }
  const Movers own{gpu_mover(problem.a), gpu_mover(problem.b)};
  const auto one_of = [&](Mover mover) { return own.a == mover || own.b == mover; };
  for (const Mover mover : {Mover::gather, Mover::realign}) {
    if (one_of(mover)) return {mover, mover};
  }
  return own;
}

/// What multiplies, and the warps and stages that go with it.
void set_team(Plan& plan, const GpuTile& entry, const Problem& problem, const PlanRequest& request,
              const GpuDescription& gpu) {
  const bool boxes = boxed(plan), both = plan.a == plan.b;
  // Small tiles of blocks that all threads copy wait for the copies: wgmma needs no kernels of its own there.
  const bool everywhere = request.mma == Mma::mma_sync || (!request.tile && entry.tile == middle_tile && !boxes);
  const bool on_wgmma =
      !everywhere && gpu_mma(problem.input, entry.tile, request.warps.value_or(entry.wgmma.warps), gpu) == Mma::wgmma;
  const auto& [warps, stages, teams] = boxes && both && entry.tma.warps > 0    ? entry.tma
                                       : boxes && !both && entry.raw.warps > 0 ? entry.raw
                                       : on_wgmma                              ? entry.wgmma
                                                                               : entry.mma_sync;
  plan.warps = request.warps.value_or(warps);
  if (problem.input == DType::f32) {
    plan.mma = Mma::fma, plan.stages = f32_stages;
  } else if (on_wgmma) {
    plan.mma = Mma::wgmma, plan.stages = stages;
  } else {  // blocks that settle take the room of a stage, and so of a second program
    plan.mma = Mma::mma_sync, plan.stages = settles(plan) ? std::max(stages - 1, 2) : stages;
  }
  plan.mma = request.mma.value_or(plan.mma);
  plan.teams = request.teams.value_or(boxes ? teams : 1);
  plan.cluster = request.cluster.value_or(1);
  plan.stages = request.stages.value_or(plan.stages);
}

/// Whether a plan is one that is taken without being asked for.
bool by_default(const Plan& plan, const Problem& problem) {
  constexpr TileShape boxes[] = {{64, 64, 64}, {64, 128, 64}, {128, 128, 64}, {128, 256, 64}};
  constexpr TileShape in_classes[] = {{64, 128, 64}, {128, 128, 64}, {128, 192, 64}};
  constexpr TileShape columns_in_classes[] = {{64, 128, 64}, {128, 192, 64}};  // of a C by columns: rare
  constexpr TileShape raw[] = {{64, 128, 64}, {128, 256, 64}};
  const auto is_in = [](const auto& tiles, const TileShape& tile) {
    return std::ranges::find(tiles, tile) != std::end(tiles);
  };
  if (boxed(plan)) {
    if (plan.a != plan.b) {
      const bool left_a = plan.a == Mover::realign;
      if (has_second_rows(left_a ? problem.a : problem.b)) return product_tile(plan) == TileShape{128, 256, 64};
      // Few rows make few programs: one row of tiles, each of which had better be narrow.
      const bool along_k = !(left_a ? a_along_m(problem) : b_along_n(problem));
      const bool few = along_k && (left_a ? problem.m : problem.n) <= middle_tile.m;
      return is_in(raw, product_tile(plan)) || (few && plan.tile == middle_tile);
    }
    if (b_in_classes(problem, plan)) return is_in(columns_in_classes, plan.tile);
    if (a_in_classes(problem, plan)) return is_in(in_classes, plan.tile);
    // 768 columns, and more multiples of 192, are common where both operands are stored row by row.
    if (plan.tile == wide_tile) return !a_along_m(problem) && b_along_n(problem);
    return is_in(boxes, plan.tile);
  }
  if (plan.a == Mover::gather || plan.b == Mover::gather) return plan.tile == gathered_tile(problem.input);
  const bool odd_bytes = std::min(problem.a.alignment, problem.b.alignment) < size_of(problem.input);
  const bool boxable = problem.input == DType::f32 || fits_boxes(problem);
  const bool rare = converts(problem) || !problem.a.forward || !problem.b.forward || odd_bytes || !boxable;
  if (plan.tile == middle_tile || rare) return plan.tile == middle_tile;
  // Where boxes bring an operand, or would of a longer sum, large tiles of copies are never faster.
  if (plan.mma == Mma::wgmma && (problem.k < most_phases || !boxed_movers(problem).empty())) return false;
  // With fewer stages nothing overlaps with a large block's settling.
  if (plan.tile == large_tile(plan, problem.input)) return !settles(plan) || plan.stages >= 3;
  return plan.tile == short_tile && problem.input != DType::f32;
}

/// Why tma does not bring the operands of a plan; empty if it does.
std::string boxes_missing(const Plan& plan, const Problem& problem) {
  if (plan.a == plan.b) {
    // A sum begins early where the other operand has zeros: in rows of K, of boxes that begin at chunks.
    const bool early_a = !has_boxes(problem.a), early_b = !has_boxes(problem.b);
    if (early_a && (early_b || !b_along_n(problem))) {
      return "rows of a that start anywhere want, beside tma, rows of b along N at multiples of 16 bytes";
    }
    if (early_b && (b_along_n(problem) || !a_along_m(problem))) {
      return "rows of b that start anywhere want, beside tma, rows of a along M at multiples of 16 bytes";
    }
    return {};
  }
  const bool left_a = plan.a == Mover::realign, left_b = plan.b == Mover::realign;
  if (!left_a && !left_b) return "beside an operand by tma the other comes by tma or realign";
  if (b_in_phases(problem, plan) && (!a_along_m(problem) || problem.k < most_phases)) {
    return "rows of b along N that start anywhere want, by tma, rows of a along M and a K of 8 or more";
  }
  const LayoutClass &left = left_a ? problem.a : problem.b, &right = left_a ? problem.b : problem.a;
  if (may_stay_raw(left, right)) return {};
  return left.unit != UnitAxis::none ? "an operand that stays raw beside tma runs forwards"
                                     : "rows of which every second element is wanted stay raw beside rows that start "
                                       "at multiples of 16 bytes, and run forwards";
}

/// Why a plan does not run on a device; empty if it does.
std::string rejection_of(const Plan& plan, const GpuTile& entry, const Problem& problem, const GpuDescription& gpu) {
  if (plan.mma == Mma::wgmma && gpu_mma(problem.input, plan.tile, plan.warps, gpu) != Mma::wgmma) {
    return gpu.wgmma ? fmt::format("mma=wgmma wants a multiple of 64 rows and of 4 warps, not {} rows and w{}",
                                   plan.tile.m, plan.warps)
                     : std::string("mma=wgmma wants a device of compute capability 9.0");
  }
  if (boxed(plan)) {
    const std::string reason = boxes_missing(plan, problem);
    if (!reason.empty()) return reason;
    if ((plan.a == plan.b ? entry.tma : entry.raw).warps == 0) return "tma brings no such blocks of this tile";
    if (plan.stages < least_stages(plan)) {
      return fmt::format("{} stages: tma wants {} or more{}", plan.stages, least_stages(plan),
                         plan.a == plan.b ? "" : " beside rows that stay raw");
    }
    const i64 left_rows = product_tile(plan).m;
    if (plan.a != plan.b && !rows_stay_raw(left_rows, plan.warps)) {
      return fmt::format(
          "rows that stay raw beside tma: a tile has at most {} of them, and 16 for each of its {} warps; "
          "this one has {}",
          most_raw_rows, plan.warps, left_rows);
    }
    if (!fits_boxes(problem)) return "tma wants a K of 1 or more and extents below 2,147,483,648";
    if (plan.mma != Mma::wgmma) return "tma wants mma=wgmma";
    if (plan.warps * plan.teams > 8) {
      return fmt::format("{} teams of {} warps want more registers than there are", plan.teams, plan.warps);
    }
  } else if ((plan.a == Mover::realign && problem.a.unit == UnitAxis::none) ||
             (plan.b == Mover::realign && problem.b.unit == UnitAxis::none)) {
    return "rows of which every second element is wanted are realigned beside tma alone; use gather";
  } else if (plan.teams > 1) {
    return fmt::format("t{} wants blocks that come by tma", plan.teams);
  } else if (plan.cluster > 1) {
    return fmt::format("c{} wants blocks that come by tma", plan.cluster);
  }
  if (std::string reason = cluster_rejection(problem, plan, gpu); !reason.empty()) return reason;
  const i64 accumulators = plan.tile.m * plan.tile.n / (plan.warps * warp_threads);
  if (accumulators > most_accumulators) {
    return fmt::format(
        "{} accumulators a thread do not fit in its registers: at most {}; use more warps or a smaller tile",
        accumulators, most_accumulators);
  }
  const i64 bytes = shared_bytes_of(problem, plan);
  if (bytes > gpu.shared_bytes) {
    return fmt::format("{} stages take {} bytes of shared memory, the device has {}; use fewer or a smaller tile",
                       plan.stages, with_separators(bytes), with_separators(gpu.shared_bytes));
  }
  return {};
}

}  // namespace

Mma gpu_mma(DType input, const TileShape& tile, i64 warps, const GpuDescription& gpu) {
  if (input == DType::f32) return Mma::fma;
  return gpu.wgmma && tile.m % 64 == 0 && warps % 4 == 0 ? Mma::wgmma : Mma::mma_sync;
}

namespace {

struct Candidates {
  std::vector<Candidate> ranked, beyond, rejected;  // beyond: they run, and are no default plans
};

/// All plans of a problem whose operands, or copies of them, lie as it says.
Candidates candidates_of(const Problem& problem, const PlanRequest& request, const GpuDescription& gpu) {
  Candidates all;
  auto& [ranked, beyond, rejected] = all;
  for (const GpuTile& entry : gpu_tiles) {
    if (request.tile && *request.tile != entry.tile) continue;
    Plan plan;
    plan.tile = entry.tile;
    plan.order = request.order.value_or(gpu_order);
    const Movers movers = default_movers(problem, entry, request, gpu);
    plan.a = request.a.value_or(movers.a);
    plan.b = request.b.value_or(movers.b);
    plan.split = request.split.value_or(Split{});
    set_team(plan, entry, problem, request, gpu);
    // A stage less is better than another tile.
    while (!request.stages && plan.stages > least_stages(plan) && shared_bytes_of(problem, plan) > gpu.shared_bytes)
      --plan.stages;
    std::string reason = rejection_of(plan, entry, problem, gpu);
    Plan shared = plan;
    if (!request.cluster && plan.split == Split{}) plan.cluster = best_cluster(problem, plan, gpu);
    double microseconds = modelled_microseconds(problem, plan, gpu);
    if (!request.split && reason.empty()) {
      shared.split = best_split(problem, shared, gpu);
      const double time = modelled_microseconds(problem, shared, gpu);
      if (time < microseconds) plan = shared, microseconds = time;
    }
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
  return all;
}

/// The least modelled time of a rest.
double least_microseconds(const Problem& problem, const GpuDescription& gpu) {
  const Candidates all = candidates_of(problem, request_of_rest(), gpu);
  const auto least = std::ranges::min_element(all.ranked, {}, &Candidate::microseconds);
  return least == all.ranked.end() ? std::numeric_limits<double>::infinity() : least->microseconds;
}

/// Adds the plans of `ranked` that leave a rest and are then faster.
void add_rests(std::vector<Candidate>& ranked, const Problem& problem, const PlanRequest& request,
               const GpuDescription& gpu) {
  constexpr double worth_it = 0.97;  // of the time without a rest: two launches for one
  const std::size_t whole = ranked.size();
  for (std::size_t i = 0; i < whole; ++i) {
    Candidate best{{}, {}, ranked[i].microseconds * worth_it};
    for (const Rest& rest : rests_of(problem, ranked[i].plan, gpu)) {
      const Problem own = without_rest(problem, rest);
      Plan plan = ranked[i].plan;
      plan.rest = rest;
      if (!request.cluster) plan.cluster = best_cluster(own, plan, gpu);
      if (plan.cluster > 1 && !in_pairs(own, plan, gpu)) continue;
      const double time = modelled_microseconds(own, plan, gpu) + least_microseconds(rest_of(problem, rest), gpu);
      if (time < best.microseconds) best = {plan, {}, time};
    }
    if (best.plan.rest.any()) ranked.push_back(std::move(best));
  }
}

/// The plans that leave a rest as a request says.
Candidates candidates_before(const Rest& rest, const Problem& problem, const PlanRequest& request,
                             const GpuDescription& gpu) {
  Candidates all = candidates_of(without_rest(problem, rest), request, gpu);
  const double others = rest.any() ? least_microseconds(rest_of(problem, rest), gpu) : 0;
  for (auto* const list : {&all.ranked, &all.beyond}) {
    for (Candidate& candidate : *list) candidate.plan.rest = rest, candidate.microseconds += others;
  }
  for (Candidate& candidate : all.rejected) candidate.plan.rest = rest;
  return all;
}

/// Of a request that names no tile, each reason with the first tile that has it.
[[noreturn]] void refuse_all(const std::vector<Candidate>& rejected) {
  if (rejected.size() == 1)
    unavailable(fmt::format("{}: {}.", to_string(rejected.front().plan), rejected.front().rejected));
  std::string text = "no tile suits the request.";
  std::vector<std::string_view> told;
  for (const Candidate& candidate : rejected) {
    if (std::ranges::find(told, candidate.rejected) != told.end()) continue;
    told.push_back(candidate.rejected);
    text += fmt::format(" {}: {}.", text_of(candidate.plan.tile), candidate.rejected);
  }
  unavailable(text);
}

/// The second best plan's tile, and its rest if that is what sets it apart from the best.
std::string next_text(const Plan& best, const Plan& next) {
  return text_of(next.tile) + (next.rest.any()   ? " rest=" + to_string(next.rest)
                               : best.rest.any() ? " without a rest"
                                                 : "");
}

/// Whether a copy of an operand serves: it has an axis of unit stride, and no boxes as it lies.
bool worth_packing(const LayoutClass& layout) { return layout.unit != UnitAxis::none && !has_boxes(layout); }

/// What a request or a budget has packed, besides nothing.
std::vector<Packing> packings_of(const Problem& problem, const PlanRequest& request, i64 workspace_bytes) {
  if (request.packing && !request.packing->any()) return {};
  if (request.packing) {
    for (const auto& [asked, layout, name] :
         {std::tuple{request.packing->a, &problem.a, "a"}, std::tuple{request.packing->b, &problem.b, "b"}}) {
      if (!asked || layout->unit != UnitAxis::none) continue;
      unavailable(fmt::format("pack({0}) wants an axis of unit stride, and the layout of {0} is {1}. Use {0}=gather.",
                              name, to_string(*layout)));
    }
    const i64 needed = packed_bytes(problem, *request.packing);
    if (needed > workspace_bytes) {
      throw Error(ErrorCode::workspace,
                  fmt::format("packing {} takes {} bytes of workspace, and the budget is {}. Raise the budget or leave "
                              "pack(…) out.",
                              request.packing->a && request.packing->b ? "a and b"
                              : request.packing->a                     ? "a"
                                                                       : "b",
                              with_separators(needed), with_separators(workspace_bytes)));
    }
    return {*request.packing};
  }
  std::vector<Packing> all;
  if (problem.input == DType::f32 || !fits_boxes(problem) || request.rest.value_or(Rest{}).any()) return all;
  const bool a = worth_packing(problem.a) && !request.a, b = worth_packing(problem.b) && !request.b;
  for (const Packing packing : {Packing{true, false}, Packing{false, true}, Packing{true, true}}) {
    if ((packing.a && !a) || (packing.b && !b)) continue;
    if (packed_bytes(problem, packing) <= workspace_bytes) all.push_back(packing);
  }
  return all;
}

}  // namespace

PlanChoice choose_gpu_plan(const Problem& problem, const PlanRequest& request, const GpuDescription& gpu,
                           i64 workspace_bytes) {
  if (workspace_bytes < 0) {
    throw Error(ErrorCode::plan_value,
                fmt::format("the workspace budget is {} bytes: give 0 or more.", workspace_bytes));
  }
  check_gpu_request(as_packed(problem, request.packing.value_or(Packing{})), request);
  const Rest rest = request.rest.value_or(Rest{});
  const bool packs = request.packing.value_or(Packing{}).any();
  auto [ranked, beyond, rejected] = packs ? Candidates{} : candidates_before(rest, problem, request, gpu);
  if (!request.rest && !packs && !request.a && !request.b) add_rests(ranked, problem, request, gpu);
  for (const Packing& packing : packings_of(problem, request, workspace_bytes)) {
    Candidates packed = candidates_of(as_packed(problem, packing), request, gpu);
    for (Candidate& candidate : packed.ranked) {
      candidate.plan.packing = packing;
      candidate.microseconds += packing_microseconds(packed_bytes(problem, packing));
      ranked.push_back(std::move(candidate));
    }
    if (!request.packing) continue;
    for (Candidate& candidate : packed.rejected) candidate.plan.packing = packing;
    std::ranges::move(packed.rejected, std::back_inserter(rejected));
  }
  if (ranked.empty()) refuse_all(rejected);
  std::ranges::stable_sort(ranked, {}, &Candidate::microseconds);
  PlanChoice choice;
  choice.plan = ranked.front().plan;
  choice.workspace_bytes = packed_bytes(problem, choice.plan.packing);
  choice.reason =
      ranked.size() == 1
          ? std::string("the only candidate that the request and the device leave.")
          : fmt::format("least modelled time of {} candidates: {} on {} multiprocessors; next is {} with {}.",
                        ranked.size(), time_text(ranked[0].microseconds), gpu.multiprocessors,
                        next_text(ranked[0].plan, ranked[1].plan), time_text(ranked[1].microseconds));
  if (choice.plan.packing.any()) {
    choice.reason += fmt::format(" {} bytes of workspace hold copies.", with_separators(choice.workspace_bytes));
  }
  choice.candidates = std::move(ranked);
  std::ranges::move(beyond, std::back_inserter(choice.candidates));
  std::ranges::move(rejected, std::back_inserter(choice.candidates));
  return choice;
}

}  // namespace tilewright::plan
