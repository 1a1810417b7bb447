// Reports about 32-bit arithmetic: offsets, strides, grids and estimates beyond 2^31. The matrices are of the reported
// sizes; their memory is sparse (untouched pages read as zeros and take none) or one small piece shown over and over.
#include "tests/reports/memory.hpp"

namespace {

using namespace reports;

constexpr i64 mebibyte = i64{1} << 20;

/// f16 ones, as many as wanted, in one mebibyte of memory.
oracle::Repeated endless_ones(i64 elements) {
  oracle::Repeated memory(2 * elements, mebibyte);
  const Cells cells{memory.base(), Type::f16, 1, mebibyte / 2, 0, 1};
  for (i64 n = 0; n < mebibyte / 2; ++n) cells.set(0, n, 1.0);
  return memory;
}

/// Rows past element 2^31 of a matrix times a vector came out wrong.
TEST(Reports, OV_1_a_vector_times_more_than_2_to_the_31_elements) {
  constexpr i64 m = 12347, k = 174000;
  const oracle::Mapping memory(m * k * 2);
  const Cells a{memory.base(), Type::f16, m, k, k, 1};
  for (i64 j = 0; j < k; ++j) a.set(m - 1, j, 1.0);
  Memory b(Type::f16, k, 1.0);
  Result(a, b.cells(k, 1, 1), Type::f32).expect_each([](i64 i, i64) { return i == m - 1 ? 174000.0 : 0.0; });
}

/// An output of 2^31 elements: a stride wrapped to a negative one. All 4 GiB are written; since row i equals row i mod
/// 7, they are 112 rows of memory shown over and over.
TEST(Reports, OV_2_an_output_of_2_to_the_31_elements) {
  constexpr i64 m = 65536, n = 32768, shown = 112;
  const oracle::Repeated memory(m * n * 2, shown * n * 2);
  const Cells c{memory.base(), Type::f16, m, n, n, 1};
  for (i64 i = 0; i < shown; ++i) {
    for (i64 j = 0; j < n; ++j) c.set_bits(i, j, oracle::untouched_bits(Type::f16));
  }
  Memory a(Type::f16, m, 0.0), b(Type::f16, n, 0.0);
  for (i64 i = 0; i < m; ++i) a.set(i, static_cast<double>(i % 7));
  for (i64 j = 0; j < n; ++j) b.set(j, static_cast<double>(j % 5));
  gemm_into(view_of(a.cells(m, 1, 1)), view_of(b.cells(1, n, n)), view_of(c));
  const auto want = [](i64 i, i64 j) { return static_cast<double>((i % 7) * (j % 5)); };
  EXPECT_EQ(c.value(m - 1, n - 1), 2.0);
  EXPECT_EQ(c.value(0, 0), 0.0);
  EXPECT_EQ(c.value(0, n - 1), 0.0);
  EXPECT_EQ(c.value(m - 1, 0), 0.0);
  oracle::Random random(1);
  for (int place = 0; place < 1000; ++place) {
    const i64 i = random.whole(0, m - 1), j = random.whole(0, n - 1);
    ASSERT_EQ(c.value(i, j), want(i, j)) << i << ", " << j;
  }
  i64 wrong = 0;
  for (i64 i = 0; i < shown; ++i) {
    for (i64 j = 0; j < n; ++j) wrong += c.value(i, j) != want(i, j);
  }
  EXPECT_EQ(wrong, 0);
}

/// A launch failed once an axis of the grid passed 65,535 programs. Under every tile, along M and along N; the result
/// is real memory, so that no program can be missing.
void many_programs(bool along_m) {
  constexpr i64 extent = 8400000, other = 8;
  const oracle::Repeated long_ones = endless_ones(extent * other);
  Memory short_ones(Type::f16, other * other, 1.0);
  for (const TileShape& tile : compiled_tiles()) {
    const oracle::Mapping memory(extent * other * 2);
    PlanRequest request;
    request.tile = tile;
    if (along_m) {
      gemm_into(view_of(Cells{long_ones.base(), Type::f16, extent, other, other, 1}),
                view_of(short_ones.cells(other, other, other)),
                view_of(Cells{memory.base(), Type::f16, extent, other, other, 1}), harness::options_of(request));
    } else {
      gemm_into(view_of(short_ones.cells(other, other, other)),
                view_of(Cells{long_ones.base(), Type::f16, other, extent, extent, 1}),
                view_of(Cells{memory.base(), Type::f16, other, extent, extent, 1}), harness::options_of(request));
    }
    const std::uint32_t eight = oracle::encode(Type::f16, 8.0);
    const Cells c{memory.base(), Type::f16, 1, extent * other, 0, 1};
    i64 wrong = 0;
    for (i64 n = 0; n < c.cols; ++n) wrong += c.bits(0, n) != eight;
    EXPECT_EQ(wrong, 0) << text_of(request);
  }
}
TEST(Reports, OV_3_more_than_65535_programs_along_m) { many_programs(true); }
TEST(Reports, OV_3_more_than_65535_programs_along_n) { many_programs(false); }

/// A blocking heuristic multiplied dimensions in int and went negative.
TEST(Reports, OV_4_the_planners_estimate_is_positive_and_monotone) {
  CpuDescription invented;
  invented.cores = 8;
  for (const CpuDescription& cpu : {invented, this_cpu()}) {
    const auto cost = [&](i64 m, i64 n, i64 k) {
      Problem problem;
      problem.m = m, problem.n = n, problem.k = k;
      problem.a = problem.b = problem.c = {UnitAxis::k, 16};
      const PlanChoice choice = choose_plan(problem, {}, cpu, cpu.cores, 0);
      EXPECT_FALSE(choice.candidates.empty());
      for (const Candidate& candidate : choice.candidates) {
        if (candidate.rejected.empty()) {
          EXPECT_GT(candidate.microseconds, 0.0);
        }
      }
      EXPECT_TRUE(choice.candidates.front().rejected.empty());
      return choice.candidates.front().microseconds;
    };
    const std::array<i64, 4> extents = {16383, 16384, 32769, i64{1} << 20};
    for (std::size_t at = 0; at + 1 < extents.size(); ++at) {
      const i64 low = extents[at], high = extents[at + 1];
      for (const i64 other : extents) {
        EXPECT_GE(cost(high, other, other), cost(low, other, other));
        EXPECT_GE(cost(other, high, other), cost(other, low, other));
        EXPECT_GE(cost(other, other, high), cost(other, other, low));
      }
    }
  }
}
TEST(Reports, OV_4_products_with_two_extents_of_16384) {
  constexpr i64 extent = 16384;
  const oracle::Repeated ones = endless_ones(extent * extent);
  const auto square = [&](i64 rows, i64 cols) { return Cells{ones.base(), Type::f16, rows, cols, cols, 1}; };
  Result(square(extent, extent), square(extent, 1), Type::f32).expect_all(16384.0);
  Result(square(1, extent), square(extent, extent), Type::f32).expect_all(16384.0);
  const oracle::Repeated memory(extent * extent * 2, mebibyte);
  const Cells c{memory.base(), Type::f16, extent, extent, extent, 1};
  gemm_into(view_of(square(extent, 1)), view_of(square(1, extent)), view_of(c));
  for (i64 i = 0; i < extent; i += 31) {
    for (i64 j = 0; j < extent; j += 1023) ASSERT_EQ(c.value(i, j), 1.0) << i << ", " << j;
  }
}

/// A stride product of 49152 x 65536 became negative.
TEST(Reports, OV_5_a_row_past_2_to_the_31_elements_of_b) {
  constexpr i64 k = 49152, n = 65536;
  const oracle::Mapping memory(k * n * 2);
  const Cells b{memory.base(), Type::f16, k, n, n, 1};
  for (i64 j = 0; j < n; ++j) b.set(k - 1, j, 3.0);
  Memory a(Type::f16, k, 0.0);
  a.set(k - 1, 1.0);
  Result(a.cells(1, k, k), b, Type::f32).expect_all(3.0);
}

}  // namespace
