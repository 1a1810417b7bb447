// The planner for GPUs, on devices that do not exist.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

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

TEST(GpuPlanner, MoversFollowTheLayouts) {
  const auto movers = [](LayoutClass a, LayoutClass b, const char* text = "") {
    const Plan chosen = choose_gpu_plan(problem(4096, 4096, 4096, a, b), parse_plan(text), large).plan;
    return std::pair{chosen.a, chosen.b};
  };
  EXPECT_EQ(movers(aligned, aligned), (std::pair{Mover::tma, Mover::tma}));
  EXPECT_EQ(movers(aligned, aligned, "mma=mma_sync"), (std::pair{Mover::async_copy, Mover::async_copy}));
  EXPECT_EQ(movers(odd, aligned, "128x128x64 mma=mma_sync"), (std::pair{Mover::realign, Mover::realign}))
      << "a kernel less";
  EXPECT_EQ(movers(odd, stepped), (std::pair{Mover::gather, Mover::gather}));
  EXPECT_EQ(movers(odd, stepped, "a=realign"), (std::pair{Mover::realign, Mover::gather}));
  EXPECT_EQ(plan::gpu_mover({UnitAxis::mn, 4}), Mover::async_copy);
}

std::string movers_text(const Plan& plan) { return "a=" + to_string(plan.a) + " b=" + to_string(plan.b); }

TEST(GpuPlanner, RowsThatStartAnywhereComeBesideBoxes) {
  const auto movers = [](LayoutClass a, LayoutClass b, const GpuDescription& gpu = large, const char* text = "") {
    return movers_text(choose_gpu_plan(problem(4096, 4096, 4096, a, b), parse_plan(text), gpu).plan);
  };
  for (const i64 alignment : {2, 4, 8}) {
    SCOPED_TRACE(alignment);
    const LayoutClass a{UnitAxis::k, alignment}, a_across{UnitAxis::mn, alignment}, b = a_across, b_across = a;
    EXPECT_EQ(movers(a, b), "a=tma b=realign") << "NN";
    EXPECT_EQ(movers(a, b_across), "a=tma b=realign") << "NT";
    EXPECT_EQ(movers(a, across), "a=tma b=tma") << "NN, b aligned";
    EXPECT_EQ(movers(a, aligned), "a=realign b=tma") << "NT, b aligned: its chunks run along K";
    EXPECT_EQ(movers(a_across, across), "a=realign b=tma") << "TN, b aligned";
    EXPECT_EQ(movers(a_across, aligned), "a=realign b=tma") << "TT, b aligned";
    EXPECT_EQ(movers(aligned, b), "a=tma b=realign") << "NN, a aligned";
    EXPECT_EQ(movers(aligned, b_across), "a=tma b=realign") << "NT, a aligned";
    EXPECT_EQ(movers(across, b), "a=tma b=realign") << "TN, a aligned";
    EXPECT_EQ(movers(across, b_across), "a=tma b=realign") << "TT, a aligned";
    EXPECT_EQ(movers(a_across, b_across), "a=realign b=tma") << "TT";
  }
  EXPECT_EQ(movers(odd_across, odd_across), "a=realign b=tma") << "TN";
  const LayoutClass backward{UnitAxis::k, 2, false};
  EXPECT_EQ(movers(backward, odd_across), "a=realign b=realign");
  EXPECT_EQ(movers(stepped, odd_across), "a=gather b=gather");
  constexpr GpuDescription ampere{108, 163 << 10};
  for (const LayoutClass& a : {odd, odd_across}) {
    EXPECT_EQ(movers(a, odd_across, small), "a=realign b=realign") << "no tma";
    EXPECT_EQ(movers(a, odd_across, ampere), "a=realign b=realign") << "no tma";
    EXPECT_EQ(movers(a, aligned, ampere), "a=realign b=realign") << "no tma, and a kernel less";
    EXPECT_EQ(movers(aligned, a, ampere), "a=realign b=realign") << "no tma, and a kernel less";
  }
  EXPECT_EQ(movers(odd, odd_across, large, "mma=mma_sync"), "a=realign b=realign") << "no wgmma asked for";
}

