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
// The other way round: a stored transposed, b by rows.
constexpr LayoutClass across{UnitAxis::mn, 16}, odd_across{UnitAxis::mn, 2};

Problem problem(i64 m, i64 n, i64 k, LayoutClass a = aligned, LayoutClass b = aligned, DType type = DType::f16) {
  return {m, n, k, type, type, a, b, across};
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
  EXPECT_EQ(tiles(problem(512, 512, 512), small).size(), 3u);
  EXPECT_EQ(tiles(problem(512, 512, 512, stepped), large), (std::vector<TileShape>{{64, 64, 64}}));
  EXPECT_EQ(tiles(problem(512, 512, 512), {4, 24000}), (std::vector<TileShape>{{64, 32, 32}}))
      << "no default plan fits this device";
  EXPECT_EQ(choose_gpu_plan(problem(512, 512, 512), parse_plan("64x32x32"), large).plan.tile, (TileShape{64, 32, 32}));
}

TEST(GpuPlanner, OperandsArePackedUnderABudgetAlone) {
  constexpr LayoutClass odd_m{UnitAxis::mn, 2, true, false};  // beside odd_across: rows of K in phases
  const Problem p = problem(4096, 4095, 4097, odd_m, odd_across);
  // Rows of 4096 and of 4095 elements, 64 rounded up, in each of 4097: 2 bytes an element.
  constexpr i64 of_a = i64{4097} * 4096 * 2, of_b = i64{4097} * 4096 * 2;
  const auto chosen = [&](std::string_view text, i64 workspace) {
    return choose_gpu_plan(p, parse_plan(text), large, workspace);
  };
  EXPECT_EQ(plan::packed_bytes(p, {true, false}), of_a);
  EXPECT_EQ(plan::packed_bytes(p, {true, true}), of_a + of_b);
  EXPECT_EQ(chosen("", 0).plan.packing, Packing{});
  EXPECT_EQ(chosen("", of_a - 1).plan.packing, Packing{}) << "a byte is missing";
  const PlanChoice both = chosen("", of_a + of_b);
  EXPECT_EQ(both.plan.packing, (Packing{true, true}));
  EXPECT_EQ(both.workspace_bytes, of_a + of_b);
  EXPECT_EQ(to_string(both.plan).substr(to_string(both.plan).size() - 9), "pack(a,b)");
  EXPECT_NE(both.reason.find(" bytes of workspace hold copies"), std::string::npos) << both.reason;
  EXPECT_EQ(both.plan.a, Mover::tma);
  EXPECT_EQ(chosen("a=realign b=tma", of_a + of_b).plan.packing, Packing{}) << "movers are named";
  EXPECT_EQ(chosen("pack(b)", of_b).plan.packing, (Packing{false, true}));
  EXPECT_EQ(choose_gpu_plan(p, parse_plan(to_string(both.plan)), large, of_a + of_b).plan, both.plan);
  expect_error(ErrorCode::workspace, {"packing a and b takes 67,125,248 bytes", "the budget is 0"},
               [&] { chosen("pack(a,b)", 0); });
  expect_error(ErrorCode::plan_value, {"the workspace budget is -1 bytes"}, [&] { chosen("", -1); });
  expect_error(ErrorCode::plan_unavailable, {"pack(b) wants an axis of unit stride"},
               [&] { choose_gpu_plan(problem(64, 64, 64, aligned, stepped), parse_plan("pack(b)"), large, 1 << 20); });
  EXPECT_EQ(choose_gpu_plan(problem(4096, 4096, 4096), {}, large, i64{1} << 40).plan.packing, Packing{})
      << "boxes bring them as they lie";
  EXPECT_EQ(choose_gpu_plan(problem(i64{1} << 40, 64, i64{1} << 40, odd), {}, large, i64{1} << 40).plan.packing,
            Packing{});
}

