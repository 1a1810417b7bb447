// Distributions of shapes: reading CSV, refusing by line, and weighing tiles.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include <tilewright/error.hpp>
#include <tilewright/explain.hpp>

namespace tilewright {
namespace {

CpuDescription invented_cpu() {
  CpuDescription cpu;
  cpu.cores = 2;
  return cpu;
}

TEST(Shapes, ColumnsInAnyOrderWithNamesGroupsAndComments) {
  const auto shapes = parse_shapes(
      "# name, K,N,M ,weight,group (a remark, with a comma)\r\n\nfirst,3,2,1,0.5,small\n# a "
      "comment\nsecond,30,20,10,2e3,large\r\n",
      "x.csv");
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].m, 1);
  EXPECT_EQ(shapes[0].n, 2);
  EXPECT_EQ(shapes[0].k, 3);
  EXPECT_EQ(shapes[0].weight, 0.5);
  EXPECT_EQ(shapes[0].name, "first");
  EXPECT_EQ(shapes[0].group, "small");
  EXPECT_EQ(shapes[1].m, 10);
  EXPECT_EQ(shapes[1].weight, 2000);
}

TEST(Shapes, LayoutColumnsAreIgnoredAndWeightDefaultsToOne) {
  const auto shapes = parse_shapes("m,n,k,ta,tb,lda,ldb,ldc\n5,6,7,n,t,0,0,x", "x.csv");
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0].k, 7);
  EXPECT_EQ(shapes[0].weight, 1);
}

TEST(Shapes, RemarksMayStandBeforeTheHeader) {
  const auto shapes = parse_shapes("# Shapes, of m models (n, k)\n#\n# m, n\nname,m,n,k\nx,5,6,7\n", "x.csv");
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0].k, 7);
}

TEST(Shapes, TheSuitesOfTheBenchAreLists) {
  for (const char* suite : {"cpu.csv", "gpu.csv", "decode.csv"}) {
    std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR "/bench/suites/") + suite);
    const std::string csv((std::istreambuf_iterator<char>(file)), {});
    EXPECT_GE(parse_shapes(csv, suite).size(), 10u);
  }
}

TEST(Shapes, AByteOrderMarkIsNoPartOfTheHeader) {
  EXPECT_EQ(parse_shapes("\xef\xbb\xbfm,n,k\n1,2,3\n", "x.csv").size(), 1u);
  EXPECT_EQ(parse_shapes("\xef\xbb\xbf# m,n,k\n1,2,3\n", "x.csv").size(), 1u);
}

struct Refused {
  const char* name;  // of the test
  const char* csv;
  const char* message;
};

class ShapesRefused : public ::testing::TestWithParam<Refused> {};

