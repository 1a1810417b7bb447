// Plans that leave the last rows or columns of C to a product of their own.
#include <gtest/gtest.h>

#include "plan/gpu_clusters.hpp"
#include "plan/gpu_model.hpp"
#include "plan/gpu_planner.hpp"
#include "plan/gpu_rest.hpp"
#include "tests/core/errors.hpp"

namespace {

using namespace tilewright;
using plan::choose_gpu_plan;

constexpr plan::GpuDescription h200{132, 232448, true};
constexpr LayoutClass along_k{UnitAxis::k, 16}, odd_k{UnitAxis::k, 2, true, false}, along_n{UnitAxis::mn, 16};

Problem problem(i64 m, i64 n, i64 k, LayoutClass a = along_k, LayoutClass b = along_k) {
  return {m, n, k, DType::f16, DType::f16, a, b, along_n};
}
Plan chosen(const Problem& p, std::string_view request = "") {
  return choose_gpu_plan(p, parse_plan(request), h200).plan;
}

// 17 x 33 tiles are 4.25 rounds of 132 multiprocessors; 16 x 33 are four, and one row is left.
TEST(GpuRest, ATileTooManyIsLeft) {
  const Problem odd = problem(4097, 4097, 4097, odd_k, odd_k);
  const Plan plan = chosen(odd);
  EXPECT_EQ(plan.rest, (Rest{RestKind::rows, 1})) << to_string(plan);
  EXPECT_EQ(plan::tile_rows(plan::without_rest(odd, plan.rest), plan) * plan::tile_cols(odd, plan), 4 * 132);
  EXPECT_EQ(chosen(odd, to_string(plan)), plan) << "a plan's text names it";
}

TEST(GpuRest, NoneIsLeftWhereItIsRefusedOrMoversAreNamedOrRoundsAreWhole) {
  const Problem odd = problem(4097, 4097, 4097, odd_k, odd_k);
  EXPECT_EQ(chosen(odd, "rest=none").rest, Rest{});
  EXPECT_EQ(chosen(odd, "a=tma b=realign").rest, Rest{});
  EXPECT_EQ(chosen(problem(8192, 8192, 8192)).rest, Rest{});
  EXPECT_EQ(chosen(problem(100, 100, 100)).rest, Rest{});
  EXPECT_EQ(choose_gpu_plan(odd, {}, {4, 49152}).plan.rest, Rest{}) << "programs do not run in rounds";
}

TEST(GpuRest, RestsLeaveWholeRoundsAndBeginAtLines) {
  int looked_at = 0;
  for (i64 m = 1000; m < 6000; m += 367) {
    for (i64 n = 1000; n < 9000; n += 731) {
      for (const LayoutClass& a : {along_k, odd_k}) {
        const Problem p = problem(m, n, 2048, a, odd_k);
        for (const Candidate& candidate : choose_gpu_plan(p, parse_plan("rest=none"), h200).candidates) {
          if (!candidate.rejected.empty() || !plan::boxed(candidate.plan)) continue;
          const i64 at_once = plan::programs_at_once(candidate.plan, h200);
          const i64 all = plan::tile_rows(p, candidate.plan) * plan::tile_cols(p, candidate.plan);
          for (const Rest& rest : plan::rests_of(p, candidate.plan, h200)) {
            const Problem own = plan::without_rest(p, rest);
            EXPECT_LE(plan::tile_rows(own, candidate.plan) * plan::tile_cols(own, candidate.plan),
                      all / at_once * at_once);
            EXPECT_EQ((rest.kind == RestKind::rows ? own.m : own.n) % 64, 0);
            EXPECT_TRUE(rest.count > 0 && own.m > 0 && own.n > 0) << to_string(rest);
            const Problem others = plan::rest_of(p, rest);
            EXPECT_EQ(rest.kind == RestKind::rows ? own.m + others.m : own.n + others.n,
                      rest.kind == RestKind::rows ? m : n);
            ++looked_at;
          }
        }
      }
    }
  }
  EXPECT_GT(looked_at, 500);
}

TEST(GpuRest, ARequestMayLeaveAnyRest) {
  const Problem p = problem(300, 200, 100);
  const PlanChoice choice = choose_gpu_plan(p, parse_plan("rest=cols(7)"), h200);
  EXPECT_EQ(choice.plan.rest, (Rest{RestKind::cols, 7}));
  for (const Candidate& candidate : choice.candidates) EXPECT_EQ(candidate.plan.rest, choice.plan.rest);
  EXPECT_EQ(choose_gpu_plan(p, parse_plan("rest=rows(298)"), h200, 1 << 30).plan.packing, Packing{});
  EXPECT_EQ(choose_gpu_plan(p, parse_plan("rest=rows(1)"), {4, 49152}).plan.rest, (Rest{RestKind::rows, 1}));
}

TEST(GpuRest, RejectedPlansHaveNoTime) {
  for (const Candidate& candidate :
       choose_gpu_plan(problem(300, 200, 100), parse_plan("w16 rest=rows(7)"), h200).candidates) {
    if (candidate.rejected.empty()) continue;
    const bool beyond = candidate.rejected.find("taken where it is asked for") != std::string::npos;
    EXPECT_EQ(candidate.microseconds > 0, beyond) << to_string(candidate.plan) << ": " << candidate.rejected;
  }
}

TEST(GpuRest, NoTileCountOverflows) {
  const i64 most = i64{1} << 62;
  EXPECT_EQ(chosen(problem(most, most, 1)).rest, Rest{});
}

TEST(GpuRest, RefusalsHaveTheNumbers) {
  const Problem p = problem(300, 200, 100);
  expect_error(ErrorCode::plan_value, {"rest=rows(300)", "C is 300x200", "leave it 2 or more"},
               [&] { chosen(p, "rest=rows(300)"); });
  expect_error(ErrorCode::plan_value, {"rest=cols(199)", "the columns before"}, [&] { chosen(p, "rest=cols(199)"); });
  for (const i64 count : {0, -5}) {
    PlanRequest request;
    request.rest = Rest{RestKind::rows, count};
    expect_error(ErrorCode::plan_value, {"a rest has 1 or more rows"}, [&] { choose_gpu_plan(p, request, h200); });
  }
  PlanRequest nothing_packed = parse_plan("rest=cols(1)");
  nothing_packed.packing = Packing{};
  EXPECT_EQ(choose_gpu_plan(p, nothing_packed, h200).plan, chosen(p, "rest=cols(1)"));
  expect_error(ErrorCode::plan_value, {"rest=cols(1) and pack(a)", "leave one out"},
               [&] { choose_gpu_plan(p, parse_plan("rest=cols(1) pack(a)"), h200, 1 << 30); });
}

}  // namespace
