// The planner for GPUs, on devices that do not exist.
#include <gtest/gtest.h>

#include "plan/gpu_planner.hpp"
#include "tests/core/errors.hpp"

namespace {

using namespace tilewright;
using plan::choose_gpu_plan;
using plan::GpuDescription;

constexpr GpuDescription large{132, 232448}, small{4, 49152};
constexpr LayoutClass aligned{UnitAxis::k, 16}, odd{UnitAxis::k, 2}, stepped{UnitAxis::none, 2};

Problem problem(i64 m, i64 n, i64 k, LayoutClass a = aligned, LayoutClass b = aligned, DType type = DType::f16) {
  return {m, n, k, type, type, a, b, aligned};
}

TEST(GpuPlanner, MoversFollowTheLayouts) {
  const Plan chosen = choose_gpu_plan(problem(512, 512, 512, odd, stepped), {}, large).plan;
  EXPECT_EQ(chosen.a, Mover::realign);
  EXPECT_EQ(chosen.b, Mover::gather);
  EXPECT_EQ(choose_gpu_plan(problem(512, 512, 512), {}, large).plan.a, Mover::async_copy);
  EXPECT_EQ(plan::gpu_mover({UnitAxis::mn, 4}), Mover::async_copy);
}

TEST(GpuPlanner, InstructionsFollowTheType) {
  EXPECT_EQ(choose_gpu_plan(problem(64, 64, 64), {}, large).plan.mma, Mma::mma_sync);
  EXPECT_EQ(choose_gpu_plan(problem(64, 64, 64, aligned, aligned, DType::f32), {}, large).plan.mma, Mma::fma);
}

TEST(GpuPlanner, LargeProductsTakeLargeTilesAndFlatOnesFlatTiles) {
  const TileShape square = choose_gpu_plan(problem(8192, 8192, 8192), {}, large).plan.tile;
  EXPECT_GE(square.m * square.n, 128 * 128);
  EXPECT_EQ(choose_gpu_plan(problem(1, 8192, 8192), {}, large).plan.tile.m, 16);
}

TEST(GpuPlanner, EveryRankedPlanFitsTheDeviceAndItsTextParsesBack) {
  for (const GpuDescription& gpu : {large, small}) {
    for (const LayoutClass& a : {aligned, odd, stepped}) {
      const Problem p = problem(1000, 1001, 777, a, odd);
      const PlanChoice choice = choose_gpu_plan(p, {}, gpu);
      EXPECT_FALSE(choice.reason.empty());
      for (const Candidate& candidate : choice.candidates) {
        if (!candidate.rejected.empty()) continue;
        EXPECT_LE(plan::shared_bytes_of(candidate.plan, p.input), gpu.shared_bytes) << to_string(candidate.plan);
        EXPECT_GT(candidate.microseconds, 0);
        const PlanChoice again = choose_gpu_plan(p, parse_plan(to_string(candidate.plan)), gpu);
        EXPECT_EQ(again.plan, candidate.plan);
      }
    }
  }
}

TEST(GpuPlanner, StagesThatWereNotAskedForAreAsManyAsFit) {
  const Problem p = problem(4096, 4096, 4096, odd, odd);
  PlanRequest request = parse_plan("64x64x64");
  EXPECT_EQ(choose_gpu_plan(p, request, large).plan.stages, 3);
  EXPECT_EQ(choose_gpu_plan(p, request, {132, 100 << 10}).plan.stages, 2);
}

TEST(GpuPlanner, RefusesWhatNoGpuCanDoWithTheReason) {
  const auto refused = [](const char* text, ErrorCode code, const char* words,
                          const Problem& p = problem(512, 512, 512), const GpuDescription& gpu = large) {
    SCOPED_TRACE(text);
    expect_error(code, {words}, [&] { choose_gpu_plan(p, parse_plan(text), gpu); });
  };
  refused("8x8x8", ErrorCode::plan_unavailable, "Use one of 16x64x64");
  refused("64x64x64 w3", ErrorCode::plan_value, "1, 2, 4, 8 or 16 warps");
  refused("64x64x64 s17", ErrorCode::plan_value, "1 to 16 stages");
  refused("128x128x64 w1", ErrorCode::plan_unavailable, "512 accumulators a thread");
  refused("128x128x64 s16", ErrorCode::plan_unavailable, "bytes of shared memory");
  refused("split=split_k(2)", ErrorCode::plan_unavailable, "split=none");
  refused("a=pack", ErrorCode::plan_unavailable, "a=gather");
  refused("b=direct", ErrorCode::plan_unavailable, "b=direct is the target cpu's. Use b=gather");
  refused("b=async_copy", ErrorCode::plan_value, "Use b=realign", problem(512, 512, 512, aligned, odd));
  refused("b=realign", ErrorCode::plan_value, "Use b=gather", problem(512, 512, 512, aligned, stepped));
  refused("mma=avx2", ErrorCode::plan_unavailable, "Use mma=mma_sync");
  refused("mma=fma", ErrorCode::plan_unavailable, "Use mma=mma_sync");
  refused("", ErrorCode::problem, "M = -1", problem(-1, 2, 3));
  refused("", ErrorCode::plan_unavailable, "shared memory", problem(64, 64, 64), {1, 1024});
}

}  // namespace
