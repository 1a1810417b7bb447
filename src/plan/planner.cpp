// The planner: enumerate -> reject with a one-line reason -> score -> choose. Start at for_each_candidate.
//
// Enumerated are the compiled tiles, the linear order and a few groups, and a few splits of K where the tiles alone do
// not fill the threads, and B read where it lies for few rows. The instruction set is not searched: the widest. A
// request fixes fields; what it leaves open is chosen among what is legal with them.
#include "plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include <tilewright/error.hpp>

#include "plan/compiled_tiles.hpp"
#include "plan/number.hpp"
#include "plan/request.hpp"

namespace tilewright {
namespace plan {
namespace {

constexpr std::array<i64, 3> searched_groups = {4, 8, 16};
constexpr std::array<i64, 4> searched_parts = {2, 4, 8, 16};

// With so few rows of A in a tile, an element of B may be used too few times to pay for its way through a panel. A B
// with unit stride along K has to be transposed either way. Rows or columns of B shorter than direct_width cost more to
// begin than to read.
constexpr i64 few_rows = 64, few_rows_across = 8, direct_width = 512;  // few_rows: cpu::most_direct_rows

bool may_be_direct(const Problem& problem, const TileShape& tile) {
  const i64 rows = std::min(tile.m, problem.m);
  return (problem.b.unit == UnitAxis::mn && rows <= few_rows && std::min(tile.n, problem.n) >= direct_width) ||
         (problem.b.unit == UnitAxis::k && rows <= few_rows_across && std::min(tile.k, problem.k) >= direct_width);
}

/// The movers of A and B under a tile, with B read where it lies or not: what the request says, else direct where that
/// is so, else pack if there is an axis of unit stride. A is read where it lies if its panel would have to be
/// transposed and a panel of B is there to be multiplied with.
std::pair<Mover, Mover> movers_of(const Problem& problem, const PlanRequest& request, bool direct_b) {
  const auto packed = [](const LayoutClass& layout) {
    return layout.unit == UnitAxis::none ? Mover::gather : Mover::pack;
  };
  const Mover b = request.b.value_or(direct_b ? Mover::direct : packed(problem.b));
  const bool direct_a = b != Mover::direct && problem.a.unit == UnitAxis::k;
  return {request.a.value_or(direct_a ? Mover::direct : packed(problem.a)), b};
}

/// Grid and K steps of a problem under one tile.
struct Cover {
  i64 rows, cols, steps;
};

Cover cover_of(const Problem& problem, const TileShape& tile) {
  return {cdiv(problem.m, tile.m), cdiv(problem.n, tile.n), cdiv(problem.k, tile.k)};
}

/// Why a candidate is not ranked.
enum class Rejection : unsigned char {
  none,
  padding,    // a smaller tile does the same with less padding
  workspace,  // the split needs more than the budget
  parts,      // the split has more parts than K has steps of this tile
};

/// The widest instruction set at hand that multiplies the problem's inputs.
Mma widest_set(const Problem& problem, const CpuDescription& cpu) {
  if (multiplies(cpu.mma, problem.input)) return cpu.mma;
  for (const Mma mma : cpu.instruction_sets) {
    if (multiplies(mma, problem.input)) return mma;
  }
  return Mma::portable;
}

constexpr i64 beyond_63_bits = std::numeric_limits<i64>::max();  // stands for a workspace that cannot be counted

bool fits_budget(i64 needed, i64 budget) { return needed <= budget && needed != beyond_63_bits; }

/// Whether anything is summed: of an empty sum or result, any number of parts does nothing.
bool has_work(const Problem& problem) { return problem.m > 0 && problem.n > 0 && problem.k > 0; }

[[noreturn]] void refuse_parts(const Problem& problem, const Split& split, i64 bk) {
  throw Error(
      ErrorCode::plan_value,
      fmt::format("split_k({}) asks for more parts than K = {} has steps of {}: at most {}. Ask for fewer parts.",
                  split.parts, problem.k, bk, std::max<i64>(1, cdiv(problem.k, bk))));
}

void check_mover(const std::optional<Mover>& mover, const LayoutClass& layout, std::string_view operand) {
  if (mover) check_target(*mover, Target::cpu, operand);
  if (mover == Mover::pack && layout.unit == UnitAxis::none) {
    throw Error(ErrorCode::plan_value, fmt::format("{0}=pack needs rows or columns of unit stride, and {0} has neither "
                                                   "(its layout class is {1}). Use {0}=gather.",
                                                   operand, to_string(layout)));
  }
  const bool readable =
      operand == "a" ? layout.unit == UnitAxis::k || layout.unit == UnitAxis::both : layout.unit != UnitAxis::none;
  if (mover == Mover::direct && !readable) {
    throw Error(ErrorCode::plan_value,
                fmt::format("{0}=direct needs {2} of unit stride, and the layout class of {0} is {1}. Use {0}={3}.",
                            operand, to_string(layout), operand == "a" ? "rows" : "rows or columns",
                            layout.unit == UnitAxis::none ? "gather" : "pack"));
  }
}

/// Everything about a request that does not hang on the tile the planner will choose.
void check_request(const Problem& problem, const PlanRequest& request, const CpuDescription& cpu, i64 threads,
                   i64 workspace_bytes) {
  check_extents_and_order(problem, request);
  if (threads < 0)
    throw Error(ErrorCode::problem, fmt::format("threads = {}: give 1 or more, or 0 for all cores.", threads));
  if (workspace_bytes < 0) {
    throw Error(ErrorCode::plan_value,
                fmt::format("the workspace budget is {} bytes: give 0 or more.", workspace_bytes));
  }
  if (request.warps.value_or(1) != 1) {
    unavailable(fmt::format("w{}: a CPU program is one thread; write w1 or leave the field out.", *request.warps));
  }
  if (request.teams.value_or(1) != 1) {
    unavailable(fmt::format("t{}: a CPU program is one thread; write t1 or leave the field out.", *request.teams));
  }
  if (request.packing) {
    unavailable(fmt::format("{} is the target cuda's, whose movers read operands as they lie. Use a=pack or b=pack.",
                            to_string(*request.packing)));
  }
  if (request.rest.value_or(Rest{}).any()) {
    unavailable(fmt::format("rest={} is the target cuda's, whose programs run in rounds. Leave the field out.",
                            to_string(*request.rest)));
  }
  if (request.cluster.value_or(1) != 1) {
    unavailable(fmt::format("c{}: a CPU program is one thread; write c1 or leave the field out.", *request.cluster));
  }
  if (request.stages.value_or(1) != 1) {
    unavailable(fmt::format("s{}: a CPU program has one block of K in flight; write s1 or leave the field out.",
                            *request.stages));
  }
  if (request.tile && std::ranges::find(tiles, *request.tile) == tiles.end()) {
    std::string at_hand;
    for (const TileShape& tile : tiles) at_hand += (at_hand.empty() ? "" : ", ") + text_of(tile);
    unavailable(fmt::format("the tile {} is not compiled in. Use one of {}.", text_of(*request.tile), at_hand));
  }
  if (request.mma && std::ranges::find(cpu.instruction_sets, *request.mma) == cpu.instruction_sets.end()) {
    std::string sets;
    for (const Mma mma : cpu.instruction_sets) sets += fmt::format("{}{}", sets.empty() ? "" : ", ", to_string(mma));
    unavailable(fmt::format("mma={} is not at hand on this CPU. It has {}.", to_string(*request.mma), sets));
  }
  if (request.mma && !multiplies(*request.mma, problem.input)) {
    unavailable(fmt::format("mma={} multiplies bf16 inputs alone, and these are {}. Use mma={}, or leave mma out.",
                            to_string(*request.mma), name_of(problem.input), to_string(widest_set(problem, cpu))));
  }
  check_mover(request.a, problem.a, "a");
  check_mover(request.b, problem.b, "b");
  if (request.split && request.split->kind == SplitKind::cluster) {
    unavailable(fmt::format("split={} is the target cuda's. Use split=split_k(S).", to_string(*request.split)));
  }
  if (request.split && request.split->kind == SplitKind::split_k) {
    if (request.split->parts < 1) {
      throw Error(ErrorCode::plan_value,
                  fmt::format("split=split_k({}): K has at least 1 part.", request.split->parts));
    }
    const i64 bk = request.tile ? request.tile->k : std::ranges::min(tiles, {}, &TileShape::k).k;
    if (has_work(problem) && request.split->parts > cdiv(problem.k, bk)) refuse_parts(problem, *request.split, bk);
    const i64 needed = workspace_of(problem, *request.split);
    if (!fits_budget(needed, workspace_bytes)) {
      throw Error(ErrorCode::workspace,
                  needed == beyond_63_bits
                      ? fmt::format("split_k({}) of a {}x{} result needs more than 2^63 bytes of workspace, which no "
                                    "budget allows. Use split=none.",
                                    request.split->parts, problem.m, problem.n)
                      : fmt::format("split_k({}) of a {}x{} result needs {} bytes of workspace, and the budget is {}. "
                                    "Raise the budget or use split=none.",
                                    request.split->parts, problem.m, problem.n, needed, workspace_bytes));
    }
  }
}

/// A compiled tile that does the same with less padding than tile number `tile`: no larger, and smaller only along axes
/// that it covers in one go itself. Nothing if there is none.
using Covers = std::array<Cover, tiles.size()>;
const TileShape* smaller_cover(std::size_t tile, const Covers& covers) {
  const TileShape& own = tiles[tile];
  for (std::size_t other = 0; other < covers.size(); ++other) {
    const TileShape& it = tiles[other];
    const auto covers_axis = [](i64 smaller, i64 larger, i64 count) {
      return smaller == larger || (smaller < larger && count <= 1);
    };
    if (other != tile && covers_axis(it.m, own.m, covers[other].rows) && covers_axis(it.n, own.n, covers[other].cols) &&
        covers_axis(it.k, own.k, covers[other].steps)) {
      return &it;
    }
  }
  return nullptr;
}

/// Calls visit(plan, rejection) for every split of K that is to be weighed for the plan's tile and order.
template <class Visit>
void for_each_split(const Problem& problem, const PlanRequest& request, const Cover& cover, i64 threads,
                    i64 workspace_bytes, Plan plan, Visit& visit) {
  if (request.split) {
    plan.split = *request.split;
    visit(plan, has_work(problem) && plan.split.parts > cover.steps ? Rejection::parts : Rejection::none);
    return;
  }
  visit(plan, Rejection::none);
  const double owned = static_cast<double>(cover.rows) * static_cast<double>(cover.cols);
  for (i64 before = 1; const i64 parts : searched_parts) {
    // More parts than it takes to occupy every thread only add to the sum at the end.
    if (owned == 0 || parts > cover.steps || owned * static_cast<double>(before) >= static_cast<double>(threads))
      return;
    plan.split = {SplitKind::split_k, parts};
    const bool fits = fits_budget(workspace_of(problem, plan.split), workspace_bytes);
    visit(plan, fits ? Rejection::none : Rejection::workspace);
    if (!fits) return;
    before = parts;
  }
}

/// Calls visit(plan, rejection) for every candidate. With nothing requested these are the compiled tiles, each with up
/// to 2 movers of B, 4 orders and 5 splits.
template <class Visit>
void for_each_candidate(const Problem& problem, const PlanRequest& request, const CpuDescription& cpu, i64 threads,
                        i64 workspace_bytes, Visit visit) {
  Covers covers;
  for (std::size_t i = 0; i < covers.size(); ++i) covers[i] = cover_of(problem, tiles[i]);
  const double k = static_cast<double>(problem.k), m = static_cast<double>(problem.m),
               n = static_cast<double>(problem.n);
  const bool inputs_fit_l3 =
      (m + n) * k * static_cast<double>(size_of(problem.input)) <= static_cast<double>(cpu.l3_bytes);

  Plan plan;
  plan.mma = request.mma.value_or(widest_set(problem, cpu));
  for (std::size_t i = 0; i < covers.size(); ++i) {
    plan.tile = tiles[i];
    if (request.tile && *request.tile != plan.tile) continue;
    const bool padded = !request.tile && smaller_cover(i, covers) != nullptr;
    for (const bool direct_b : {true, false}) {
      if (direct_b && (padded || request.b || !may_be_direct(problem, plan.tile))) continue;
      std::tie(plan.a, plan.b) = movers_of(problem, request, direct_b);
      plan.order = request.order.value_or(Order{});
      if (padded) {
        visit(plan, Rejection::padding);
        continue;
      }
      for_each_split(problem, request, covers[i], threads, workspace_bytes, plan, visit);
      // With one row of tiles every order is linear; with one column, or inputs that stay in the L3, none reads less
      // than linear.
      if (request.order || covers[i].cols <= 1 || inputs_fit_l3) continue;
      for (i64 before = 1; const i64 group : searched_groups) {
        if (before >= covers[i].rows) break;  // the group before holds all rows
        plan.order = {OrderKind::grouped, group};
        for_each_split(problem, request, covers[i], threads, workspace_bytes, plan, visit);
        before = group;
      }
    }
  }
}

std::string reason_of(Rejection rejection, const Plan& plan, const Problem& problem, i64 workspace_bytes) {
  if (rejection == Rejection::padding) {
    Covers covers;
    for (std::size_t i = 0; i < covers.size(); ++i) covers[i] = cover_of(problem, tiles[i]);
    const auto at = std::ranges::find(tiles, plan.tile) - tiles.begin();
    return fmt::format("{} does the same with less padding",
                       text_of(*smaller_cover(static_cast<std::size_t>(at), covers)));
  }
  if (rejection == Rejection::workspace) {
    const i64 needed = workspace_of(problem, plan.split);
    return fmt::format("split_k({}) needs {} bytes of workspace, the budget is {}", plan.split.parts,
                       needed == beyond_63_bits ? "more than 2^63" : with_separators(needed),
                       with_separators(workspace_bytes));
  }
  return fmt::format("{} parts, but K = {} has {} steps of {}", plan.split.parts, problem.k,
                     cdiv(problem.k, plan.tile.k), plan.tile.k);
}

/// One sentence on the choice, from the ranked candidates, best first.
std::string reason_of(const std::vector<Candidate>& candidates, std::size_t ranked, const Cost& cost, i64 threads) {
  const std::string on = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
  const std::string time = time_text(candidates[0].microseconds);
  if (ranked == 1)
    return fmt::format("the only candidate that the request and the problem leave, modelled at {} on {}.", time, on);
  const Plan &first = candidates[0].plan, &second = candidates[1].plan;
  std::string next = text_of(second.tile);
  if (first.tile == second.tile) {
    next = first.order != second.order   ? "another order"
           : first.split != second.split ? "another split of K"
                                         : "another mover of b";
  }
  return fmt::format("least modelled time of {} candidates: {} on {}, {:.0f} % of it multiplying; next is {} with {}.",
                     ranked, time, on, cost.total() > 0 ? 100 * cost.multiply / cost.total() : 0, next,
                     time_text(candidates[1].microseconds));
}

}  // namespace

i64 workspace_of(const Problem& problem, const Split& split) {
  if (split.kind != SplitKind::split_k) return 0;
  const Count bytes = product({split.parts, problem.m, problem.n, i64{sizeof(float)}});
  return bytes.fits ? bytes.exact : beyond_63_bits;
}

Cheapest cheapest_plan(const Problem& problem, const PlanRequest& request, const CpuDescription& cpu, i64 threads,
                       i64 workspace_bytes) {
  check_request(problem, request, cpu, threads, workspace_bytes);
  const i64 team = threads == 0 ? cpu.cores : threads;
  Cheapest best{{}, std::numeric_limits<double>::infinity(), 0};
  for_each_candidate(problem, request, cpu, team, workspace_bytes, [&](const Plan& plan, Rejection rejection) {
    if (rejection != Rejection::none) return;
    const double time = modelled_cost(problem, plan, cpu, team).total();
    if (time < best.microseconds)
      best = {plan, time, 0};  // the first of equals: small tiles and the linear order come first
  });
  best.workspace_bytes = workspace_of(problem, best.plan.split);
  return best;
}

}  // namespace plan

std::span<const TileShape> compiled_tiles() { return plan::tiles; }

PlanChoice choose_plan(const Problem& problem, const PlanRequest& request, const CpuDescription& cpu, i64 threads,
                       i64 workspace_bytes) {
  plan::check_request(problem, request, cpu, threads, workspace_bytes);
  const i64 team = threads == 0 ? cpu.cores : threads;
  std::vector<Candidate> ranked, rejected;
  plan::for_each_candidate(
      problem, request, cpu, team, workspace_bytes, [&](const Plan& plan, plan::Rejection rejection) {
        if (rejection == plan::Rejection::none) {
          ranked.push_back({plan, {}, plan::modelled_cost(problem, plan, cpu, team).total()});
        } else {
          rejected.push_back({plan, plan::reason_of(rejection, plan, problem, workspace_bytes), 0});
        }
      });
  std::ranges::stable_sort(ranked, {}, &Candidate::microseconds);

  PlanChoice choice;
  choice.plan = ranked.front().plan;
  choice.reason = plan::reason_of(ranked, ranked.size(), plan::modelled_cost(problem, choice.plan, cpu, team), team);
  choice.workspace_bytes = plan::workspace_of(problem, choice.plan.split);
  choice.candidates = std::move(ranked);
  std::ranges::move(rejected, std::back_inserter(choice.candidates));
  return choice;
}

}  // namespace tilewright
