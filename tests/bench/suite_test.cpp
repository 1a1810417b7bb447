// Suites: reading them, refusing by line, and the memory that a case stands for.
#include <array>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>
#include "bench/suite.hpp"

namespace tilewright::bench {
namespace {

constexpr const char* head = "name,group,m,n,k,layout,types,lda,ldb,ldc,offset,step\n";

Case only(const std::string& line) {
  const std::vector<Case> cases = parse_suite(head + line, "x.csv");
  EXPECT_EQ(cases.size(), 1u);
  return cases.at(0);
}

TEST(Suite, ReadsCasesRemarksAndDefaults) {
  const std::vector<Case> cases = parse_suite(
      "# a remark\r\n\ngroup,name,k,n,m,types,layout\r\n g1 , x ,3,2,1,f16 bf16,nt\n# another\ng2,y,6,5,4,f32,nn",
      "x.csv");
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].name, "x");
  EXPECT_EQ(cases[0].group, "g1");
  EXPECT_EQ(cases[0].type, DType::f16);
  EXPECT_EQ(cases[1].type, DType::bf16);
  EXPECT_EQ(cases[1].name, "x");
  EXPECT_EQ(cases[0].layout(), "nt");
  EXPECT_EQ(cases[0].m, 1);
  EXPECT_EQ(cases[0].n, 2);
  EXPECT_EQ(cases[0].k, 3);
  EXPECT_EQ(cases[0].lda, 3);
  EXPECT_EQ(cases[0].ldb, 3);  // B is stored as 2 rows of 3
  EXPECT_EQ(cases[0].ldc, 2);
  EXPECT_EQ(cases[2].ldb, 5);
  EXPECT_EQ(cases[2].type, DType::f32);
  EXPECT_DOUBLE_EQ(cases[2].flops(), 2.0 * 4 * 5 * 6);
  EXPECT_DOUBLE_EQ(cases[2].bytes(), 4.0 * (24 + 30 + 20));
}

TEST(Suite, ViewsLieAsTheLineSays) {
  const Case strange = only("x,g,5,7,6,tn,f16,20,30,9,3,2\n");
  const Operands operands(strange);
  const Job job = operands.job(2);
  EXPECT_EQ(job.threads, 2);
  EXPECT_EQ(job.a.rows, 5);
  EXPECT_EQ(job.a.cols, 6);
  EXPECT_EQ(job.a.row_stride, 2);
  EXPECT_EQ(job.a.col_stride, 20);
  EXPECT_EQ(job.b.row_stride, 30);
  EXPECT_EQ(job.b.col_stride, 2);
  EXPECT_EQ(job.c.row_stride, 9);
  EXPECT_EQ(job.c.col_stride, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(job.a.data) % 64, 3 * sizeof(f16));
  EXPECT_EQ(only("x,g,5,7,6,nn,f16,,,,,2\n").lda, 12);
}

TEST(Suite, OperandsAreUniformAndTheOutputIsPoisoned) {
  Operands operands(only("x,g,40,50,60,nn,bf16,,,,,\n"));
  const Job job = operands.job(1);
  double sum = 0, least = 2, largest = -2;
  for (i64 i = 0; i < 40 * 60; ++i) {
    const double value = to_float(static_cast<const bf16*>(job.a.data)[i]);
    sum += value;
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  EXPECT_LT(std::fabs(sum / 2400), 0.06);  // five standard deviations
  EXPECT_GE(least, -1);
  EXPECT_LT(least, -0.98);
  EXPECT_LE(largest, 1);
  EXPECT_GT(largest, 0.98);
  EXPECT_EQ(operands.untouched(), 40 * 50);
  gemm_into(job.a, job.b, job.c);
  EXPECT_EQ(operands.untouched(), 0);
  operands.poison_output();
  EXPECT_EQ(operands.untouched(), 40 * 50);
}

struct Refused {
  std::string name;  // of the test
  std::string csv, message;
};
class SuiteRefused : public ::testing::TestWithParam<Refused> {};

TEST_P(SuiteRefused, NamesTheLine) {
  try {
    parse_suite(GetParam().csv, "x.csv");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::problem);
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
  }
}

std::string lines(const std::string& text) { return head + text; }