// Beside boxes; the other operand's rows have to begin where boxes do.
TEST(GpuPlanner, EverySecondElementComesWithWhatLiesBetween) {
  const auto with = [](LayoutClass a, LayoutClass b, const char* text = "") {
    return choose_gpu_plan(problem(4096, 4096, 4096, a, b), parse_plan(text), large).plan;
  };
  for (const UnitAxis axis : {UnitAxis::k, UnitAxis::mn}) {
    LayoutClass second{UnitAxis::none, 2};
    second.every_second = axis;
    for (const LayoutClass& other : {aligned, across}) {
      const Plan left = with(second, other), right = with(other, second);
      EXPECT_EQ(to_string(left), "128x256x64 w8 s3 t1 c2 order=grouped(8) split=none a=realign b=tma mma=wgmma");
      EXPECT_EQ(to_string(right), "256x128x64 w8 s3 t1 c2 order=grouped(8) split=none a=tma b=realign mma=wgmma");
    }
    EXPECT_EQ(movers_text(with(second, odd)), "a=gather b=gather");
    EXPECT_EQ(movers_text(with(second, second)), "a=gather b=gather");
    EXPECT_EQ(movers_text(with(second, aligned, "a=gather")), "a=gather b=gather");
    EXPECT_EQ(movers_text(with(second, aligned, "mma=mma_sync")), "a=gather b=gather");
    expect_error(ErrorCode::plan_unavailable, {"every second element", "tma alone"},
                 [&] { with(second, aligned, "a=realign b=async_copy"); });
    expect_error(ErrorCode::plan_unavailable, {"every second element", "multiples of 16 bytes"},
                 [&] { with(second, odd, "a=realign b=tma"); });
    LayoutClass backward = second;
    backward.forward = false;
    EXPECT_EQ(movers_text(with(backward, aligned)), "a=gather b=gather");
    expect_error(ErrorCode::plan_value, {"a=realign", "Use a=gather"}, [&] { with(backward, aligned, "a=realign"); });
  }
}

// Few rows of A make few programs, and every column of C is scattered anyway.
TEST(GpuPlanner, FewRowsStayRawBesideClassesOfColumns) {
  const auto plan_of = [](i64 m, i64 n, LayoutClass a) {
    return choose_gpu_plan(problem(m, n, 4097, a, odd), {}, large).plan;
  };
  constexpr LayoutClass one_row{UnitAxis::both, 16};
  EXPECT_EQ(to_string(plan_of(1, 6144, one_row)),
            "64x64x64 w4 s10 t2 c1 order=grouped(8) split=none a=realign b=tma mma=wgmma");
  EXPECT_EQ(plan_of(1, 28672, one_row).tile, (TileShape{64, 128, 64}));
  EXPECT_EQ(plan_of(64, 4096, odd).tile, (TileShape{64, 64, 64}));
  EXPECT_EQ(movers_text(plan_of(1024, 4096, odd)), "a=tma b=realign");
}

// C transposed: what is A's becomes B's.
TEST(GpuPlanner, ClassesAreOfTheOperandWhoseRowsAreThoseOfC) {
  const auto movers = [](LayoutClass a, LayoutClass b) {
    Problem p = problem(4096, 4096, 4096, a, b);
    p.c = {UnitAxis::k, 2};
    return movers_text(choose_gpu_plan(p, {}, large).plan);
  };
  EXPECT_EQ(movers(across, odd), "a=tma b=tma") << "TT, a aligned";
  EXPECT_EQ(movers(odd, across), "a=realign b=tma") << "NN, b aligned";
  EXPECT_EQ(movers(odd, odd), "a=realign b=tma") << "NT";
  EXPECT_EQ(movers(odd_across, odd), "a=realign b=tma") << "TT";
  EXPECT_EQ(movers(odd, odd_across), "a=tma b=realign") << "NN";
}

