// Lists of plans: what is in them is what a planner accepts, and nothing twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/candidates.hpp"
#include "tests/core/errors.hpp"

namespace {

using namespace tilewright;
using plan::Breadth;
using plan::GpuDescription;
using plan::list_gpu_plans;
using plan::list_plans;
using plan::ListedPlan;
using plan::PlanList;

constexpr GpuDescription large{132, 232448, true}, small{4, 49152};
constexpr LayoutClass along_k{UnitAxis::k, 16}, across{UnitAxis::mn, 16}, odd{UnitAxis::k, 2},
    stepped{UnitAxis::none, 2}, second{UnitAxis::none, 2, true, true, UnitAxis::mn};

Problem problem(LayoutClass a, LayoutClass b, DType type = DType::f16) {
  a.alignment = std::max(a.alignment, size_of(type));
  b.alignment = std::max(b.alignment, size_of(type));
  return {1000, 1001, 1002, type, type, a, b, across};
}
CpuDescription cpu() {
  CpuDescription description;
  description.mma = Mma::avx2;
  description.instruction_sets = {Mma::portable, Mma::avx2};
  return description;
}

bool any(const PlanList& list, const auto& predicate) {
  return std::ranges::any_of(list.plans, [&](const ListedPlan& one) { return predicate(one.plan); });
}

/// What holds of every list.
void expect_sound(const PlanList& list) {
  ASSERT_LT(list.chosen_at(), list.plans.size());
  EXPECT_TRUE(list.plans[list.chosen_at()].by_default);
  EXPECT_FALSE(list.reason.empty());
  EXPECT_TRUE(std::ranges::is_sorted(list.plans, {}, &ListedPlan::microseconds));
  std::set<std::string> texts;
  for (const ListedPlan& one : list.plans) {
    EXPECT_TRUE(texts.insert(to_string(one.plan)).second) << to_string(one.plan) << " is there twice";
    EXPECT_GT(one.microseconds, 0) << to_string(one.plan);
  }
  for (const Candidate& candidate : list.rejected) {
    EXPECT_FALSE(candidate.rejected.empty());
    EXPECT_FALSE(texts.contains(to_string(candidate.plan))) << to_string(candidate.plan) << " runs";
  }
}

TEST(GpuPlans, ByDefaultAreThePlannersOwnInItsOrder) {
  for (const LayoutClass& b : {along_k, across, odd, stepped}) {
    const Problem p = problem(along_k, b);
    const PlanList list = list_gpu_plans(p, {}, large, Breadth::by_default);
    const PlanChoice choice = choose_gpu_plan(p, {}, large);
    expect_sound(list);
    EXPECT_EQ(list.chosen, choice.plan);
    EXPECT_EQ(list.reason, choice.reason);
    EXPECT_EQ(list.chosen_at(), 0u);
    ASSERT_EQ(list.plans.size() + list.rejected.size(), choice.candidates.size());
    for (std::size_t i = 0; i < list.plans.size(); ++i) EXPECT_EQ(list.plans[i].plan, choice.candidates[i].plan);
  }
}

TEST(GpuPlans, EachOfAllIsWhatItsTextAsksFor) {
  for (const GpuDescription& gpu : {large, small}) {
    for (const auto& [a, b] : {std::pair{along_k, across},
                               {along_k, odd},
                               {odd, odd},
                               {odd, across},
                               {stepped, along_k},
                               {second, along_k}}) {
      for (const DType type : {DType::f16, DType::f32}) {
        const Problem p = problem(a, b, type);
        const PlanList list = list_gpu_plans(p, {}, gpu, Breadth::all);
        expect_sound(list);
        for (const ListedPlan& one : list.plans) {
          const PlanChoice choice = choose_gpu_plan(p, parse_plan(to_string(one.plan)), gpu);
          EXPECT_EQ(choice.plan, one.plan) << to_string(choice.plan) << "\n" << to_string(one.plan);
          EXPECT_EQ(choice.candidates[0].microseconds, one.microseconds) << to_string(one.plan);
          EXPECT_LE(plan::shared_bytes_of(p, one.plan), gpu.shared_bytes) << to_string(one.plan);
        }
      }
    }
  }
}

TEST(GpuPlans, RowsOfEverySecondElementAreSearchedBesideBoxes) {
  const PlanList list = list_gpu_plans(problem(second, along_k), {}, large, Breadth::all);
  const auto raw = [](const Plan& plan) { return plan.a == Mover::realign && plan.b == Mover::tma; };
  EXPECT_TRUE(raw(list.chosen));
  EXPECT_TRUE(any(list, [&](const Plan& plan) { return raw(plan) && plan.cluster == 1 && plan.stages == 3; }));
  EXPECT_TRUE(any(list, [&](const Plan& plan) { return raw(plan) && plan.tile.m == 64 && plan.teams == 1; }));
  EXPECT_TRUE(any(list, [](const Plan& plan) { return plan.a == Mover::gather; }));
}

TEST(GpuPlans, AllHasTheDefaultOnesAndMore) {
  const Problem p = problem(along_k, across);
  const PlanList few = list_gpu_plans(p, {}, large, Breadth::by_default),
                 all = list_gpu_plans(p, {}, large, Breadth::all);
  EXPECT_EQ(all.chosen, few.chosen);
  EXPECT_GT(all.plans.size(), 10 * few.plans.size());
  for (const ListedPlan& one : few.plans)
    EXPECT_NE(std::ranges::find(all.plans, one), all.plans.end()) << to_string(one.plan);
  EXPECT_EQ(std::ranges::count(all.plans, true, &ListedPlan::by_default), std::ssize(few.plans));
  for (const plan::GpuTile& entry : plan::gpu_tiles)
    EXPECT_TRUE(any(all, [&](const Plan& one) { return one.tile == entry.tile; }))
        << entry.tile.m << "x" << entry.tile.n;
  for (const i64 warps : {4, 8}) EXPECT_TRUE(any(all, [&](const Plan& one) { return one.warps == warps; })) << warps;
  for (const i64 teams : {1, 2}) {
    EXPECT_TRUE(any(all, [&](const Plan& one) { return one.a == Mover::tma && one.teams == teams; })) << teams;
  }
  for (const i64 stages : {2, 3, 4, 5, 6, 8, 12})
    EXPECT_TRUE(any(all, [&](const Plan& one) { return one.stages == stages; })) << stages;
  EXPECT_TRUE(any(all, [](const Plan& one) { return one.a == Mover::async_copy && one.mma == Mma::wgmma; }));
  EXPECT_TRUE(any(all, [](const Plan& one) { return one.mma == Mma::mma_sync; }));
  EXPECT_FALSE(any(all, [](const Plan& one) { return one.a == Mover::realign; })) << "all rows are aligned";
}

TEST(GpuPlans, MoversSuitTheLayouts) {
  const auto movers = [](LayoutClass a, LayoutClass b) {
    std::set<std::string> found;
    for (const ListedPlan& one : list_gpu_plans(problem(a, b), {}, large, Breadth::all).plans)
      found.insert(to_string(one.plan.a) + " " + to_string(one.plan.b));
    return found;
  };
  EXPECT_EQ(movers(along_k, across), (std::set<std::string>{"async_copy async_copy", "tma tma"}));
  EXPECT_EQ(movers(odd, odd), (std::set<std::string>{"realign realign", "realign tma", "tma realign"}));
  const LayoutClass odd_across{UnitAxis::mn, 2};
  EXPECT_EQ(movers(odd_across, odd_across), (std::set<std::string>{"realign realign", "realign tma"}));
  EXPECT_TRUE(movers(odd, across).contains("tma tma")) << "by classes of rows";
  EXPECT_TRUE(movers(odd_across, across).contains("realign tma"));
  const std::set<std::string> mixed = movers(odd, along_k);
  EXPECT_TRUE(mixed.contains("realign async_copy") && mixed.contains("realign realign"));
  EXPECT_TRUE(movers(stepped, stepped) == (std::set<std::string>{"gather gather"}));
}

TEST(GpuPlans, FieldsOfTheRequestAreInAllOfThem) {
  const PlanRequest request = parse_plan("128x128x64 a=tma s4 order=linear");
  const PlanList list = list_gpu_plans(problem(along_k, across), request, large, Breadth::all);
  expect_sound(list);
  EXPECT_GT(list.plans.size(), 1u);
  for (const ListedPlan& one : list.plans) {
    EXPECT_EQ(one.plan.tile, (TileShape{128, 128, 64}));
    EXPECT_EQ(one.plan.a, Mover::tma);
    EXPECT_EQ(one.plan.stages, 4);
    EXPECT_EQ(one.plan.order, Order{});
  }
  expect_error(ErrorCode::plan_unavailable, {"7x7x7"},
               [] { list_gpu_plans(problem(along_k, across), parse_plan("7x7x7"), large, Breadth::all); });
}

TEST(CpuPlans, ByDefaultAreThePlannersOwnInItsOrder) {
  const Problem p = problem(along_k, across);
  const PlanList list = list_plans(p, {}, cpu(), 2, 0, Breadth::by_default);
  const PlanChoice choice = choose_plan(p, {}, cpu(), 2, 0);
  expect_sound(list);
  EXPECT_EQ(list.chosen, choice.plan);
  ASSERT_EQ(list.plans.size() + list.rejected.size(), choice.candidates.size());
  for (std::size_t i = 0; i < list.plans.size(); ++i) EXPECT_EQ(list.plans[i].plan, choice.candidates[i].plan);
}

TEST(CpuPlans, EachOfAllIsWhatItsTextAsksFor) {
  for (const auto& [a, b] : {std::pair{along_k, across}, {across, along_k}, {stepped, odd}}) {
    const Problem p = problem(a, b);
    const PlanList few = list_plans(p, {}, cpu(), 2, 1 << 23, Breadth::by_default),
                   all = list_plans(p, {}, cpu(), 2, 1 << 23, Breadth::all);
    expect_sound(all);
    EXPECT_EQ(all.chosen, few.chosen);
    EXPECT_GT(all.plans.size(), few.plans.size());
    EXPECT_EQ(std::ranges::count(all.plans, true, &ListedPlan::by_default), std::ssize(few.plans));
    for (const TileShape& tile : compiled_tiles())
      EXPECT_TRUE(any(all, [&](const Plan& one) { return one.tile == tile; })) << tile.m << "x" << tile.n;
    for (const ListedPlan& one : all.plans) {
      const PlanChoice choice = choose_plan(p, parse_plan(to_string(one.plan)), cpu(), 2, 1 << 23);
      EXPECT_EQ(choice.plan, one.plan) << to_string(choice.plan) << "\n" << to_string(one.plan);
      EXPECT_EQ(choice.candidates[0].microseconds, one.microseconds) << to_string(one.plan);
    }
  }
}

TEST(CpuPlans, FieldsOfTheRequestAreInAllOfThem) {
  const PlanList list =
      list_plans(problem(along_k, across), parse_plan("b=pack order=linear mma=portable"), cpu(), 2, 0, Breadth::all);
  EXPECT_GT(list.plans.size(), compiled_tiles().size()) << "two movers of a";
  for (const ListedPlan& one : list.plans) {
    EXPECT_EQ(one.plan.b, Mover::pack);
    EXPECT_EQ(one.plan.mma, Mma::portable);
  }
  expect_error(ErrorCode::plan_unavailable, {"avx512"},
               [] { list_plans(problem(along_k, across), parse_plan("mma=avx512"), cpu(), 2, 0, Breadth::all); });
}

TEST(Plans, TheFirstAreKeptAndTheChosenOneIs) {
  PlanList list = list_gpu_plans(problem(along_k, across), {}, large, Breadth::all);
  const std::vector<ListedPlan> before = list.plans;
  const std::size_t at = list.chosen_at();
  list.keep_first(at + 3);
  EXPECT_EQ(list.plans, std::vector(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(at) + 3));
  list.plans = before;
  std::ranges::reverse(list.plans);
  const ListedPlan first = list.plans[0];
  list.keep_first(1);
  ASSERT_EQ(list.plans.size(), 2u);
  EXPECT_EQ(list.plans[0], first);
  EXPECT_EQ(list.plans[1].plan, list.chosen);
}

}  // namespace
