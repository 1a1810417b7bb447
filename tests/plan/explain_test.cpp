// Explain: the worked example's figures, and every offset and sum against enumeration.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include <tilewright/error.hpp>
#include <tilewright/explain.hpp>

#include "plan/facts.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::json;

CpuDescription invented_cpu() {
  CpuDescription cpu;
  cpu.cores = 2;
  cpu.mma = Mma::avx2;
  cpu.instruction_sets = {Mma::avx2, Mma::portable};
  return cpu;
}

OperandStrides packed_strides(i64 n, i64 k) { return {k, 1, n, 1, n, 1}; }

struct Case {
  Problem problem;
  OperandStrides strides;
  PlanChoice choice;
};

Case make_case(i64 m, i64 n, i64 k, const char* plan, const OperandStrides& strides, i64 workspace = 0) {
  Case result{problem_of(m, n, k, DType::f16, DType::f16, strides), strides, {}};
  result.choice = choose_plan(result.problem, parse_plan(plan), invented_cpu(), 2, workspace);
  return result;
}
Case make_case(i64 m, i64 n, i64 k, const char* plan, i64 workspace = 0) {
  return make_case(m, n, k, plan, packed_strides(n, k), workspace);
}

std::string json_text(const Case& c, const ExplainFocus& focus = {}) {
  return explain_json(c.problem, c.strides, c.choice, invented_cpu(), focus);
}
Json json_of(const Case& c, const ExplainFocus& focus = {}) { return Json::parse(json_text(c, focus)); }
std::string text_of(const Case& c, const ExplainFocus& focus = {}) {
  return explain_text(c.problem, c.strides, c.choice, invented_cpu(), focus);
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The text with every run of spaces and line ends made one space.
std::string flowing(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space || (!result.empty() && result.back() != ' ')) result += space ? ' ' : c;
  }
  return result;
}

/// Columns of a line: bytes that do not continue a UTF-8 character.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

TEST(ExplainJson, FiguresOfTheWorkedExample) {
  const std::string text = json_text(make_case(130, 70, 65, "64x32x32"));
  for (const char* figure :
       {"\"grid\":[3,3]", "\"programs\":9", "\"k_steps\":3", "\"useful_flops\":1183000", "\"block_flops\":3538944",
        "\"useful_ratio\":0.3343", "\"stage_intensity\":21.33", "\"accumulator_bytes\":8192",
        "\"last_program\":{\"rows\":[128,191],\"cols\":[64,95],\"valid\":[2,6],\"valid_outputs\":12,\"last_k\":[64,95],"
        "\"valid_k\":1}"}) {
    EXPECT_TRUE(holds(text, figure)) << figure << " is not in " << text;
  }
}

TEST(ExplainJson, IntensityAndAccumulatorOfSquareTilesWhateverBk) {
  const Json t64 = json_of(make_case(512, 512, 512, "64x64x64")),
             t128 = json_of(make_case(512, 512, 512, "128x128x128"));
  EXPECT_EQ(t64["stage_intensity"], 32.0);
  EXPECT_EQ(t64["accumulator_bytes"], 16 * 1024);
  EXPECT_EQ(t128["stage_intensity"], 64.0);
  EXPECT_EQ(t128["accumulator_bytes"], 64 * 1024);
  Case deeper = make_case(512, 512, 512, "64x64x64");
  deeper.choice.plan.tile.k = 128;
  EXPECT_EQ(json_of(deeper)["stage_intensity"], 32.0);
  EXPECT_EQ(json_of(deeper)["stage_bytes"], 2 * t64["stage_bytes"].get<i64>());
}

TEST(ExplainJson, EveryFigureHasAKind) {
  const Json json = json_of(make_case(130, 70, 65, "64x32x32"));
  for (const char* key : {"grid", "programs", "k_steps", "useful_flops", "block_flops", "useful_ratio",
                          "stage_intensity", "accumulator_bytes", "last_program", "loads", "layouts"}) {
    EXPECT_EQ(json["kinds"][key], "counted") << key;
  }
  EXPECT_EQ(json["kinds"]["candidates"], "modelled");
  for (const Json& row : json["traffic"]) {
    EXPECT_EQ(row["kind"], "modelled");
    EXPECT_EQ(row["simulated"], true);
    EXPECT_TRUE(holds(row["boundary"], "idealised LRU of"));
  }
  for (const char* key : {"stage_intensity", "loads", "traffic", "block_flops"})
    EXPECT_TRUE(json["boundaries"].contains(key)) << key;
  EXPECT_GE(json["not"].size(), 4u);
}