TEST(GpuPlanner, RowsThatStartAnywhereAreCopiedWhereTheyHaveNoBoxes) {
  const auto text = [](LayoutClass a, LayoutClass b, const GpuDescription& gpu) {
    return to_string(choose_gpu_plan(problem(8192, 8192, 8192, a, b), {}, gpu).plan);
  };
  const Problem short_sum = problem(8192, 8192, 7, odd_across, odd_across);
  EXPECT_EQ(to_string(choose_gpu_plan(short_sum, {}, large).plan),
            "64x64x64 w4 s2 order=grouped(8) split=none a=realign b=realign mma=mma_sync")
      << "fewer rows of K than phases";
  EXPECT_EQ(text(odd, odd_across, {108, 163 << 10}),
            "128x128x32 w4 s3 order=grouped(8) split=none a=realign b=realign mma=mma_sync");
  EXPECT_EQ(text(odd, odd_across, {84, 99 << 10}),
            "64x64x64 w4 s2 order=grouped(8) split=none a=realign b=realign mma=mma_sync")
      << "no room for three stages";
  Problem converting = problem(8192, 8192, 8192, odd, odd_across);
  converting.output = DType::bf16;
  EXPECT_EQ(movers_text(choose_gpu_plan(converting, {}, large).plan), "a=realign b=realign") << "rare";
  EXPECT_EQ(movers_text(choose_gpu_plan(problem(512, 512, 0, odd, odd_across), {}, large).plan), "a=realign b=realign")
      << "nothing to make a map of";
  EXPECT_EQ(
      movers_text(
          choose_gpu_plan(problem(512, 512, 512, {UnitAxis::k, 4}, {UnitAxis::mn, 4}, DType::f32), {}, large).plan),
      "a=async_copy b=async_copy");
}

TEST(GpuPlanner, TilesBesideBoxesFollowTheLeftOperand) {
  const auto ranked = [](LayoutClass a, LayoutClass b) {
    std::vector<std::string> texts;
    for (const Candidate& candidate : choose_gpu_plan(problem(4096, 4096, 4096, a, b), {}, large).candidates) {
      const TileShape& t = candidate.plan.tile;
      if (candidate.rejected.empty())
        texts.push_back(fmt::format("{}x{}x{} {}", t.m, t.n, t.k, movers_text(candidate.plan)));
    }
    return texts;
  };
  const auto has = [](const std::vector<std::string>& texts, const char* text) {
    return std::ranges::find(texts, text) != texts.end();
  };
  EXPECT_TRUE(has(ranked(odd, across), "128x192x64 a=tma b=tma"));
  EXPECT_TRUE(has(ranked(aligned, across), "128x192x64 a=tma b=tma")) << "as stored row by row";
  EXPECT_FALSE(has(ranked(aligned, aligned), "128x192x64 a=tma b=tma")) << "rare";
  EXPECT_TRUE(has(ranked(odd, aligned), "128x256x64 a=realign b=tma"));
  EXPECT_FALSE(has(ranked(odd, aligned), "256x128x64 a=realign b=tma")) << "the transposed product's";
  EXPECT_TRUE(has(ranked(odd, odd_across), "256x128x64 a=tma b=realign"));
  const Plan transposed =
      choose_gpu_plan(problem(4096, 4096, 4096, odd, odd_across), parse_plan("256x128x64"), large).plan;
  EXPECT_TRUE(transposes(transposed));
  EXPECT_EQ(plan::product_tile(transposed), (TileShape{128, 256, 64}));
  const Plan straight = choose_gpu_plan(problem(4096, 4096, 4096, odd, aligned), parse_plan("128x256x64"), large).plan;
  EXPECT_FALSE(transposes(straight));
  EXPECT_EQ(plan::product_tile(straight), straight.tile);
}