TEST_P(ShapesRefused, NamesTheLine) {
  try {
    parse_shapes(GetParam().csv, "x.csv");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::problem);
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lines, ShapesRefused,
    ::testing::Values(Refused{"NothingAtAll", "", "no header"},
                      Refused{"ColumnMissing", "m,n\n1,2\n", "x.csv, line 1: the header lacks the column k"},
                      Refused{"ColumnUnknown", "\nm,n,k,price\n", "x.csv, line 2: 'price'"},
                      Refused{"ColumnNamedTwice", "m,n,k,M\n", "line 1: the column 'M' is named twice"},
                      Refused{"CellsMissing", "m,n,k\n1,2,3\n\n1,2\n", "line 4: 2 cells, but the header names 3"},
                      Refused{"CellsTooMany", "m,n,k\n1,2,3,4\n", "line 2: 4 cells"},
                      Refused{"LettersForANumber", "m,n,k\n1,x,3\n", "line 2: 'x'"},
                      Refused{"ExtentOfZero", "m,n,k\n0,2,3\n", "line 2: '0'"},
                      Refused{"ExtentNegative", "m,n,k\n1,-2,3\n", "line 2: '-2'"},
                      Refused{"ExtentNotWhole", "m,n,k\n1,2.5,3\n", "line 2: '2.5'"},
                      Refused{"ExtentLeftOut", "m,n,k\n1,,3\n", "line 2: ''"},
                      Refused{"ExtentTooLong", "m,n,k\n1,2,9223372036854775808\n", "line 2: '9223372036854775808'"},
                      Refused{"WeightOfZero", "m,n,k,weight\n1,2,3,0\n", "line 2: '0'"},
                      Refused{"WeightNotANumber", "m,n,k,weight\n1,2,3,nan\n", "line 2: 'nan'"},
                      Refused{"WeightInfinite", "m,n,k,weight\n1,2,3,inf\n", "line 2: 'inf'"},
                      Refused{"WeightNegative", "m,n,k,weight\n1,2,3,-1\n", "line 2: '-1'"},
                      Refused{"HeaderMissing", "1,2,3\n", "line 1: '1' is no column"},
                      Refused{"CellWithAnEscape", "m,n,k\n1,\x1b[31m,3\n", "line 2: '\\x1b[31m' is"},
                      Refused{"HeaderWithAnEscape", "m,n,k,\x7f\n", "line 1: '\\x7f' is"},
                      Refused{"WeightWithAnEscape", "m,n,k,weight\n1,2,3,\x01\n", "line 2: '\\x01' is"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Shapes, ALongCellIsShortenedInTheMessage) {
  const std::string cell = "1" + std::string(100'000, 'x') + "9";
  for (const std::string& csv : {"m,n,k\n1,2," + cell, "m,n,k," + cell, "m,n,k,weight\n1,2,3," + cell}) {
    try {
      parse_shapes(csv, "x.csv");
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_LT(std::string_view(error.what()).size(), 200u);
      EXPECT_NE(std::string_view(error.what()).find("x...x"), std::string_view::npos) << error.what();
    }
  }
}

TEST(Shapes, WeightedUsefulRatioByHand) {
  const auto shapes = parse_shapes("m,n,k,weight\n130,70,65,3\n64,64,64,1\n", "x.csv");
  const auto json = nlohmann::json::parse(explain_shapes_json(shapes, DType::f16, invented_cpu(), 1));
  ASSERT_EQ(json["tiles"].size(), compiled_tiles().size());
  const auto tile = std::ranges::find_if(json["tiles"], [](const auto& entry) { return entry["tile"] == "64x32x32"; });
  ASSERT_NE(tile, json["tiles"].end());
  const double useful = 3 * 1183000.0 + 524288, block = 3 * 3538944.0 + 524288;
  EXPECT_NEAR((*tile)["useful_ratio"].get<double>(), useful / block, 5e-5);
  EXPECT_EQ((*tile)["mean_programs"], (3 * 9 + 2) / 4.0);
  EXPECT_EQ(json["weight"], 4.0);
}

TEST(Shapes, TilesComeByModelledTimeAndThePlannerIsNoSlower) {
  const auto shapes = parse_shapes("m,n,k\n1001,1001,1001\n1,4096,4096\n64,64,64\n", "x.csv");
  const auto json = nlohmann::json::parse(explain_shapes_json(shapes, DType::bf16, invented_cpu(), 2));
  double before = 0;
  i64 chosen = 0;
  for (const auto& tile : json["tiles"]) {
    EXPECT_GE(tile["mean_us"].get<double>(), before);
    before = tile["mean_us"];
    chosen += tile["chosen_for"].get<i64>();
  }
  EXPECT_EQ(chosen, 3);
  EXPECT_LE(json["planner_mean_us"].get<double>(), json["tiles"][0]["mean_us"].get<double>() + 1e-3);
  const std::string text = explain_shapes_text(shapes, DType::bf16, invented_cpu(), 2);
  for (const char* part : {"3 shapes", "bf16", "128x128x128", "counted", "modelled", "planner"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(Shapes, EmptyDistributionIsRefused) {
  EXPECT_THROW(explain_shapes_text(parse_shapes("m,n,k\n", "x.csv"), DType::f16, invented_cpu(), 1), Error);
}

}  // namespace
}  // namespace tilewright