TEST(ExplainJson, LoadsCountHowOftenEachElementIsRead) {
  const Json loads = json_of(make_case(130, 70, 65, "64x32x32"))["loads"];
  EXPECT_EQ(loads["a_times"], 3);
  EXPECT_EQ(loads["a_bytes"], 3 * 130 * 65 * 2);
  EXPECT_EQ(loads["b_times"], 3);
  EXPECT_EQ(loads["b_bytes"], 3 * 65 * 70 * 2);
  EXPECT_EQ(loads["bytes"], 78000);
  EXPECT_EQ(loads["c_stored_bytes"], 130 * 70 * 2);
}

TEST(ExplainJson, GivenCacheSizeReplacesTheMachines) {
  ExplainFocus focus;
  focus.cache_bytes = 1;
  const Json traffic = json_of(make_case(130, 70, 65, "64x32x32 order=grouped(2)"), focus)["traffic"];
  ASSERT_EQ(traffic.size(), 2u);
  EXPECT_EQ(traffic[0]["order"], "linear");
  EXPECT_EQ(traffic[1]["order"], "grouped(2)");
  EXPECT_EQ(traffic[0]["cache_bytes"], 1);
  EXPECT_EQ(traffic[1]["bytes"], 78000);  // nothing fits: every logical load
}

TEST(ExplainJson, ProgramMapCoversEveryOutputOnce) {
  for (const char* plan : {"64x32x32", "64x32x32 order=grouped(2)", "16x16x16 order=grouped(3)"}) {
    const Json json = json_of(make_case(130, 70, 65, plan));
    std::multiset<std::pair<i64, i64>> outputs;
    i64 number = 0;
    for (const Json& program : json["program_map"]) {
      EXPECT_EQ(program["program"], number++);
      const i64 rows = program["valid"][0], cols = program["valid"][1];
      EXPECT_EQ(program["valid_outputs"], rows * cols);
      for (i64 i = 0; i < rows; ++i) {
        for (i64 j = 0; j < cols; ++j)
          outputs.emplace(program["rows"][0].get<i64>() + i, program["cols"][0].get<i64>() + j);
      }
    }
    EXPECT_EQ(number, json["programs"].get<i64>());
    EXPECT_EQ(outputs.size(), 130u * 70u) << plan;
    EXPECT_EQ(std::set(outputs.begin(), outputs.end()).size(), 130u * 70u) << plan;
    EXPECT_EQ(*outputs.rbegin(), (std::pair<i64, i64>{129, 69}));
  }
}

TEST(ExplainJson, ProgramMapIsCappedAndSaysSo) {
  const Json json = json_of(make_case(5000, 5000, 10, "16x16x16"));
  EXPECT_EQ(json["program_map"].size(), json["program_map_cap"].get<std::size_t>());
  EXPECT_EQ(json["program_map_truncated"], true);
  EXPECT_EQ(json_of(make_case(50, 50, 10, "16x16x16"))["program_map_truncated"], false);
}

TEST(ExplainJson, CountsBeyond63BitsBecomeFloatingPoint) {
  const i64 extent = i64{1} << 24;
  const Json json = json_of(make_case(extent, extent, extent, "128x128x128"));
  EXPECT_TRUE(json["useful_flops"].is_number_float());
  EXPECT_EQ(json["useful_flops"].get<double>(), 0x1p73);
  EXPECT_EQ(json["useful_ratio"], 1.0);
  EXPECT_EQ(json["programs"], i64{1} << 34);
}

TEST(Explain, EmptyProblemsAreExplained) {
  for (const auto& [m, n, k] : {std::array<i64, 3>{0, 70, 65}, {130, 0, 65}, {130, 70, 0}, {0, 0, 0}}) {
    const Case empty = make_case(m, n, k, "64x32x32");
    const Json json = json_of(empty);
    EXPECT_EQ(json["useful_flops"], 0);
    EXPECT_TRUE(json["useful_ratio"].is_null());
    EXPECT_EQ(json["last_program"].is_null(), m == 0 || n == 0);
    if (k == 0 && m != 0) {
      EXPECT_TRUE(json["last_program"]["last_k"].is_null());
    }
    EXPECT_FALSE(text_of(empty).empty());
  }
}