TEST(GpuPlanner, ClassesAreThoseOfRowsThatComeByTma) {
  const auto classes = [](i64 m, i64 k, LayoutClass a, LayoutClass b, const char* text) {
    const Problem p = problem(m, 4096, k, a, b);
    const Plan chosen = choose_gpu_plan(p, parse_plan(text), large).plan;
    const tile::Classes c = plan::classes_of(p, chosen);
    EXPECT_EQ(plan::tile_rows(p, chosen), c.tiles());
    return std::pair{c.chunks, c.lines};
  };
  using Pair = std::pair<u32, u32>;
  for (const i64 alignment : {2, 4, 8}) {
    const LayoutClass a{UnitAxis::k, alignment};
    EXPECT_EQ(classes(1000, 1000, a, across, "128x128x64 a=tma b=tma"), (Pair{16 / alignment, 1}));
    EXPECT_EQ(classes(1000, 1000, a, odd_across, "128x128x64 a=tma b=realign"), (Pair{16 / alignment, 1}));
    EXPECT_EQ(classes(1000, 1000, a, aligned, "128x128x64 a=realign b=tma"), (Pair{1, 1})) << "a stays raw";
  }
  EXPECT_EQ(classes(1000, 1000, aligned, odd, "128x128x64 a=tma b=realign"), (Pair{1, 1}));
  Problem of_b = problem(4096, 8191, 8192, odd_across, odd);  // columns of B: 128 a class, one less in one
  const Plan by_columns = choose_gpu_plan(of_b, parse_plan("128x128x64 a=realign b=tma"), large).plan;
  EXPECT_EQ(plan::classes_of(of_b, by_columns).count(), 8u) << "C's rows are adjacent elements";
  of_b.c = aligned;
  EXPECT_EQ(plan::classes_of(of_b, by_columns).count(), 64u);
  EXPECT_EQ(plan::tile_cols(of_b, by_columns), 64);
  EXPECT_EQ(plan::tile_rows(of_b, by_columns), 32);
  EXPECT_EQ(classes(8192, 8192, odd, across, "128x128x64 a=tma b=tma"), (Pair{8, 8})) << "64 classes of 128 rows";
  EXPECT_EQ(classes(8192, 1023, odd, across, "128x128x64 a=tma b=tma"), (Pair{8, 1})) << "a step more counts";
  EXPECT_EQ(classes(4096, 8192, odd, across, "128x128x64 a=tma b=tma"), (Pair{8, 4})) << "tiles are whole";
  const Problem p = problem(1000, 4096, 1000, odd, across);
  const Plan chosen = choose_gpu_plan(p, parse_plan("128x128x64 a=tma b=tma"), large).plan;
  EXPECT_EQ(plan::tile_rows(p, chosen), 8) << "125 rows a class";
}