TEST(GpuPlanner, BlocksWorkInPairsWhereRowsBeginInsideOfLinesAndTilesAreEven) {
  constexpr LayoutClass split_k{UnitAxis::k, 16, true, false}, split_n{UnitAxis::mn, 16, true, false};
  const auto cluster = [](const Problem& p, std::string_view request = "") {
    return choose_gpu_plan(p, parse_plan(request), large).plan.cluster;
  };
  EXPECT_EQ(cluster(problem(4096, 4096, 4096)), 1) << "rows are whole lines";
  EXPECT_EQ(cluster(problem(4096, 4096, 4096, split_k, split_n)), 2);
  EXPECT_EQ(cluster(problem(4096, 4096, 4096, aligned, split_n)), 2);
  EXPECT_EQ(cluster(problem(4000, 4096, 4096, split_k), "128x128x64"), 2) << "32 rows of tiles";
  EXPECT_EQ(cluster(problem(4100, 4096, 4096, split_k), "128x128x64"), 1) << "33 rows of tiles";
  EXPECT_EQ(cluster(problem(4096, 4096, 4096, split_k, split_n), "order=linear"), 1) << "neighbours are side by side";
  EXPECT_EQ(cluster(problem(4096, 4096, 4096, split_k, split_n), "order=grouped(3)"), 1);
  EXPECT_EQ(cluster(problem(4096, 4096, 4096, split_k, split_n), "c1"), 1);
  EXPECT_EQ(cluster(problem(4096, 4096, 4096), "c2"), 2);
  // Rows of A by classes: pairs are of one class. B raw is the left operand: pairs are side by side in C.
  constexpr LayoutClass odd_k{UnitAxis::k, 2, true, false}, odd_n{UnitAxis::mn, 2, true, false};
  EXPECT_EQ(cluster(problem(2048, 4096, 512, odd_k, across), "128x128x64"), 2) << "two tiles in each of eight classes";
  EXPECT_EQ(cluster(problem(2200, 4096, 512, odd_k, across), "128x128x64"), 1) << "three";
  EXPECT_EQ(cluster(problem(4100, 4096, 512, aligned, odd_n), "256x128x64"), 2);
  EXPECT_EQ(cluster(problem(4100, 4000, 512, aligned, odd_n), "256x128x64"), 2) << "32 columns of tiles";
  EXPECT_EQ(cluster(problem(4096, 4100, 512, aligned, odd_n), "256x128x64"), 1) << "33";
}

TEST(GpuPlanner, TheBlocksOfAClusterShareTheStepsOfFewPrograms) {
  const auto parts = [](const Problem& p, std::string_view request = "64x64x64", const GpuDescription& gpu = large) {
    const PlanChoice choice = choose_gpu_plan(p, parse_plan(request), gpu);
    EXPECT_EQ(choice.workspace_bytes, 0);
    EXPECT_EQ(choice.plan.split.parts > 1, choice.plan.split.kind == SplitKind::cluster);
    return choice.plan.split.parts;
  };
  EXPECT_EQ(parts(problem(64, 64, 65536)), 16);
  EXPECT_EQ(parts(problem(256, 256, 16384)), 4) << "of 16 clusters of 8 an H200 takes 15 at once";
  EXPECT_EQ(parts(problem(64, 4096, 4096)), 2) << "64 programs";
  EXPECT_EQ(parts(problem(64, 8192, 4096)), 1) << "128";
  EXPECT_EQ(parts(problem(64, 64, 65536), "64x64x64 split=none"), 1);
  EXPECT_EQ(parts(problem(64, 64, 65536), "64x64x64 split=cluster(4)"), 4);
  EXPECT_EQ(parts(problem(64, 64, 65536), "64x64x64 a=async_copy"), 1);
  EXPECT_EQ(parts(problem(64, 64, 65536), "64x64x64", small), 1) << "clusters are Hopper's";
  EXPECT_EQ(parts(problem(64, 64, 256)), 1) << "four steps are too few to share";
  constexpr LayoutClass odd_k{UnitAxis::k, 2, true, false}, odd_n{UnitAxis::mn, 2, true, false};
  EXPECT_EQ(parts(problem(64, 64, 65536, odd_k, aligned)), 16) << "rows that stay raw";
  EXPECT_EQ(parts(problem(256, 256, 16384, across, odd_n), "a=realign b=tma"), 1) << "rows of K in phases";
  const auto on = [](i64 multiprocessors) { return GpuDescription{multiprocessors, 227 << 10, true}; };
  EXPECT_EQ(parts(problem(64, 64, 65536), "64x64x64", on(114)), 8) << "clusters of 16 are for large devices";
  EXPECT_EQ(parts(problem(64, 64, 65536), "64x64x64", on(16)), 8);
  EXPECT_EQ(parts(problem(64, 64, 65536), "64x64x64", on(8)), 4);
  EXPECT_EQ(parts(problem(64, 64, 65536), "64x64x64", on(1)), 1);
  // A text names its split, and asks for it again.
  const Plan plan = choose_gpu_plan(problem(64, 2112, 7168), {}, large).plan;
  EXPECT_EQ(plan.split.kind, SplitKind::cluster);
  EXPECT_EQ(choose_gpu_plan(problem(64, 2112, 7168), parse_plan(to_string(plan)), large).plan, plan);
}