// Closer looks
// -------------------------------------------------------------------------------------------------------------------

TEST(ExplainProgram, LastProgramOfTheWorkedExample) {
  ExplainFocus focus;
  focus.program = 8;
  focus.step = 2;
  const Case example = make_case(130, 70, 65, "64x32x32");
  const Json program = json_of(example, focus)["program"];
  EXPECT_EQ(program["addresses"]["a"], "a + rm*65 + rk*1");
  EXPECT_EQ(program["addresses"]["b"], "b + rk*70 + rn*1");
  EXPECT_EQ(program["masks"]["a"], "rm < 130 && rk < 65");
  EXPECT_EQ(program["masks"]["c"], "rm < 130 && rn < 70");
  ASSERT_EQ(program["blocks"].size(), 1u);
  EXPECT_EQ(program["blocks"][0]["a"]["offsets"], (Json{128 * 65 + 64, 129 * 65 + 64}));
  EXPECT_EQ(program["blocks"][0]["a"]["unmasked_offsets"], (Json{128 * 65 + 64, 191 * 65 + 95}));
  EXPECT_EQ(program["blocks"][0]["b"]["offsets"], (Json{64 * 70 + 64, 64 * 70 + 69}));
  EXPECT_EQ(program["c"]["offsets"], (Json{128 * 70 + 64, 129 * 70 + 69}));

  const std::string text = text_of(example, focus);
  for (const char* part :
       {"rm = 128..191", "rn = 64..95", "rk = 64..95", "A[rm, rk] = a + rm*65 + rk*1", "rm < 130 && rk < 65",
        "8384..8449", "8384..12510", "2 of 64 valid", "6 of 32 valid", "1 of 32 valid", "12 of 2,048 outputs"}) {
    EXPECT_TRUE(holds(text, part)) << part << " is not in\n" << text;
  }
}

TEST(ExplainProgram, NegativeStridesAreWrittenInBrackets) {
  const Case flipped = make_case(130, 70, 65, "64x32x32", {-65, 1, 70, -1, 70, 1});
  ExplainFocus focus;
  focus.program = 0;
  EXPECT_TRUE(holds(text_of(flipped, focus), "A[rm, rk] = a + rm*(-65) + rk*1"));
  const Json program = json_of(flipped, focus)["program"];
  EXPECT_EQ(program["addresses"]["b"], "b + rk*70 + rn*(-1)");
  EXPECT_EQ(program["blocks"][0]["a"]["offsets"], (Json{-63 * 65, 31}));
}

TEST(ExplainProgram, OffsetsEqualEnumeratedOnes) {
  EXPECT_TRUE(rc::check("any small problem, strides of any sign, any program and step", [] {
    const i64 m = *rc::gen::inRange<i64>(1, 50), n = *rc::gen::inRange<i64>(1, 50), k = *rc::gen::inRange<i64>(1, 50);
    const auto stride = [] { return *rc::gen::inRange<i64>(-60, 61); };
    const OperandStrides strides{stride(), stride(), stride(), stride(), stride(), stride()};
    Case c{problem_of(m, n, k, DType::f16, DType::f16, strides), strides, {}};
    Plan& plan = c.choice.plan;
    plan.tile = {*rc::gen::inRange<i64>(1, 20), *rc::gen::inRange<i64>(1, 20), *rc::gen::inRange<i64>(1, 20)};
    if (*rc::gen::arbitrary<bool>()) plan.order = {OrderKind::grouped, *rc::gen::inRange<i64>(1, 6)};
    const i64 steps = cdiv(k, plan.tile.k);
    if (*rc::gen::arbitrary<bool>()) plan.split = {SplitKind::split_k, *rc::gen::inRange<i64>(1, steps + 1)};
    const plan::Geometry geometry(c.problem, strides, plan);
    ExplainFocus focus;
    focus.program = *rc::gen::inRange<i64>(0, geometry.programs);
    const Json program = json_of(c, focus)["program"];

    const i64 row = program["rows"][0], col = program["cols"][0];
    const auto between = [](i64 rows, i64 row0, i64 row_end, i64 row_stride, i64 cols, i64 col0, i64 col_end,
                            i64 col_stride, bool masked) {
      std::optional<std::pair<i64, i64>> range;
      for (i64 i = row0; i < row_end; ++i) {
        for (i64 j = col0; j < col_end; ++j) {
          if (masked && (i >= rows || j >= cols)) continue;
          const i64 offset = i * row_stride + j * col_stride;
          range = range ? std::pair{std::min(range->first, offset), std::max(range->second, offset)}
                        : std::pair{offset, offset};
        }
      }
      return range ? Json{range->first, range->second} : Json(nullptr);
    };
    for (const bool masked : {true, false}) {
      const char* key = masked ? "offsets" : "unmasked_offsets";
      for (const Json& block : program["blocks"]) {
        const i64 first = block["k"][0];
        RC_ASSERT(block["a"][key] == between(m, row, row + plan.tile.m, strides.a_row, k, first, first + plan.tile.k,
                                             strides.a_col, masked));
        RC_ASSERT(block["b"][key] == between(k, first, first + plan.tile.k, strides.b_row, n, col, col + plan.tile.n,
                                             strides.b_col, masked));
      }
      RC_ASSERT(program["c"][key] ==
                between(m, row, row + plan.tile.m, strides.c_row, n, col, col + plan.tile.n, strides.c_col, masked));
    }
  }));
}