TEST(GpuPlanner, CopiesOfBothOperandsAreWideIfBothAreAligned) {
  const auto bytes = [](i64 a, i64 b, const char* tile, DType type = DType::f16, DType output = DType::f16) {
    Problem p = problem(512, 512, 512, {UnitAxis::k, a}, {UnitAxis::mn, b}, type);
    p.output = output;
    return plan::copy_bytes(p, choose_gpu_plan(p, parse_plan(tile), large).plan);
  };
  EXPECT_EQ(bytes(16, 16, "64x64x64"), 16);
  EXPECT_EQ(bytes(16, 8, "64x64x64 a=async_copy b=async_copy"), 4);
  EXPECT_EQ(bytes(16, 8, "128x128x64 a=async_copy b=async_copy"), 4);
  EXPECT_EQ(bytes(4, 16, "128x128x64 a=async_copy b=async_copy"), 4);
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
  refused("split=split_k(2)", ErrorCode::plan_unavailable, "split=none");
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

TEST(GpuPlanner, TakesAndRefusesMoversBesideTma) {
  const auto layouts = [](LayoutClass a, LayoutClass b) { return problem(512, 520, 528, a, b); };
  const auto taken = [](const char* text, const Problem& p) {
    SCOPED_TRACE(text);
    const Plan chosen = choose_gpu_plan(p, parse_plan(text), large).plan;
    EXPECT_TRUE(to_string(chosen).starts_with(std::string_view(text).substr(0, std::string_view(text).find(' '))));
    EXPECT_NE(std::string_view(text).find(movers_text(chosen)), std::string_view::npos) << to_string(chosen);
    EXPECT_EQ(chosen.mma, Mma::wgmma);
  };
  taken("256x128x64 a=tma b=realign", layouts(odd, odd_across));
  taken("256x128x64 a=tma b=realign", layouts(odd, odd));
  taken("128x128x64 a=tma b=realign", layouts(aligned, across));
  taken("64x64x64 a=realign b=tma", layouts(odd_across, across));
  taken("128x256x64 a=realign b=tma", layouts(odd, aligned));
  taken("128x64x64 a=realign b=tma", layouts(aligned, across));
  taken("128x192x64 a=tma b=tma", layouts(odd, across));
  taken("128x192x64 a=tma b=tma", layouts(across, odd));
  taken("128x256x64 a=realign b=tma", layouts(odd_across, odd));
  taken("128x256x64 a=realign b=tma", layouts(odd, odd));
  // A tile with too many rows to keep raw is not refused where nobody asks that it keeps them: it takes the next way.
  EXPECT_EQ(movers_text(choose_gpu_plan(layouts(odd, odd_across), parse_plan("128x256x64"), large).plan),
            "a=realign b=realign");
  EXPECT_EQ(movers_text(choose_gpu_plan(layouts(odd, odd), parse_plan("128x256x64"), large).plan), "a=realign b=tma");
  EXPECT_EQ(movers_text(choose_gpu_plan(layouts(odd, aligned), parse_plan("256x128x64"), large).plan),
            "a=tma b=realign");
  const auto refused = [](const char* text, ErrorCode code, std::initializer_list<std::string_view> words,
                          const Problem& p, const GpuDescription& gpu = large) {
    SCOPED_TRACE(text);
    expect_error(code, words, [&] { choose_gpu_plan(p, parse_plan(text), gpu); });
  };
  refused("64x64x64 a=tma b=tma", ErrorCode::plan_unavailable, {"rows of b along N"},
          problem(64, 1, 64, odd, {UnitAxis::both, 16}));
  refused("128x256x64 s2 a=realign b=tma", ErrorCode::plan_unavailable, {"2 stages: tma wants 3 or more beside rows"},
          layouts(odd, aligned));
  refused("128x128x64 s1 a=tma b=tma", ErrorCode::plan_unavailable, {"1 stages: tma wants 2 or more"},
          layouts(aligned, aligned));
  refused("64x128x64 w8 t1 a=realign b=tma", ErrorCode::plan_unavailable, {"16 for each of its 8 warps"},
          layouts(odd, aligned));
  refused("256x128x64 a=realign b=tma", ErrorCode::plan_unavailable, {"at most 128 of them"}, layouts(odd, aligned));
  refused("128x256x64 a=tma b=realign", ErrorCode::plan_unavailable, {"at most 128 of them"}, layouts(odd, odd));
  for (const char* const text : {"128x128x64 b=tma", "128x128x64 a=tma b=tma", "128x128x64 a=realign b=tma"}) {
    refused(text, ErrorCode::plan_value, {"b=tma does not suit the layout of b", "Use b=realign"},
            layouts(odd, {UnitAxis::mn, 2, false}));
  }
  taken("128x256x64 a=realign b=tma", layouts(odd_across, odd_across));
  refused("128x256x64 a=realign b=tma", ErrorCode::plan_unavailable, {"rows of a along M and a K of 8 or more"},
          layouts(odd, odd_across));
  refused("128x256x64 a=realign b=tma", ErrorCode::plan_unavailable, {"rows of a along M and a K of 8 or more"},
          problem(512, 520, 7, odd_across, odd_across));
  refused("128x128x64 a=tma", ErrorCode::plan_value, {"a=tma does not suit the layout of a", "Use a=realign"},
          layouts(odd_across, across));
  refused("128x128x64 a=tma", ErrorCode::plan_value, {"a=tma does not suit", "Use a=gather"}, layouts(stepped, across));
  refused("128x128x64 a=tma b=tma", ErrorCode::plan_unavailable,
          {"want, beside tma, rows of b along N at multiples of 16 bytes"}, layouts(odd, aligned));
  for (const LayoutClass& a : {odd, odd_across, aligned}) {
    refused("128x128x64 a=tma b=tma", a == odd_across ? ErrorCode::plan_value : ErrorCode::plan_unavailable, {},
            layouts(a, odd));
  }
  const char* const beside = "beside an operand by tma the other comes by tma or realign";
  refused("128x128x64 a=async_copy b=tma", ErrorCode::plan_unavailable, {beside}, layouts(aligned, across));
  refused("128x128x64 a=tma b=async_copy", ErrorCode::plan_unavailable, {beside}, layouts(odd, across));
  refused("128x128x64 a=tma b=gather", ErrorCode::plan_unavailable, {beside}, layouts(odd, stepped));
  refused("128x128x64 a=gather b=tma", ErrorCode::plan_unavailable, {beside}, layouts(stepped, across));
  for (const i64 alignment : {2, 16}) {
    const LayoutClass backward{UnitAxis::k, alignment, false}, backward_across{UnitAxis::mn, alignment, false};
    refused("128x128x64 a=tma", ErrorCode::plan_value, {"a=tma does not suit", "Use a=realign"},
            layouts(backward, across));
    refused("128x128x64 b=tma", ErrorCode::plan_value, {"b=tma does not suit"}, layouts(odd, backward_across));
    const char* const forwards = "an operand that stays raw beside tma runs forwards";
    refused("128x128x64 a=tma b=realign", ErrorCode::plan_unavailable, {forwards}, layouts(odd, backward_across));
    refused("128x128x64 a=realign b=tma", ErrorCode::plan_unavailable, {forwards}, layouts(backward, across));
  }
  refused("128x192x64 a=tma b=realign", ErrorCode::plan_unavailable, {"tma brings no such blocks of this tile"},
          layouts(odd, odd_across));
  refused("64x32x32 a=realign b=tma", ErrorCode::plan_unavailable, {"tma brings no such blocks of this tile"},
          layouts(odd, across));
  refused("128x128x64 a=tma b=realign mma=mma_sync", ErrorCode::plan_unavailable, {"tma wants mma=wgmma"},
          layouts(odd, odd_across));
  refused("128x128x64 a=tma b=realign", ErrorCode::plan_unavailable, {"tma wants mma=wgmma"}, layouts(odd, odd_across),
          {108, 232448});
  refused("128x128x64 w8 t2 a=tma b=realign", ErrorCode::plan_unavailable, {"2 teams of 8 warps"},
          layouts(odd, odd_across));
  refused("128x128x64 a=tma b=realign", ErrorCode::plan_unavailable, {"a K of 1 or more"},
          problem(64, 64, 0, odd, odd_across));
}

TEST(GpuPlanner, TilesAreCountedIn64Bits) {
  const Problem p = problem(i64{1} << 37, 1, 64, stepped, aligned);
  const Plan chosen = choose_gpu_plan(p, parse_plan("16x64x64"), large).plan;
  EXPECT_EQ(plan::tile_rows(p, chosen), i64{1} << 33);
}

}  // namespace