INSTANTIATE_TEST_SUITE_P(
    Lines, SuiteRefused,
    ::testing::Values(
        Refused{"NothingAtAll", "", "no cases"}, Refused{"HeaderAlone", head, "no cases"},
        Refused{"ColumnMissing", "name,group,m,n,k,layout\n", "x.csv, line 1: the header lacks the column types"},
        Refused{"ColumnUnknown", "\nname,price\n", "line 2: 'price'"},
        Refused{"ColumnNamedTwice", "name,name\n", "line 1: the column 'name' is named twice"},
        Refused{"CellsMissing", lines("x,g,1,2,3,nn,f16\n"), "line 2: 7 cells, but the header names 12"},
        Refused{"NameEmpty", lines("# fine\n,g,1,2,3,nn,f16,,,,,\n"), "line 3: the name is empty"},
        Refused{"NameThatMovesTheCursor", lines("x\x1b[2J,g,1,2,3,nn,f16,,,,,\n"),
                "line 2: the name 'x\\x1b[2J' is not printable"},
        Refused{"GroupEmpty", lines("x,,1,2,3,nn,f16,,,,,\n"), "line 2: the group is empty"},
        Refused{"ExtentOfZero", lines("x,g,0,2,3,nn,f16,,,,,\n"), "line 2: m is '0'"},
        Refused{"ExtentNotWhole", lines("x,g,1,2.5,3,nn,f16,,,,,\n"), "n is '2.5'"},
        Refused{"ExtentLeftOut", lines("x,g,1,2,,nn,f16,,,,,\n"), "k is ''"},
        Refused{"ExtentTooLong", lines("x,g,1,2,2147483648,nn,f16,,,,,\n"), "k is '2147483648'"},
        Refused{"LayoutUnknown", lines("x,g,1,2,3,nx,f16,,,,,\n"), "the layout is 'nx'"},
        Refused{"TypesTwoBlanksApart", lines("x,g,1,2,3,nn,f16  bf16,,,,,\n"), "the types are 'f16  bf16'"},
        Refused{"TypeF64", lines("x,g,1,2,3,nn,f64,,,,,\n"), "the types are 'f64'"},
        Refused{"TypesEmpty", lines("x,g,1,2,3,nn,,,,,,\n"), "the types are ''"},
        Refused{"LdaTooShort", lines("x,g,1,2,3,nn,f16,2,,,,\n"), "lda is 2, but a stored row reaches over 3"},
        Refused{"LdbTooShort", lines("x,g,4,5,3,nt,f16,,2,,,\n"), "ldb is 2"},
        Refused{"LdcTooShort", lines("x,g,4,5,3,nn,f16,,,4,,\n"), "ldc is 4"},
        Refused{"LdaTooShortForTheStep", lines("x,g,4,5,3,nn,f16,4,,,,2\n"),
                "lda is 4, but a stored row reaches over 5"},
        Refused{"OffsetNegative", lines("x,g,1,2,3,nn,f16,,,,-1,\n"), "offset is '-1'"},
        Refused{"StepOfZero", lines("x,g,1,2,3,nn,f16,,,,,0\n"), "step is '0'"},
        Refused{"RowTooLong", lines("x,g,1,2,2147483647,nn,f16,,,,,2\n"), "longer than"},
        Refused{"CaseTwice", lines("x,g,1,2,3,nn,f16,,,,,\nx,g,4,5,6,nn,bf16 f16,,,,,\n"),
                "line 3: there is a case x of type f16"}),
    [](const auto& info) { return std::string(info.param.name); });

std::vector<Case> committed(const std::string& name) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/bench/suites/" + name);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return parse_suite(text, name);
}

TEST(Suite, TheCommittedSuitesCanBeRead) {
  EXPECT_EQ(committed("cpu.csv").size(), 30u);
  EXPECT_EQ(committed("gpu.csv").size(), 43u);
  EXPECT_EQ(committed("decode.csv").size(), 16u);
}

TEST(Suite, EachOddDecodeCaseFollowsAnAlignedNeighbour) {
  const Case* aligned = nullptr;
  const std::vector<Case> cases = committed("decode.csv");
  for (const Case& one : cases) {
    if (one.group == "aligned") aligned = &one;
    ASSERT_NE(aligned, nullptr);
    EXPECT_EQ(one.m, aligned->m) << one.name;
    EXPECT_EQ(one.n + one.k, aligned->n + aligned->k + (one.group == "odd" ? 1 : 0)) << one.name;
    EXPECT_TRUE(one.name.starts_with(aligned->name)) << one.name;
  }
}

TEST(Suite, TheGpuGroupsSayHowRowsAreAligned) {
  for (const Case& one : committed("gpu.csv")) {
    const auto alignment = [&](i64 ld) { return std::gcd<i64>(ld * size_of(one.type), 16); };
    const i64 inputs = std::min(alignment(one.lda), alignment(one.ldb)), output = alignment(one.ldc);
    if (one.group == "odd") {
      EXPECT_EQ(inputs, 2) << one.name;
    } else if (one.group == "odd_c") {
      EXPECT_EQ(inputs, 16) << one.name;
      EXPECT_EQ(output, 2) << one.name;
    } else {
      EXPECT_EQ(std::min(inputs, output), one.group == "aligned8" ? 8 : 16) << one.name;
    }
  }
}

TEST(Suite, AStepIsThatOfBothInputsUnlessBHasItsOwn) {
  const auto one = [](const std::string& rest) {
    return parse_suite("name,group,m,n,k,layout,types,lda,ldb,step,stepb\nx,g,3,5,7,nn,f16," + rest + "\n", "x.csv")
        .at(0);
  };
  const auto steps = [](const Case& which) { return std::array{which.step, which.stepb, which.lda, which.ldb}; };
  EXPECT_EQ(steps(one(",,2,")), (std::array<i64, 4>{2, 2, 14, 10}));
  EXPECT_EQ(steps(one(",,2,1")), (std::array<i64, 4>{2, 1, 14, 5}));
  EXPECT_EQ(steps(one(",,,3")), (std::array<i64, 4>{1, 3, 7, 15}));
  EXPECT_EQ(steps(one(",40,,3")), (std::array<i64, 4>{1, 3, 7, 40}));
  const Job job = job_at(one(",,,3"), nullptr, nullptr, nullptr, 1);
  EXPECT_EQ(job.a, (MatrixView{nullptr, DType::f16, 3, 7, 7, 1}));
  EXPECT_EQ(job.b, (MatrixView{nullptr, DType::f16, 7, 5, 15, 3}));
}

}  // namespace
}  // namespace tilewright::bench