TEST(ExplainElement, LastElementOfTheWorkedExample) {
  ExplainFocus focus;
  focus.element = {129, 69};
  const Case example = make_case(130, 70, 65, "64x32x32");
  const Json element = json_of(example, focus)["element"];
  EXPECT_EQ(element["program"], 8);
  EXPECT_EQ(element["tile"], (Json{2, 2}));
  EXPECT_EQ(element["in_tile"], (Json{1, 5}));
  EXPECT_EQ(element["offset"], 129 * 70 + 69);
  EXPECT_EQ(element["terms"].front(), (Json{{"k", 0}, {"a", 129 * 65}, {"b", 69}}));
  EXPECT_EQ(element["terms"].back(), (Json{{"k", 64}, {"a", 129 * 65 + 64}, {"b", 64 * 70 + 69}}));
  const std::string text = text_of(example, focus);
  for (const char* part : {"Owned by program 8", "place (1, 5)", "c + 129*70 + 69*1 = c + 9099", "65 products",
                           "A[129, 64] = a + 8449", "B[64, 69] = b + 4549", "31 zeros", "rounded once, to f16"}) {
    EXPECT_TRUE(holds(text, part)) << part << " is not in\n" << text;
  }
}

TEST(ExplainElement, TransposedViewOfTheArticlesExample) {
  // X = [[10, 11, 12], [20, 21, 22]]; B = transposed X: B[1, 0] is at offset 1, where contiguous strides would say 2.
  const Case c = make_case(2, 2, 3, "16x16x16", {3, 1, 1, 3, 2, 1});
  ExplainFocus focus;
  focus.element = {0, 0};
  const Json terms = json_of(c, focus)["element"]["terms"];
  EXPECT_EQ(terms[1], (Json{{"k", 1}, {"a", 1}, {"b", 1}}));
}

TEST(ExplainElement, EveryKBelongsToOnePartAndTheProgramOwnsTheElement) {
  EXPECT_TRUE(rc::check("any element under any order and split", [] {
    const i64 m = *rc::gen::inRange<i64>(1, 60), n = *rc::gen::inRange<i64>(1, 60), k = *rc::gen::inRange<i64>(1, 60);
    Case c = make_case(m, n, k, "");
    Plan& plan = c.choice.plan;
    plan.tile = {*rc::gen::inRange<i64>(1, 20), *rc::gen::inRange<i64>(1, 20), *rc::gen::inRange<i64>(1, 20)};
    if (*rc::gen::arbitrary<bool>()) plan.order = {OrderKind::grouped, *rc::gen::inRange<i64>(1, 6)};
    const i64 steps = cdiv(k, plan.tile.k);
    plan.split = {SplitKind::split_k, *rc::gen::inRange<i64>(1, steps + 1)};
    ExplainFocus focus;
    focus.element = {*rc::gen::inRange<i64>(0, m), *rc::gen::inRange<i64>(0, n)};
    const Json element = json_of(c, focus)["element"];
    i64 next = 0;
    for (const Json& part : element["parts"]) {
      ExplainFocus owner;
      owner.program = part["program"].get<i64>();
      const Json program = json_of(c, owner)["program"];
      RC_ASSERT(program["part"] == part["part"]);
      RC_ASSERT(program["rows"][0].get<i64>() + element["in_tile"][0].get<i64>() == focus.element->row);
      RC_ASSERT(program["cols"][0].get<i64>() + element["in_tile"][1].get<i64>() == focus.element->col);
      RC_ASSERT(focus.element->row <= program["rows"][1].get<i64>());
      RC_ASSERT(focus.element->col <= program["cols"][1].get<i64>());
      if (part["k"].is_null()) continue;
      RC_ASSERT(part["k"][0] == next);
      next = part["k"][1].get<i64>() + 1;
    }
    RC_ASSERT(next == k);
  }));
}

