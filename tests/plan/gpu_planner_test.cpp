// The planner for GPUs, on devices that do not exist.
#include <gtest/gtest.h>

#include "plan/gpu_planner.hpp"
#include "tests/core/errors.hpp"

namespace {

using namespace tilewright;
using plan::choose_gpu_plan;
using plan::GpuDescription;

constexpr GpuDescription large{132, 232448, true}, small{4, 49152};
constexpr LayoutClass aligned{UnitAxis::k, 16}, odd{UnitAxis::k, 2}, stepped{UnitAxis::none, 2};

Problem problem(i64 m, i64 n, i64 k, LayoutClass a = aligned, LayoutClass b = aligned, DType type = DType::f16) {
  return {m, n, k, type, type, a, b, aligned};
}

TEST(GpuPlanner, MoversFollowTheLayouts) {
  const auto movers = [](LayoutClass a, LayoutClass b, const char* text = "") {
    const Plan chosen = choose_gpu_plan(problem(4096, 4096, 4096, a, b), parse_plan(text), large).plan;
    return std::pair{chosen.a, chosen.b};
  };
  EXPECT_EQ(movers(aligned, aligned), (std::pair{Mover::tma, Mover::tma}));
  EXPECT_EQ(movers(aligned, aligned, "mma=mma_sync"), (std::pair{Mover::async_copy, Mover::async_copy}));
  EXPECT_EQ(movers(odd, odd), (std::pair{Mover::realign, Mover::realign}));
  EXPECT_EQ(movers(odd, aligned), (std::pair{Mover::realign, Mover::async_copy}));
  EXPECT_EQ(movers(odd, aligned, "64x64x64"), (std::pair{Mover::realign, Mover::realign})) << "a kernel less";
  EXPECT_EQ(movers(odd, stepped), (std::pair{Mover::gather, Mover::gather}));
  EXPECT_EQ(movers(odd, stepped, "a=realign"), (std::pair{Mover::realign, Mover::gather}));
  EXPECT_EQ(plan::gpu_mover({UnitAxis::mn, 4}), Mover::async_copy);
}

TEST(GpuPlanner, CopiesOfBothOperandsAreWideIfBothAreAligned) {
  const auto bytes = [](i64 a, i64 b, const char* tile, DType type = DType::f16, DType output = DType::f16) {
    Problem p = problem(512, 512, 512, {UnitAxis::k, a}, {UnitAxis::mn, b}, type);
    p.output = output;
    return plan::copy_bytes(p, choose_gpu_plan(p, parse_plan(tile), large).plan);
  };
  EXPECT_EQ(bytes(16, 16, "64x64x64"), 16);
  EXPECT_EQ(bytes(16, 8, "64x64x64"), 4);
  EXPECT_EQ(bytes(16, 8, "128x128x64"), 4);
  EXPECT_EQ(bytes(4, 16, "128x128x64"), 4);
  EXPECT_EQ(bytes(16, 16, "64x64x64", DType::f16, DType::bf16), 4) << "a rare pair of types";
  EXPECT_EQ(bytes(16, 2, "128x128x64"), 0) << "movers differ";
}

TEST(GpuPlanner, DefaultPlansAreFewAndARequestGoesBeyondThem) {
  const auto tiles = [](const Problem& p, const GpuDescription& gpu) {
    std::vector<TileShape> ranked;
    for (const Candidate& candidate : choose_gpu_plan(p, {}, gpu).candidates) {
      if (candidate.rejected.empty()) ranked.push_back(candidate.plan.tile);
    }
    return ranked;
  };
  EXPECT_EQ(tiles(problem(512, 512, 512), large).size(), 5u);
  EXPECT_EQ(tiles(problem(512, 512, 512), small).size(), 2u) << "the large one does not fit there";
  EXPECT_EQ(tiles(problem(512, 512, 512, stepped), large), (std::vector<TileShape>{{64, 64, 64}}));
  EXPECT_EQ(tiles(problem(512, 512, 512), {4, 24000}), (std::vector<TileShape>{{64, 32, 32}}))
      << "no default plan fits this device";
  EXPECT_EQ(choose_gpu_plan(problem(512, 512, 512), parse_plan("64x32x32"), large).plan.tile, (TileShape{64, 32, 32}));
}

TEST(GpuPlanner, AlignedOperandsComeByTmaWhereItExists) {
  const auto mover = [](const Problem& p, const GpuDescription& gpu) { return choose_gpu_plan(p, {}, gpu).plan.a; };
  EXPECT_EQ(mover(problem(4096, 4096, 4096), large), Mover::tma);
  EXPECT_EQ(mover(problem(4096, 4096, 4096), small), Mover::async_copy);
  EXPECT_EQ(mover(problem(4096, 4096, 0), large), Mover::async_copy) << "nothing to make a map of";
  EXPECT_EQ(mover(problem(4096, 4096, i64{1} << 31), large), Mover::async_copy) << "coordinates have 32 bits";
  EXPECT_EQ(mover(problem(4096, 4096, 4096, {UnitAxis::k, 8}), large), Mover::async_copy);
  EXPECT_EQ(mover(problem(4096, 4096, 4096, {UnitAxis::k, 16, false}), large), Mover::async_copy) << "runs backward";
  EXPECT_EQ(mover(problem(64, 64, 64, aligned, aligned, DType::f32), large), Mover::async_copy);
  const Plan plan = choose_gpu_plan(problem(8192, 8192, 8192), parse_plan("128x128x64"), large).plan;
  EXPECT_EQ(to_string(plan), "128x128x64 w4 s6 t2 order=grouped(8) split=none a=tma b=tma mma=wgmma");
  EXPECT_EQ(choose_gpu_plan(problem(512, 512, 512), parse_plan("128x128x64 a=async_copy"), large).plan.b,
            Mover::async_copy);
}

TEST(GpuPlanner, InstructionsFollowTheType) {
  EXPECT_EQ(choose_gpu_plan(problem(512, 512, 512), {}, large).plan.mma, Mma::wgmma);
  EXPECT_EQ(choose_gpu_plan(problem(512, 512, 512), {}, small).plan.mma, Mma::mma_sync);
  EXPECT_EQ(choose_gpu_plan(problem(512, 512, 512), parse_plan("mma=mma_sync"), large).plan.mma, Mma::mma_sync);
  EXPECT_EQ(choose_gpu_plan(problem(512, 512, 512), parse_plan("64x64x64 w2"), large).plan.mma, Mma::mma_sync);
  Problem converting = problem(512, 512, 512);
  converting.output = DType::bf16;
  EXPECT_EQ(choose_gpu_plan(converting, {}, large).plan.mma, Mma::mma_sync) << "rare: no kernel of its own";
  EXPECT_EQ(choose_gpu_plan(converting, parse_plan("64x64x64"), large).plan.mma, Mma::wgmma);
  EXPECT_EQ(choose_gpu_plan(problem(64, 64, 64, aligned, aligned, DType::f32), {}, large).plan.mma, Mma::fma);
}

TEST(GpuPlanner, LargeProductsTakeLargeTilesAndFlatOnesFlatTiles) {
  const TileShape square = choose_gpu_plan(problem(8192, 8192, 8192), {}, large).plan.tile;
  EXPECT_GE(square.m * square.n, 128 * 128);
  EXPECT_EQ(choose_gpu_plan(problem(1, 28672, 4096), {}, large).plan.tile.m, 16);
  EXPECT_EQ(choose_gpu_plan(problem(8192, 8192, 8192), {}, large).plan.order, (Order{OrderKind::grouped, 8}));
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
  EXPECT_EQ(choose_gpu_plan(p, parse_plan("64x64x64 mma=mma_sync"), large).plan.stages, 2)
      << "settling takes one's room";
  PlanRequest request = parse_plan("64x64x128");
  EXPECT_EQ(choose_gpu_plan(p, request, large).plan.stages, 3);
  EXPECT_EQ(choose_gpu_plan(p, request, {132, 190 << 10}).plan.stages, 2);
}

TEST(GpuPlanner, RefusesWhatNoGpuCanDoWithTheReason) {
  const auto refused = [](const char* text, ErrorCode code, const char* words,
                          const Problem& p = problem(512, 512, 512), const GpuDescription& gpu = large) {
    SCOPED_TRACE(text);
    expect_error(code, {words}, [&] { choose_gpu_plan(p, parse_plan(text), gpu); });
  };
  refused("8x8x8", ErrorCode::plan_unavailable, "Use one of 16x64x64");
  refused("64x32x32 w3", ErrorCode::plan_value, "1, 2, 4, 8 or 16 warps");
  refused("64x32x32 s17", ErrorCode::plan_value, "1 to 16 stages");
  refused("128x128x64 w1", ErrorCode::plan_unavailable, "512 accumulators a thread");
  refused("128x128x64 s16", ErrorCode::plan_unavailable, "bytes of shared memory");
  refused("split=split_k(2)", ErrorCode::plan_unavailable, "split=none");
  refused("a=pack", ErrorCode::plan_unavailable, "a=gather");
  refused("b=direct", ErrorCode::plan_unavailable, "b=direct is the target cpu's. Use b=gather");
  refused("b=async_copy", ErrorCode::plan_value, "Use b=realign", problem(512, 512, 512, aligned, odd));
  refused("b=realign", ErrorCode::plan_value, "Use b=gather", problem(512, 512, 512, aligned, stepped));
  refused("128x128x64 a=tma", ErrorCode::plan_value, "a=tma does not suit", problem(512, 512, 512, odd));
  refused("64x32x32 a=tma b=tma", ErrorCode::plan_unavailable, "tma brings no blocks of this tile");
  refused("128x256x64 a=tma b=tma", ErrorCode::plan_unavailable, "extents below 2,147,483,648",
          problem(64, 64, i64{1} << 33));
  refused("128x256x64 a=tma b=tma", ErrorCode::plan_unavailable, "a K of 1 or more", problem(64, 64, 0));
  EXPECT_EQ(choose_gpu_plan(problem(130, 1000, 4096), parse_plan("a=tma b=tma"), large).plan.a, Mover::tma);
  refused("128x128x64 a=tma b=async_copy", ErrorCode::plan_unavailable, "both operands come by tma, or none");
  refused("128x128x64 a=tma b=tma mma=mma_sync", ErrorCode::plan_unavailable, "tma wants mma=wgmma");
  refused("128x128x64 t2 a=async_copy", ErrorCode::plan_unavailable, "t2 wants a=tma b=tma");
  refused("128x128x64 w8 t2", ErrorCode::plan_unavailable, "2 teams of 8 warps");
  refused("128x128x64 t3", ErrorCode::plan_value, "1 or 2 programs at once");
  refused("128x128x64 a=tma b=tma", ErrorCode::plan_unavailable, "", problem(512, 512, 512), small);
  refused("64x32x32 mma=wgmma", ErrorCode::plan_unavailable, "compute capability 9.0", problem(512, 512, 512), small);
  refused("16x64x64 mma=wgmma", ErrorCode::plan_unavailable, "a multiple of 64 rows");
  refused("mma=wgmma", ErrorCode::plan_unavailable, "Use mma=fma", problem(64, 64, 64, aligned, aligned, DType::f32));
  refused("mma=avx2", ErrorCode::plan_unavailable, "Use mma=mma_sync");
  refused("mma=fma", ErrorCode::plan_unavailable, "Use mma=mma_sync");
  refused("", ErrorCode::problem, "M = -1", problem(-1, 2, 3));
  refused("", ErrorCode::plan_unavailable, "shared memory", problem(64, 64, 64), {1, 1024});
}

}  // namespace
