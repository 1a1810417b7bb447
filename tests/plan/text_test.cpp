// The text form of plans: what is printed parses back, and what does not parse is refused by name.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <tilewright/error.hpp>
#include <tilewright/plan.hpp>

namespace tilewright {
namespace {

constexpr i64 largest = std::numeric_limits<i64>::max();

i64 any_positive() {
  return *rc::gen::oneOf(rc::gen::inRange<i64>(1, 513), rc::gen::inRange<i64>(1, largest), rc::gen::just(largest));
}

Plan any_plan() {
  Plan plan;
  plan.tile = {any_positive(), any_positive(), any_positive()};
  plan.warps = any_positive();
  plan.stages = any_positive();
  if (*rc::gen::arbitrary<bool>()) plan.order = {OrderKind::grouped, any_positive()};
  plan.split.kind = *rc::gen::element(SplitKind::none, SplitKind::split_k, SplitKind::cluster);
  if (plan.split.kind != SplitKind::none) plan.split.parts = any_positive();
  plan.a = *rc::gen::element(Mover::pack, Mover::gather, Mover::direct, Mover::tma);
  if (plan.a == Mover::tma) plan.teams = any_positive(), plan.cluster = any_positive();
  plan.b = *rc::gen::element(Mover::pack, Mover::gather, Mover::direct);
  plan.mma = *rc::gen::element(Mma::portable, Mma::avx2, Mma::avx512, Mma::avx512_bf16);
  plan.packing = {*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};
  plan.rest.kind = *rc::gen::element(RestKind::none, RestKind::rows, RestKind::cols);
  if (plan.rest.any()) plan.rest.count = any_positive();
  return plan;
}

/// The plan that a request names in full; fails if a field is missing.
Plan named(const PlanRequest& request) {
  return {request.tile.value(),
          request.warps.value(),
          request.stages.value(),
          request.teams.value_or(1),
          request.cluster.value_or(1),
          request.order.value(),
          request.split.value(),
          request.a.value(),
          request.b.value(),
          request.mma.value(),
          request.packing.value_or(Packing{}),
          request.rest.value_or(Rest{})};
}

TEST(PlanText, PrintedPlansParseBack) {
  EXPECT_TRUE(rc::check("parse_plan(to_string(plan)) names plan", [] {
    const Plan plan = any_plan();
    RC_ASSERT(named(parse_plan(to_string(plan))) == plan);
  }));
}

TEST(PlanText, FieldsBehindTheTileComeInAnyOrder) {
  EXPECT_TRUE(rc::check("any order of words", [] {
    const Plan plan = any_plan();
    const std::string text = to_string(plan);
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    RC_ASSERT(words.size() ==
              (plan.a == Mover::tma ? 10u : 8u) + (plan.packing.any() ? 1u : 0u) + (plan.rest.any() ? 1u : 0u));
    std::string shuffled = words[0];
    std::vector<std::string> rest(words.begin() + 1, words.end());
    while (!rest.empty()) {
      const auto next = *rc::gen::inRange<std::size_t>(0, rest.size());
      shuffled += "  " + rest[next];
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(next));
    }
    RC_ASSERT(named(parse_plan(shuffled)) == plan);
  }));
}

TEST(PlanText, TheDocumentedFormIsPrinted) {
  const Plan plan{{64, 32, 32},  1,           1,  1, 1, {OrderKind::grouped, 8}, {}, Mover::pack,
                  Mover::gather, Mma::avx512, {}, {}};
  EXPECT_EQ(to_string(plan), "64x32x32 w1 s1 order=grouped(8) split=none a=pack b=gather mma=avx512");
  const Plan boxed{{128, 128, 64}, 4, 6, 2, 1, {OrderKind::grouped, 8}, {}, Mover::tma, Mover::tma, Mma::wgmma, {}, {}};
  EXPECT_EQ(to_string(boxed), "128x128x64 w4 s6 t2 c1 order=grouped(8) split=none a=tma b=tma mma=wgmma");
  Plan parted = plan;
  parted.rest = {RestKind::cols, 3};
  EXPECT_EQ(to_string(parted), to_string(plan) + " rest=cols(3)");
}

TEST(PlanText, MissingFieldsStayOpen) {
  const PlanRequest tile_only = parse_plan("64x32x32");
  EXPECT_EQ(tile_only.tile, (TileShape{64, 32, 32}));
  EXPECT_FALSE(tile_only.warps || tile_only.stages || tile_only.order || tile_only.split || tile_only.a ||
               tile_only.b || tile_only.mma);
  const PlanRequest no_tile = parse_plan("split=split_k(4)");
  EXPECT_FALSE(no_tile.tile);
  EXPECT_EQ(no_tile.split, (Split{SplitKind::split_k, 4}));
  EXPECT_FALSE(parse_plan("").tile);
  EXPECT_FALSE(parse_plan(" \t\n").mma);
}

struct Refused {
  const char* name;  // of the test
  const char* text;
  ErrorCode code;
  const char* word;     // must be in the message
  const char* allowed;  // must be in the message
};

class PlanTextRefused : public ::testing::TestWithParam<Refused> {};

TEST_P(PlanTextRefused, NamesTheWordAndWhatIsAllowed) {
  const Refused& refused = GetParam();
  try {
    parse_plan(refused.text);
    FAIL() << refused.text << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), refused.code) << error.what();
    EXPECT_NE(std::string(error.what()).find(std::string("'") + refused.word + "'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(refused.allowed), std::string::npos) << error.what();
  }
}

constexpr ErrorCode syntax = ErrorCode::plan_syntax, value = ErrorCode::plan_value;
INSTANTIATE_TEST_SUITE_P(
    Words, PlanTextRefused,
    ::testing::Values(
        Refused{"WordUnknown", "64x32x32 cluster=2", syntax, "cluster=2", "order=linear|grouped(G)"},
        Refused{"WordWithoutAKey", "fast", syntax, "fast", "BMxBNxBK"},
        Refused{"TileOfTwo", "64x32", syntax, "64x32", "64x32x32"},
        Refused{"TileOfFour", "64x32x32x8", syntax, "64x32x32x8", "BMxBNxBK"},
        Refused{"TileUnfinished", "64x32xx", syntax, "64x32xx", "BMxBNxBK"},
        Refused{"TileNotWhole", "64x3.5x32", syntax, "64x3.5x32", "BMxBNxBK"},
        Refused{"TileInCapitals", "64X32X32", syntax, "64X32X32", "64x32x32"},
        Refused{"TileOfZero", "0x32x32", value, "0x32x32", "from 1"},
        Refused{"TileNegative", "-64x32x32", value, "-64x32x32", "from 1"},
        Refused{"TileTooLong", "64x32x9223372036854775808", value, "64x32x9223372036854775808", "9223372036854775807"},
        Refused{"TileTwice", "64x32x32 64x32x32", syntax, "64x32x32", "once"},
        Refused{"TileNotFirst", "w1 64x32x32", syntax, "64x32x32", "first"},
        Refused{"WarpsTwice", "w1 w2", syntax, "w2", "once"}, Refused{"StagesTwice", "s1 s1", syntax, "s1", "once"},
        Refused{"OrderTwice", "order=linear order=linear", syntax, "order=linear", "once"},
        Refused{"SplitTwice", "split=none split=split_k(2)", syntax, "split=split_k(2)", "once"},
        Refused{"MoverOfATwice", "a=pack a=gather", syntax, "a=gather", "once"},
        Refused{"MoverOfBTwice", "b=pack b=pack", syntax, "b=pack", "once"},
        Refused{"MmaTwice", "mma=avx2 mma=avx2", syntax, "mma=avx2", "once"},
        Refused{"WarpsOfZero", "w0", value, "w0", "wN"}, Refused{"WarpsNegative", "w-1", value, "w-1", "wN"},
        Refused{"StagesTooLong", "s99999999999999999999", value, "s99999999999999999999", "sN"},
        Refused{"WarpsWithATail", "w1x", syntax, "w1x", "wN"}, Refused{"WarpsWithoutANumber", "w", syntax, "w", "wN"},
        Refused{"OrderUnknown", "order=zigzag", value, "order=zigzag", "order=grouped(G)"},
        Refused{"GroupMissing", "order=grouped", syntax, "order=grouped", "order=grouped(G)"},
        Refused{"GroupOfZero", "order=grouped(0)", value, "order=grouped(0)", "from 1"},
        Refused{"GroupNegative", "order=grouped(-3)", value, "order=grouped(-3)", "from 1"},
        Refused{"GroupOfLetters", "order=grouped(x)", syntax, "order=grouped(x)", "order=grouped(G)"},
        Refused{"GroupEmpty", "order=grouped()", syntax, "order=grouped()", "order=grouped(G)"},
        Refused{"GroupUnclosed", "order=grouped(8", syntax, "order=grouped(8", "order=grouped(G)"},
        Refused{"OrderEmpty", "order=", value, "order=", "order=linear"},
        Refused{"SplitUnknown", "split=stream_k", value, "split=stream_k", "split=none"},
        Refused{"PartsOfZero", "split=split_k(0)", value, "split=split_k(0)", "from 1"},
        Refused{"PartsMissing", "split=split_k", syntax, "split=split_k", "split_k(S)"},
        Refused{"ClusterOfZero", "split=cluster(0)", value, "split=cluster(0)", "from 1"},
        Refused{"ClusterMissing", "split=cluster", syntax, "split=cluster", "cluster(S)"},
        Refused{"RestUnknown", "rest=tiles(3)", value, "rest=tiles(3)", "rest=rows(R)"},
        Refused{"RestOfZero", "rest=rows(0)", value, "rest=rows(0)", "from 1"},
        Refused{"RestMissing", "rest=cols", syntax, "rest=cols", "rest=cols(R)"},
        Refused{"RestTwice", "rest=none rest=cols(1)", syntax, "rest=cols(1)", "once"},
        Refused{"PackingUnknown", "pack(c)", value, "pack(c)", "pack(a,b)"},
        Refused{"PackingUnclosed", "pack(a", value, "pack(a", "pack(a,b)"},
        Refused{"PackingTwice", "pack(a) pack(b)", syntax, "pack(b)", "once"},
        Refused{"MoverUnknown", "a=bulk", value, "a=bulk", "pack, gather"},
        Refused{"MoverEmpty", "b=", value, "b=", "pack, gather"},
        Refused{"MmaUnknown", "mma=wmma", value, "mma=wmma", "portable, avx2, avx512"},
        Refused{"KeyMissing", "=8", syntax, "=8", "mma="}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(LayoutText, SaysAxisAndAlignment) {
  EXPECT_EQ(to_string(LayoutClass{UnitAxis::k, 2}), "unit=k align=2");
  EXPECT_EQ(to_string(LayoutClass{UnitAxis::both, 16}), "unit=both align=16");
}

}  // namespace
}  // namespace tilewright