TEST(ExplainElement, SplitSumsAreNamedInOrder) {
  const Case c = make_case(130, 70, 65, "64x32x32 split=split_k(3)", 1 << 20);
  ExplainFocus focus;
  focus.element = {129, 69};
  const std::string text = text_of(c, focus);
  for (const char* part : {"p0 = sum over k = 0..31", "program 8)", "p1 = sum over k = 32..63", "program 17)",
                           "p2 = sum over k = 64..64", "program 26)", "(p0 + p1) + p2"}) {
    EXPECT_TRUE(holds(text, part)) << part << " is not in\n" << text;
  }
}

// Warnings and refusals
// ----------------------------------------------------------------------------------------------------------

TEST(ExplainWarning, Offset2To32WrapsToZero) {
  // 65536 * 65536 = 2^32: row 65536 of a matrix with a leading dimension of 65536.
  const Case c = make_case(65537, 1, 1, "16x16x16", {65536, 1, 1, 1, 1, 1});
  const Json warnings = json_of(c)["warnings"];
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0]["operand"], "a");
  EXPECT_EQ(warnings[0]["element"], (Json{65536, 0}));
  EXPECT_EQ(warnings[0]["offset"], i64{1} << 32);
  EXPECT_EQ(warnings[0]["wrapped"], 0);
  EXPECT_TRUE(holds(text_of(c), "WARNING: 32-bit offsets would wrap. A[65536, 0] is at offset 4294967296"));
}

TEST(ExplainWarning, OnlyPastTheLargestAndTheSmallest32BitOffset) {
  const i64 largest = std::numeric_limits<std::int32_t>::max();
  const auto warnings = [](i64 row_stride) {
    return json_of(make_case(2, 1, 1, "16x16x16", {row_stride, 1, 1, 1, 1, 1}))["warnings"];
  };
  EXPECT_EQ(warnings(largest).size(), 0u);
  ASSERT_EQ(warnings(largest + 1).size(), 1u);
  EXPECT_EQ(warnings(largest + 1)[0]["wrapped"], -largest - 1);
  EXPECT_EQ(warnings(-largest - 1).size(), 0u);
  ASSERT_EQ(warnings(-largest - 2).size(), 1u);
  EXPECT_EQ(warnings(-largest - 2)[0]["wrapped"], largest);
  EXPECT_EQ(json_of(make_case(1, 1, 1, "16x16x16", {i64{1} << 40, 1, 1, 1, 1, 1}))["warnings"].size(),
            0u);  // one row: never stepped
}

TEST(ExplainWarning, EachOperandIsLookedAt) {
  const i64 far = i64{1} << 31;
  const Json warnings = json_of(make_case(2, 2, 2, "16x16x16", {1, far, far, 1, 1, far}))["warnings"];
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[1]["operand"], "b");
  EXPECT_EQ(warnings[2]["operand"], "c");
  EXPECT_EQ(warnings[2]["element"], (Json{1, 1}));
}

ErrorCode refused(const Case& c, const ExplainFocus& focus, std::string& message) {
  try {
    json_text(c, focus);
  } catch (const Error& error) {
    message = error.what();
    return error.code();
  }
  ADD_FAILURE() << "accepted";
  return ErrorCode::target;
}

