// The planner: legal choices on every problem, refusals with their numbers, and a model that grows with the work.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <tilewright/error.hpp>
#include <tilewright/explain.hpp>
#include <tilewright/tile/cpu/kernels.hpp>

#include "plan/compiled_tiles.hpp"
#include "plan/planner.hpp"

namespace tilewright {
namespace {

/// A CPU of the tests' own invention.
CpuDescription invented_cpu() {
  CpuDescription cpu;
  cpu.cores = 8;
  cpu.l2_bytes = 1 << 20;
  cpu.l3_bytes = 32 << 20;
  cpu.mma = Mma::avx512;
  cpu.instruction_sets = {Mma::avx512, Mma::avx2, Mma::portable};
  return cpu;
}

Problem packed(i64 m, i64 n, i64 k) { return problem_of(m, n, k, DType::f16, DType::f16, {k, 1, n, 1, n, 1}); }

ErrorCode code_of(const Problem& problem, const char* plan, i64 workspace, std::string& message,
                  const CpuDescription& cpu = invented_cpu()) {
  try {
    choose_plan(problem, parse_plan(plan), cpu, 2, workspace);
  } catch (const Error& error) {
    message = error.what();
    return error.code();
  }
  ADD_FAILURE() << plan << " was accepted";
  return ErrorCode::target;
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(CompiledTiles, AreMultiplesOf16AndDistinct) {
  const auto tiles = compiled_tiles();
  ASSERT_EQ(tiles.size(), plan::tiles.size());
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_TRUE(tiles[i].m % 16 == 0 && tiles[i].n % 16 == 0 && tiles[i].k % 16 == 0) << i;
    EXPECT_GT(std::min({tiles[i].m, tiles[i].n, tiles[i].k}), 0) << i;
    EXPECT_EQ(std::ranges::count(tiles, tiles[i]), 1) << i;
  }
  EXPECT_EQ(std::ranges::count(tiles, TileShape{64, 32, 32}), 1);
}

TEST(ChoosePlan, RequestedFieldsAreKept) {
  const PlanRequest request = parse_plan("64x32x32 order=grouped(3) split=split_k(2) a=gather b=pack mma=avx2");
  const PlanChoice choice = choose_plan(packed(130, 70, 65), request, invented_cpu(), 2, 1 << 20);
  EXPECT_EQ(to_string(choice.plan), "64x32x32 w1 s1 order=grouped(3) split=split_k(2) a=gather b=pack mma=avx2");
  EXPECT_EQ(choice.workspace_bytes, 2 * 130 * 70 * 4);
  EXPECT_EQ(choice.candidates.size(), 1u);
}

TEST(ChoosePlan, ChosenIsTheFirstCandidateAndRejectedOnesComeLastWithReasons) {
  const PlanChoice choice = choose_plan(packed(130, 70, 65), {}, invented_cpu(), 8, 0);
  ASSERT_FALSE(choice.candidates.empty());
  EXPECT_EQ(choice.candidates.front().plan, choice.plan);
  double before = 0;
  bool rejected_seen = false;
  for (const Candidate& candidate : choice.candidates) {
    if (!candidate.rejected.empty()) {
      rejected_seen = true;
      EXPECT_EQ(candidate.rejected.find('\n'), std::string::npos);
      continue;
    }
    EXPECT_FALSE(rejected_seen) << "a ranked candidate behind a rejected one";
    EXPECT_GE(candidate.microseconds, before);
    before = candidate.microseconds;
  }
  EXPECT_TRUE(rejected_seen);
  EXPECT_FALSE(choice.reason.empty());
}

TEST(ChoosePlan, MoversFollowTheLayout) {
  const Problem gathered = problem_of(100, 100, 100, DType::f16, DType::f16, {200, 2, 1, 100, 100, 1});
  const Plan plan = choose_plan(gathered, {}, invented_cpu(), 1, 0).plan;
  EXPECT_EQ(plan.a, Mover::gather);
  EXPECT_EQ(plan.b, Mover::pack);
}

TEST(ChoosePlan, OperandsAreMultipliedWhereTheyLie) {
  const auto movers = [](const Problem& problem) {
    const Plan plan = choose_plan(problem, {}, invented_cpu(), 1, 0).plan;
    return std::pair{plan.a, plan.b};
  };
  EXPECT_EQ(movers(packed(1, 4096, 4096)), std::pair(Mover::pack, Mover::direct));
  EXPECT_EQ(movers(packed(16, 4096, 4096)), std::pair(Mover::pack, Mover::direct));
  EXPECT_EQ(movers(packed(cpu::most_direct_rows, 4096, 4096)), std::pair(Mover::pack, Mover::direct));
  EXPECT_EQ(movers(packed(cpu::most_direct_rows + 1, 4096, 4096)), std::pair(Mover::direct, Mover::pack));
  EXPECT_EQ(movers(packed(4096, 16, 4096)), std::pair(Mover::direct, Mover::pack));
  EXPECT_EQ(movers(packed(1001, 1001, 1001)), std::pair(Mover::direct, Mover::pack));
  const Problem b_transposed = problem_of(1, 4096, 4096, DType::f16, DType::f16, {4096, 1, 1, 4096, 4096, 1});
  const Problem stepped = problem_of(1, 4096, 4096, DType::f16, DType::f16, {4096, 1, 8192, 2, 4096, 1});
  EXPECT_EQ(movers(b_transposed), std::pair(Mover::pack, Mover::direct));
  const Problem transposed = problem_of(1001, 1001, 1001, DType::f16, DType::f16, {1, 1001, 1001, 1, 1001, 1});
  EXPECT_EQ(movers(transposed), std::pair(Mover::pack, Mover::pack));
  EXPECT_EQ(movers(stepped).second, Mover::gather);
  const auto refused = [](const Problem& problem, const char* text) {
    try {
      choose_plan(problem, parse_plan(text), invented_cpu(), 1, 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::plan_value);
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  EXPECT_EQ(refused(stepped, "b=direct"),
            "b=direct needs rows or columns of unit stride, and the layout class of b is unit=none align=4 "
            "every-second=mn. Use "
            "b=gather.");
  const Problem a_transposed = problem_of(100, 100, 100, DType::f16, DType::f16, {1, 100, 100, 1, 100, 1});
  EXPECT_EQ(refused(a_transposed, "a=direct"),
            "a=direct needs rows of unit stride, and the layout class of a is unit=mn align=8. Use a=pack.");
  EXPECT_EQ(choose_plan(packed(100, 100, 100), parse_plan("a=direct b=direct"), invented_cpu(), 1, 0).plan.b,
            Mover::direct);
}

TEST(ChoosePlan, WidestInstructionSetUnlessRequested) {
  EXPECT_EQ(choose_plan(packed(64, 64, 64), {}, invented_cpu(), 1, 0).plan.mma, Mma::avx512);
  EXPECT_EQ(choose_plan(packed(64, 64, 64), parse_plan("mma=portable"), invented_cpu(), 1, 0).plan.mma, Mma::portable);
}

TEST(ChoosePlan, Bf16DotProductsForBf16InputsAlone) {
  CpuDescription cpu = invented_cpu();
  cpu.mma = Mma::avx512_bf16;
  cpu.instruction_sets.insert(cpu.instruction_sets.begin(), Mma::avx512_bf16);
  for (const DType input : {DType::f16, DType::bf16, DType::f32}) {
    const Problem problem = problem_of(64, 64, 64, input, DType::bf16, {64, 1, 64, 1, 64, 1});
    const Mma widest = input == DType::bf16 ? Mma::avx512_bf16 : Mma::avx512;
    EXPECT_EQ(choose_plan(problem, {}, cpu, 1, 0).plan.mma, widest);
    EXPECT_EQ(plan::cheapest_plan(problem, {}, cpu, 1, 0).plan.mma, widest);
    EXPECT_EQ(choose_plan(problem, parse_plan("mma=avx512"), cpu, 1, 0).plan.mma, Mma::avx512);
    if (input == DType::bf16) continue;
    std::string message;
    EXPECT_EQ(code_of(problem, "mma=avx512_bf16", 0, message, cpu), ErrorCode::plan_unavailable);
    EXPECT_TRUE(holds(message, "bf16 inputs alone") && holds(message, "Use mma=avx512,")) << message;
    EXPECT_TRUE(holds(message, std::string(name_of(input)).c_str())) << message;
  }
}

TEST(ChoosePlan, GroupsWhenBDoesNotStayInTheL3) {
  const PlanChoice large = choose_plan(packed(8192, 65536, 256), {}, invented_cpu(), 8, 0);
  EXPECT_EQ(large.plan.order.kind, OrderKind::grouped) << to_string(large.plan);
  const PlanChoice small = choose_plan(packed(1000, 1000, 1000), {}, invented_cpu(), 8, 0);
  EXPECT_EQ(small.plan.order, Order{}) << to_string(small.plan);
}

TEST(ChoosePlan, SplitsKOnlyWithABudgetAndAnIdleThread) {
  const Problem deep = packed(64, 64, 65536);
  EXPECT_EQ(choose_plan(deep, {}, invented_cpu(), 8, 0).plan.split, Split{});
  const PlanChoice split = choose_plan(deep, {}, invented_cpu(), 8, 1 << 20);
  EXPECT_EQ(split.plan.split.kind, SplitKind::split_k) << to_string(split.plan);
  EXPECT_EQ(split.workspace_bytes, split.plan.split.parts * 64 * 64 * 4);
  EXPECT_LE(split.workspace_bytes, 1 << 20);
  EXPECT_EQ(choose_plan(packed(4096, 4096, 4096), {}, invented_cpu(), 8, i64{1} << 40).plan.split, Split{});
  EXPECT_EQ(choose_plan(deep, {}, invented_cpu(), 1, 1 << 20).plan.split, Split{});
}

TEST(ChoosePlan, RefusesWithTheNumbers) {
  std::string message;
  const Problem problem = packed(130, 70, 65);
  EXPECT_EQ(code_of(problem, "w2", 0, message), ErrorCode::plan_unavailable);
  EXPECT_TRUE(holds(message, "w2") && holds(message, "a CPU program is one thread")) << message;
  EXPECT_EQ(code_of(problem, "s3", 0, message), ErrorCode::plan_unavailable);
  EXPECT_TRUE(holds(message, "s3")) << message;
  EXPECT_EQ(code_of(problem, "64x64x32", 0, message), ErrorCode::plan_unavailable);
  EXPECT_TRUE(holds(message, "64x64x32") && holds(message, "64x64x64")) << message;
  CpuDescription plain = invented_cpu();
  plain.mma = Mma::portable;
  plain.instruction_sets = {Mma::portable};
  EXPECT_EQ(code_of(problem, "mma=avx512", 0, message, plain), ErrorCode::plan_unavailable);
  EXPECT_TRUE(holds(message, "avx512") && holds(message, "portable")) << message;
  EXPECT_EQ(code_of(problem, "64x32x32 split=cluster(2)", 1 << 30, message), ErrorCode::plan_unavailable);
  EXPECT_NE(message.find("split=cluster(2) is the target cuda's. Use split=split_k(S)"), std::string::npos) << message;
  EXPECT_EQ(code_of(problem, "64x32x32 rest=rows(2)", 0, message), ErrorCode::plan_unavailable);
  EXPECT_NE(message.find("rest=rows(2) is the target cuda's"), std::string::npos) << message;
  EXPECT_EQ(code_of(problem, "64x32x32 split=split_k(4)", 1 << 30, message), ErrorCode::plan_value);
  EXPECT_TRUE(holds(message, "split_k(4)") && holds(message, "K = 65") && holds(message, "at most 3")) << message;
  EXPECT_EQ(code_of(problem, "64x32x32 split=split_k(3)", 109199, message), ErrorCode::workspace);
  EXPECT_TRUE(holds(message, "109200") && holds(message, "109199")) << message;
  EXPECT_EQ(code_of(problem, "split=split_k(6)", 1 << 30, message), ErrorCode::plan_value);
  const Problem gathered = problem_of(10, 10, 10, DType::f16, DType::f16, {40, 2, 20, 2, 10, 1});
  EXPECT_EQ(code_of(gathered, "a=pack", 0, message), ErrorCode::plan_value);
  EXPECT_TRUE(holds(message, "a=pack") && holds(message, "a=gather")) << message;
  EXPECT_EQ(code_of(gathered, "b=pack", 0, message), ErrorCode::plan_value);
  EXPECT_TRUE(holds(message, "b=pack")) << message;
  Problem negative = problem;
  negative.n = -3;
  EXPECT_EQ(code_of(negative, "", 0, message), ErrorCode::problem);
  EXPECT_TRUE(holds(message, "-3")) << message;
  PlanRequest no_group;
  no_group.order = Order{OrderKind::grouped, 0};
  EXPECT_THROW(choose_plan(problem, no_group, invented_cpu(), 1, 0), Error);
  PlanRequest no_parts;
  no_parts.split = Split{SplitKind::split_k, 0};
  EXPECT_THROW(choose_plan(problem, no_parts, invented_cpu(), 1, 0), Error);
}

TEST(ChoosePlan, WorkspaceThatPasses63BitsIsRefused) {
  std::string message;
  EXPECT_EQ(
      code_of(packed(i64{1} << 40, i64{1} << 40, 64), "split=split_k(2)", std::numeric_limits<i64>::max() - 1, message),
      ErrorCode::workspace);
}

TEST(ChoosePlan, AWorkspaceThatCannotBeCountedIsSaidToBeSo) {
  constexpr i64 most = std::numeric_limits<i64>::max();
  const Problem problem = packed(i64{1} << 32, i64{1} << 32, i64{1} << 32);
  std::string message;
  for (const i64 budget : {i64{0}, most}) {
    EXPECT_EQ(code_of(problem, "split=split_k(3)", budget, message), ErrorCode::workspace);
    EXPECT_NE(message.find("more than 2^63 bytes"), std::string::npos) << message;
    EXPECT_EQ(message.find("9223372036854775807"), std::string::npos) << message;
  }
}

TEST(ChoosePlan, ANegativeWorkspaceIsRefused) {
  std::string message;
  EXPECT_EQ(code_of(packed(130, 70, 65), "", -1, message), ErrorCode::plan_value);
  EXPECT_NE(message.find("-1"), std::string::npos) << message;
  EXPECT_THROW(plan::cheapest_plan(packed(130, 70, 65), {}, invented_cpu(), 1, -1), Error);
}

TEST(ChoosePlan, EmptyProblemsHaveALegalPlan) {
  for (const auto& [m, n, k] : {std::array<i64, 3>{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {0, 0, 0}}) {
    for (const i64 workspace : {i64{0}, i64{1} << 30}) {
      const PlanChoice choice = choose_plan(packed(m, n, k), {}, invented_cpu(), 4, workspace);
      EXPECT_EQ(choice.plan.split, Split{}) << m << " " << n << " " << k;
      EXPECT_EQ(std::ranges::count(compiled_tiles(), choice.plan.tile), 1);
      EXPECT_EQ(
          choose_plan(packed(m, n, k), parse_plan("split=split_k(1)"), invented_cpu(), 4, 1 << 20).plan.split.parts, 1);
    }
  }
}

TEST(ChoosePlan, ThreadsOfZeroAreAllCores) {
  const Problem problem = packed(500, 500, 500);
  const CpuDescription cpu = invented_cpu();
  EXPECT_EQ(choose_plan(problem, {}, cpu, 0, 0).candidates[0].microseconds,
            choose_plan(problem, {}, cpu, cpu.cores, 0).candidates[0].microseconds);
}

// Dimensions at which a 32-bit product of two wraps, and the one at which a 64-bit product of two does.
constexpr i64 large_extents[] = {16383, 16384, 32769, i64{1} << 20, i64{1} << 40};

TEST(Model, PositiveAndFiniteAtLargeExtents) {
  for (const i64 extent : large_extents) {
    const PlanChoice choice = choose_plan(packed(extent, extent, extent), {}, invented_cpu(), 8, 0);
    for (const Candidate& candidate : choice.candidates) {
      if (!candidate.rejected.empty()) continue;
      EXPECT_TRUE(candidate.microseconds > 0 && std::isfinite(candidate.microseconds))
          << extent << " " << to_string(candidate.plan);
    }
  }
}

TEST(Model, GrowsWithEveryDimension) {
  const CpuDescription cpu = invented_cpu();
  std::vector<i64> extents = {1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300, 511, 512, 513, 1000, 1001};
  extents.insert(extents.end(), std::begin(large_extents), std::end(large_extents));
  for (const i64 threads : {1, 2, 8}) {
    for (const i64 second : extents) {
      for (const i64 third : {i64{1}, i64{65}, i64{4096}, i64{1} << 20}) {
        double best[3] = {};
        std::array<std::array<double, plan::tiles.size()>, 3> fixed{};
        for (const i64 extent : extents) {
          const Problem problems[3] = {packed(extent, second, third), packed(third, extent, second),
                                       packed(second, third, extent)};
          for (std::size_t axis = 0; axis < 3; ++axis) {
            const double time = plan::cheapest_plan(problems[axis], {}, cpu, threads, 0).microseconds;
            ASSERT_GT(time, 0);
            ASSERT_GE(time, best[axis] * (1 - 1e-12)) << "axis " << axis << " at " << extent << ", others " << second
                                                      << " " << third << ", threads " << threads;
            best[axis] = time;
            for (std::size_t i = 0; i < plan::tiles.size(); ++i) {
              Plan plan;
              plan.tile = plan::tiles[i];
              plan.order = {OrderKind::grouped, 4};
              const double cost = plan::modelled_cost(problems[axis], plan, cpu, threads).total();
              ASSERT_GE(cost, fixed[axis][i] * (1 - 1e-12)) << "axis " << axis << " at " << extent << " tile " << i;
              fixed[axis][i] = cost;
            }
          }
        }
      }
    }
  }
}

TEST(Model, MoreThreadsNeverCostMoreThanTheTeam) {
  const Problem problem = packed(1001, 1001, 1001);
  Plan plan;
  plan.tile = {128, 128, 128};
  const CpuDescription cpu = invented_cpu();
  double before = std::numeric_limits<double>::infinity();
  for (const i64 threads : {1, 2, 3, 4, 8, 64, 1000}) {
    const double time = plan::modelled_cost(problem, plan, cpu, threads).total();
    EXPECT_LE(time, before + plan::cpu_rates.team_us) << threads;
    before = time;
  }
}

TEST(Model, WorkedExampleOfTheDocumentation) {
  // docs/plans.md works this one through with a pencil.
  Plan plan;
  plan.tile = {64, 32, 32};
  plan.mma = Mma::avx512;
  const plan::Cost cost = plan::modelled_cost(packed(130, 70, 65), plan, invented_cpu(), 1);
  EXPECT_NEAR(cost.multiply, 10.377, 5e-3);
  EXPECT_NEAR(cost.pack, 9.967, 5e-3);
  EXPECT_NEAR(cost.accumulator, 2.275, 5e-3);
  EXPECT_NEAR(cost.store, 0.758, 5e-3);
  EXPECT_NEAR(cost.start, 2.25, 5e-3);
  EXPECT_NEAR(cost.memory, 1.768, 5e-3);
  EXPECT_EQ(cost.reduce, 0);
  EXPECT_NEAR(cost.total(), 27.395, 1e-2);
}

TEST(Model, BusiestThreadGetsItsWholeTiles) {
  Plan plan;
  plan.tile = {256, 256, 256};
  const auto outputs = [&](i64 m, i64 n, i64 threads) {
    return plan::busiest_share(packed(m, n, 64), plan, threads).outputs;
  };
  EXPECT_EQ(outputs(1001, 1001, 1), 1001.0 * 1001);  // everything, no padding
  EXPECT_EQ(outputs(768, 256, 2), 2 * 65536.0);      // three tiles on two threads
  EXPECT_EQ(outputs(257, 256, 2), 65536.0);          // a whole tile and a sliver
  EXPECT_EQ(outputs(100, 100, 8), 10000.0);          // one program cannot be shared
  const plan::Share share = plan::busiest_share(packed(1001, 700, 64), plan, 1);
  EXPECT_EQ(share.a_rows, 3 * 1001);  // A is packed once for each column of tiles
  EXPECT_EQ(share.b_cols, 4 * 700);
}

TEST(CheapestPlan, AgreesWithChoosePlan) {
  EXPECT_TRUE(rc::check("the operator's choice is explain's choice", [] {
    const auto extent = [] {
      return *rc::gen::oneOf(rc::gen::inRange<i64>(0, 70), rc::gen::inRange<i64>(0, 3000),
                             rc::gen::inRange<i64>(0, 100000));
    };
    const Problem problem = packed(extent(), extent(), extent());
    const i64 threads = *rc::gen::inRange<i64>(0, 65), workspace = *rc::gen::element<i64>(0, 1 << 16, 1 << 30);
    const PlanChoice choice = choose_plan(problem, {}, invented_cpu(), threads, workspace);
    const plan::Cheapest cheapest = plan::cheapest_plan(problem, {}, invented_cpu(), threads, workspace);
    RC_ASSERT(cheapest.plan == choice.plan);
    RC_ASSERT(cheapest.workspace_bytes == choice.workspace_bytes);
    RC_ASSERT(cheapest.microseconds == choice.candidates.front().microseconds);
    RC_ASSERT(choice.workspace_bytes <= workspace);
    RC_ASSERT(choice.plan.split.parts <= std::max<i64>(1, cdiv(problem.k, choice.plan.tile.k)));
  }));
}

}  // namespace
}  // namespace tilewright
