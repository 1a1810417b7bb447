// How the planner for GPUs has operands moved, by their layouts: boxes, classes, rows that stay raw, copies, gathers;
// on devices that do not exist.
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

TEST(GpuMovers, MoversFollowTheLayouts) {
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

TEST(GpuMovers, RowsThatStartAnywhereComeBesideBoxes) {
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
TEST(GpuMovers, EverySecondElementComesWithWhatLiesBetween) {
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
TEST(GpuMovers, FewRowsStayRawBesideClassesOfColumns) {
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
TEST(GpuMovers, ClassesAreOfTheOperandWhoseRowsAreThoseOfC) {
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

TEST(GpuMovers, RowsThatStartAnywhereAreCopiedWhereTheyHaveNoBoxes) {
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

TEST(GpuMovers, TilesBesideBoxesFollowTheLeftOperand) {
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

TEST(GpuMovers, ClassesAreThoseOfRowsThatComeByTma) {
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

TEST(GpuMovers, CopiesOfBothOperandsAreWideIfBothAreAligned) {
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

TEST(GpuMovers, TakesAndRefusesMoversBesideTma) {
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

}  // namespace