TEST(GpuPlanner, AlignedOperandsComeByTmaWhereItExists) {
  const auto mover = [](const Problem& p, const GpuDescription& gpu) { return choose_gpu_plan(p, {}, gpu).plan.a; };
  EXPECT_EQ(mover(problem(4096, 4096, 4096), large), Mover::tma);
  EXPECT_EQ(mover(problem(4096, 4096, 4096), small), Mover::async_copy);
  EXPECT_EQ(mover(problem(4096, 4096, 0), large), Mover::async_copy) << "nothing to make a map of";
  EXPECT_EQ(mover(problem(4096, 4096, i64{1} << 31), large), Mover::async_copy) << "coordinates have 32 bits";
  EXPECT_EQ(mover(problem(4096, 4096, 4096, {UnitAxis::k, 8}), large), Mover::realign) << "b alone has boxes";
  EXPECT_EQ(mover(problem(4096, 4096, 4096, {UnitAxis::k, 16, false}), large), Mover::async_copy) << "runs backward";
  EXPECT_EQ(mover(problem(64, 64, 64, aligned, aligned, DType::f32), large), Mover::async_copy);
  const Plan plan = choose_gpu_plan(problem(8192, 8192, 8192), parse_plan("128x128x64"), large).plan;
  EXPECT_EQ(to_string(plan), "128x128x64 w4 s6 t2 c1 order=grouped(8) split=none a=tma b=tma mma=wgmma");
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
    for (const auto& [a, b] : {std::pair{aligned, odd},
                               {odd, odd},
                               {stepped, odd},
                               {odd, odd_across},
                               {odd, across},
                               {odd_across, aligned},
                               {odd_across, odd_across},
                               {across, odd}}) {
      const Problem p = problem(1000, 1001, 777, a, b);
      const PlanChoice choice = choose_gpu_plan(p, {}, gpu);
      EXPECT_FALSE(choice.reason.empty());
      for (const Candidate& candidate : choice.candidates) {
        if (!candidate.rejected.empty()) continue;
        EXPECT_LE(plan::shared_bytes_of(p, candidate.plan), gpu.shared_bytes) << to_string(candidate.plan);
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
  refused("split=split_k(2)", ErrorCode::plan_unavailable, "Use split=cluster(S) or split=none");
  refused("split=cluster(3)", ErrorCode::plan_value, "split=cluster(3): a cluster sums 2, 4, 8 or 16 parts");
  refused("64x64x64 split=cluster(16)", ErrorCode::plan_unavailable, "a step for each part, and K = 512 has 8");
  refused("64x64x64 split=cluster(2)", ErrorCode::plan_unavailable, "fit one of 1 multiprocessors",
          problem(512, 512, 512), {1, 227 << 10, true});
  refused("64x64x64 a=async_copy split=cluster(2)", ErrorCode::plan_unavailable, "blocks that come by tma");
  refused("64x64x64 c2 split=cluster(2)", ErrorCode::plan_unavailable, "split=cluster(2) wants c1");
  refused("128x256x64 split=cluster(2)", ErrorCode::plan_unavailable,
          "threads with 32 sums at most, and these have 128");
  refused("64x128x64 a=realign b=tma split=cluster(2)", ErrorCode::plan_unavailable, "b's rows come in phases",
          problem(512, 512, 512, across, {UnitAxis::mn, 2, true, false}));
  refused("a=pack", ErrorCode::plan_unavailable, "a=gather");
  refused("b=direct", ErrorCode::plan_unavailable, "b=direct is the target cpu's. Use b=gather");
  refused("b=async_copy", ErrorCode::plan_value, "Use b=realign", problem(512, 512, 512, aligned, odd));
  refused("b=realign", ErrorCode::plan_value, "Use b=gather", problem(512, 512, 512, aligned, stepped));
  refused("64x32x32 a=tma b=tma", ErrorCode::plan_unavailable, "tma brings no such blocks of this tile");
  refused("128x256x64 a=tma b=tma", ErrorCode::plan_unavailable, "extents below 2,147,483,648",
          problem(64, 64, i64{1} << 33));
  refused("128x256x64 a=tma b=tma", ErrorCode::plan_unavailable, "a K of 1 or more", problem(64, 64, 0));
  EXPECT_EQ(choose_gpu_plan(problem(130, 1000, 4096), parse_plan("a=tma b=tma"), large).plan.a, Mover::tma);
  refused("128x128x64 a=tma b=async_copy", ErrorCode::plan_unavailable,
          "beside an operand by tma the other comes by tma or realign");
  refused("128x128x64 a=tma b=tma mma=mma_sync", ErrorCode::plan_unavailable, "tma wants mma=wgmma");
  refused("128x128x64 t2 a=async_copy", ErrorCode::plan_unavailable, "t2 wants blocks that come by tma");
  refused("w2 mma=wgmma", ErrorCode::plan_unavailable, "no tile suits the request. 16x64x64: ");
  refused("c3", ErrorCode::plan_value, "c3: a cluster has 1 or 2 blocks");
  refused("128x128x64 a=async_copy c2", ErrorCode::plan_unavailable, "c2 wants blocks that come by tma");
  refused("128x128x64 c2", ErrorCode::plan_unavailable, "c2 wants an even number of tiles", problem(4100, 512, 512));
  refused("128x128x64 c2 order=linear", ErrorCode::plan_unavailable, "order=grouped(G) with an even G");
  refused("128x128x64 c2", ErrorCode::plan_unavailable, "two multiprocessors", problem(512, 512, 512),
          {1, 227 << 10, true});
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

TEST(GpuPlanner, TilesAreCountedIn64Bits) {
  const Problem p = problem(i64{1} << 37, 1, 64, stepped, aligned);
  const Plan chosen = choose_gpu_plan(p, parse_plan("16x64x64"), large).plan;
  EXPECT_EQ(plan::tile_rows(p, chosen), i64{1} << 33);
}

}  // namespace