TEST(ExplainRefuses, AFocusOutsideOfTheProblem) {
  const Case c = make_case(130, 70, 65, "64x32x32");
  std::string message;
  for (const i64 program : {i64{-1}, i64{9}}) {
    ExplainFocus focus;
    focus.program = program;
    EXPECT_EQ(refused(c, focus, message), ErrorCode::problem);
    EXPECT_TRUE(holds(message, std::to_string(program)) && holds(message, "0 to 8")) << message;
  }
  for (const i64 step : {i64{-1}, i64{3}}) {
    ExplainFocus focus;
    focus.program = 0;
    focus.step = step;
    EXPECT_EQ(refused(c, focus, message), ErrorCode::problem);
    EXPECT_TRUE(holds(message, "0 to 2")) << message;
  }
  ExplainFocus lonely_step;
  lonely_step.step = 0;
  EXPECT_EQ(refused(c, lonely_step, message), ErrorCode::problem);
  for (const auto& [row, col] : {std::pair<i64, i64>{130, 0}, {0, 70}, {-1, 0}, {0, -1}}) {
    ExplainFocus focus;
    focus.element = {row, col};
    EXPECT_EQ(refused(c, focus, message), ErrorCode::problem);
    EXPECT_TRUE(holds(message, "130x70")) << message;
  }
  ExplainFocus no_cache;
  no_cache.cache_bytes = 0;
  EXPECT_EQ(refused(c, no_cache, message), ErrorCode::problem);
  ExplainFocus of_nothing;
  of_nothing.program = 0;
  EXPECT_EQ(refused(make_case(0, 70, 65, "64x32x32"), of_nothing, message), ErrorCode::problem);
}

TEST(ExplainRefuses, AddressesAndGridsBeyond63Bits) {
  std::string message;
  const i64 far = i64{1} << 40;
  EXPECT_EQ(refused(make_case(far, 1, far, "16x16x16"), {}, message), ErrorCode::address_range);
  EXPECT_TRUE(holds(message, "a is 1099511627776x1099511627776")) << message;
  EXPECT_EQ(refused(make_case(far, far, 1, "16x16x16", {0, 0, 0, 0, 0, 0}), {}, message), ErrorCode::problem);
  EXPECT_TRUE(holds(message, "68719476736 x 68719476736")) << message;
}

// The text
// -----------------------------------------------------------------------------------------------------------------------

TEST(ExplainText, FitsInto80Columns) {
  for (const auto& [m, n, k] : {std::array<i64, 3>{130, 70, 65},
                                {1001, 1001, 1001},
                                {4096, 50257, 4096},
                                {1, 1, 1},
                                {3, 500000, 7},
                                {1000000, 1, 100000}}) {
    const Case c = make_case(m, n, k, "");
    ExplainFocus first, last;
    first.program = 0;
    first.element = {0, 0};
    last.program = json_of(c)["programs"].get<i64>() - 1;
    last.element = {m - 1, n - 1};
    const std::string text = text_of(c) + text_of(c, first) + text_of(c, last);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      ASSERT_NE(end, std::string::npos) << "the last line has no end";
      const std::string line = text.substr(at, end - at);
      EXPECT_LE(columns(line), 80u) << line;
      EXPECT_NE(line.empty() ? 'x' : line.back(), ' ') << "'" << line << "'";
      at = end + 1;
    }
  }
}

TEST(ExplainText, SaysWhatTheFiguresAreAndAreNot) {
  const std::string text = flowing(text_of(make_case(130, 70, 65, "64x32x32")));
  for (const char* part :
       {"1,183,000 FLOP", "3,538,944 FLOP", "33.43 %", "21.33 FLOP/B", "8,192 B", "3 x 3 tiles of 64x32 outputs",
        "9 programs", "2x6 = 12 valid outputs", "1 of 32", "counted", "modelled", "idealised LRU", "not DRAM or HBM",
        "does not predict", "registers per thread", "never a dependency", "3 times", "░"}) {
    EXPECT_TRUE(holds(text, part)) << part << " is not in\n" << text;
  }
}

TEST(ExplainText, PictureShowsEveryProgramOfASmallGrid) {
  const std::string text = text_of(make_case(130, 70, 65, "64x32x32 order=grouped(2)"));
  const std::string picture = text.substr(text.find("┌"), text.find("└") - text.find("┌"));
  EXPECT_TRUE(holds(picture, "│  0   │  2   │ ░4░░░│")) << picture;
  EXPECT_TRUE(holds(picture, "│  1   │  3   │ ░5░░░│")) << picture;
  EXPECT_TRUE(holds(picture, "│  6   │  7   │ ░8░░░│")) << picture;
  EXPECT_TRUE(holds(picture, "│░░░░░░│░░░░░░│░░░░░░│")) << picture;
  EXPECT_FALSE(holds(text_of(make_case(128, 64, 64, "64x32x32")), "░"));
}

}  // namespace
}  // namespace tilewright
