// Verification must find one wrong element of any size, anywhere, in any layout, and must accept everything that
// rounding allows.
//
// Products come from a naive loop of its own in double, rounded once to the output type; with small integers that is
// exact.
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <tilewright/error.hpp>
#include <tilewright/verify.hpp>

#include "verify/bound.hpp"
#include "verify/sample.hpp"

namespace tilewright {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A row-major matrix of E with `padding` more elements between rows.
template <class E>
struct Stored {
  Stored(i64 rows, i64 cols, i64 padding = 0)
      : rows(rows),
        cols(cols),
        ld(cols + padding),
        elements(static_cast<std::size_t>(rows * ld), from_float<E>(-77.f)) {}
  E& at(i64 i, i64 j) { return elements[static_cast<std::size_t>(i * ld + j)]; }
  MatrixView view() const { return view_of(elements.data(), rows, cols, ld); }
  i64 rows, cols, ld;
  std::vector<E> elements;
};

template <class E>
Stored<E> integers(i64 rows, i64 cols, unsigned seed, i64 padding = 0) {
  Stored<E> matrix(rows, cols, padding);
  std::mt19937 random(seed);
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < cols; ++j)
      matrix.at(i, j) = from_float<E>(static_cast<float>(static_cast<int>(random() % 9) - 4));
  return matrix;
}

template <class E, class O = E>
Stored<O> product(Stored<E>& a, Stored<E>& b) {
  Stored<O> c(a.rows, b.cols, 3);
  for (i64 i = 0; i < a.rows; ++i)
    for (i64 j = 0; j < b.cols; ++j) {
      double sum = 0;
      for (i64 k = 0; k < a.cols; ++k)
        sum += static_cast<double>(to_float(a.at(i, k))) * static_cast<double>(to_float(b.at(k, j)));
      c.at(i, j) = from_float<O>(static_cast<float>(sum));
    }
  return c;
}

template <class E>
void expect_exact_products_pass_and_single_faults_fail() {
  auto a = integers<E>(130, 65, 1, 2), b = integers<E>(65, 70, 2);
  auto c = product(a, b);
  const VerifyResult right = verify(a.view(), b.view(), c.view());
  EXPECT_TRUE(right.passed);
  EXPECT_EQ(right.checked, 130 * 70);
  EXPECT_EQ(right.total, 130 * 70);
  EXPECT_EQ(right.failures, 0);
  EXPECT_EQ(right.worst, 0) << "small integers are exact";
  for (i64 i = 0; i < c.rows; i += 7) {
    for (i64 j = i % 2; j < c.cols; j += 9) {
      const E kept = c.at(i, j);
      c.at(i, j) = from_float<E>(to_float(kept) + 2.f);  // one product of 2 too many
      const VerifyResult wrong = verify(a.view(), b.view(), c.view());
      ASSERT_FALSE(wrong.passed) << i << "," << j;
      ASSERT_EQ(wrong.failures, 1);
      ASSERT_EQ(wrong.row, i);
      ASSERT_EQ(wrong.col, j);
      ASSERT_GT(wrong.worst, 1);
      ASSERT_EQ(wrong.expected, static_cast<double>(to_float(kept)));
      ASSERT_EQ(wrong.got, static_cast<double>(to_float(c.at(i, j))));
      c.at(i, j) = kept;
    }
  }
}

TEST(Verify, OneWrongElementIsFoundWhereItIsF16) { expect_exact_products_pass_and_single_faults_fail<f16>(); }
TEST(Verify, OneWrongElementIsFoundWhereItIsBf16) { expect_exact_products_pass_and_single_faults_fail<bf16>(); }
TEST(Verify, OneWrongElementIsFoundWhereItIsF32) { expect_exact_products_pass_and_single_faults_fail<float>(); }

// One f16 unit in the last place off is twice the bound of a K = 1 product; half of it is what rounding may do.
TEST(Verify, OneUnitInTheLastPlaceIsTooMuch) {
  Stored<f16> a(1, 1), b(1, 1), c(1, 1);
  a.at(0, 0) = to_f16(1.f);
  b.at(0, 0) = to_f16(1.f);
  c.at(0, 0) = to_f16(1.f);
  EXPECT_TRUE(verify(a.view(), b.view(), c.view()).passed);
  c.at(0, 0) = f16{static_cast<u16>(to_f16(1.f).bits + 1)};
  const VerifyResult result = verify(a.view(), b.view(), c.view());
  EXPECT_FALSE(result.passed);
  EXPECT_GT(result.worst, 1.9);
  EXPECT_LT(result.worst, 2.0);
}

// 2^-127 * 2^100 is 0 to an instruction set that flushes subnormals, and 2^-27 to all others; sums below 2^-126 may be
// 0.
TEST(Verify, SubnormalsAreZerosWhereThePlanFlushesThem) {
  VerifyOptions flushing;
  flushing.mma = Mma::avx512_bf16;
  Stored<bf16> a(1, 1), b(1, 1);
  Stored<float> c(1, 1);
  const auto passes = [&](float x, float y, float product, const VerifyOptions& options) {
    a.at(0, 0) = to_bf16(x), b.at(0, 0) = to_bf16(y), c.at(0, 0) = product;
    return verify(a.view(), b.view(), c.view(), options).passed;
  };
  EXPECT_TRUE(passes(0x1p-127f, 0x1p100f, 0x1p-27f, {}));
  EXPECT_FALSE(passes(0x1p-127f, 0x1p100f, 0, {}));
  EXPECT_TRUE(passes(0x1p-127f, 0x1p100f, 0, flushing));
  EXPECT_FALSE(passes(0x1p-127f, 0x1p100f, 0x1p-27f, flushing));
  EXPECT_FALSE(passes(0x1p-70f, 0x1p-60f, 0, {}));
  EXPECT_TRUE(passes(0x1p-70f, 0x1p-60f, 0, flushing));
  EXPECT_TRUE(passes(0x1p-63f, 0x1p-63f, 0x1p-126f, flushing));
  EXPECT_FALSE(passes(0x1p-63f, 0x1p-62f, 0, flushing));
}

TEST(Verify, ReadsEveryLayoutThroughItsStrides) {
  auto a = integers<f16>(37, 29, 3, 1), b = integers<f16>(29, 41, 4, 5);
  auto c = product(a, b);
  // C^T = B^T * A^T, by views alone.
  EXPECT_TRUE(verify(b.view().transposed(), a.view().transposed(), c.view().transposed()).passed);
  // Both orders of K reversed, and rows of a and c, columns of b and c.
  const MatrixView flipped_a = a.view().flipped_cols().flipped_rows();
  const MatrixView flipped_b = b.view().flipped_rows().flipped_cols();
  EXPECT_TRUE(verify(flipped_a, flipped_b, c.view().flipped_rows().flipped_cols()).passed);
  // Only one of the K orders reversed is another product.
  EXPECT_FALSE(verify(a.view().flipped_cols(), b.view(), c.view()).passed);
  // Every second row.
  const Slice even{{}, {}, 2}, all{};
  EXPECT_TRUE(verify(a.view().slice(even, all), b.view(), c.view().slice(even, all)).passed);
  // A row repeated by stride 0.
  MatrixView row = a.view().slice(Slice{0, 1, {}}, all), c_row = c.view().slice(Slice{0, 1, {}}, all);
  EXPECT_TRUE(verify(row.broadcast_to(50, 29), b.view(), c_row.broadcast_to(50, 41)).passed);
}

TEST(Verify, LongSumsAgainstTheirBoundAndNoMore) {
  // 1 + 2^-11 in FP16 is a tie; K = 1000 random terms in f32 leave an error that the bound must cover but not by far.
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1.f, 1.f);
  Stored<float> a(8, 1000), b(1000, 8), c(8, 8);
  for (float& x : a.elements) x = uniform(random);
  for (float& x : b.elements) x = uniform(random);
  for (i64 i = 0; i < 8; ++i)
    for (i64 j = 0; j < 8; ++j) {
      float sum = 0;
      for (i64 k = 0; k < 1000; ++k) sum += a.at(i, k) * b.at(k, j);
      c.at(i, j) = sum;
    }
  const VerifyResult right = verify(a.view(), b.view(), c.view());
  EXPECT_TRUE(right.passed);
  EXPECT_GT(right.worst, 0);
  for (float& x : c.elements) x += x == -77.f ? 0.f : 0.05f;  // 1002 * 2^-24 * about 250 is 0.015
  const VerifyResult wrong = verify(a.view(), b.view(), c.view());
  EXPECT_EQ(wrong.failures, 64);
}

TEST(Verify, NothingToSumGivesZeros) {
  Stored<f16> a(3, 0), b(0, 4), c(3, 4);
  for (f16& x : c.elements) x = to_f16(0.f);
  EXPECT_TRUE(verify(a.view(), b.view(), c.view()).passed);
  c.at(2, 3) = to_f16(1.f);
  EXPECT_FALSE(verify(a.view(), b.view(), c.view()).passed);
}

TEST(Verify, AnEmptyProductHasNothingToCheck) {
  Stored<f16> a(0, 5), b(5, 4), c(0, 4);
  const VerifyResult result = verify(a.view(), b.view(), c.view());
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.checked, 0);
  EXPECT_EQ(result.total, 0);
}

TEST(Verify, NanAndInfinityOfTheInputsAreExpectedInTheResult) {
  Stored<f16> a(1, 2), b(2, 1), c(1, 1);
  const auto passes = [&](float a0, float b0, float got) {
    a.at(0, 0) = to_f16(a0), a.at(0, 1) = to_f16(1.f);
    b.at(0, 0) = to_f16(b0), b.at(1, 0) = to_f16(1.f);
    c.at(0, 0) = to_f16(got);
    const VerifyResult result = verify(a.view(), b.view(), c.view());
    EXPECT_EQ(result.worst, result.passed ? 0 : infinity);
    return result.passed;
  };
  EXPECT_TRUE(passes(INFINITY, 1.f, INFINITY));
  EXPECT_FALSE(passes(INFINITY, 1.f, -INFINITY));
  EXPECT_FALSE(passes(INFINITY, 1.f, 65504.f));
  EXPECT_FALSE(passes(INFINITY, 1.f, NAN));
  EXPECT_TRUE(passes(INFINITY, 0.f, NAN));
  EXPECT_FALSE(passes(INFINITY, 0.f, INFINITY));
  EXPECT_FALSE(passes(INFINITY, 0.f, 1.f));
  EXPECT_TRUE(passes(NAN, 1.f, NAN));
  EXPECT_FALSE(passes(1.f, 1.f, NAN));
  EXPECT_FALSE(passes(1.f, 1.f, INFINITY));
}

// The rule of one element, at every border that it has.
double fraction(double expected, double magnitude, i64 k, DType type, double got) {
  return verification::error_fraction(expected, magnitude, verification::sum_error(k), verification::rounding_of(type),
                                      got);
}

TEST(VerifyBound, AllowsProductsThatUnderflow) {
  // A thousand products of 1e-23 by 1e-23: each is lost in FP32, their sum in FP64 is not.
  EXPECT_LE(fraction(1e-43, 1e-43, 1000, DType::f32, 0), 1);
  EXPECT_GT(fraction(1e-41, 1e-41, 1000, DType::f32, 0), 1);
}

TEST(VerifyBound, IsTheFormula) {
  const double g = 67.0 / 16777216 / (1 - 67.0 / 16777216);
  EXPECT_DOUBLE_EQ(verification::gamma(67), g);
  const double bound = g * 100 + 1.01 * std::ldexp(3.0, -11) + std::ldexp(1.0, -25);
  EXPECT_NEAR(fraction(3, 100, 65, DType::f16, 3 + bound), 1, 1e-8);
  EXPECT_NEAR(fraction(3, 100, 65, DType::f16, 3 - bound / 2), 0.5, 1e-8);
  EXPECT_DOUBLE_EQ(fraction(0, 0, 0, DType::f16, std::ldexp(1.0, -25)), 1);
  EXPECT_DOUBLE_EQ(fraction(0, 0, 0, DType::bf16, std::ldexp(1.0, -134)), 1);
  EXPECT_DOUBLE_EQ(fraction(0, 0, 0, DType::f32, std::ldexp(1.0, -150)), 1);
  EXPECT_NEAR(fraction(-1, 0, 65, DType::bf16, -1 - 1.01 * std::ldexp(1.0, -8)), 1, 1e-8);
  EXPECT_NEAR(fraction(-1, 0, 65, DType::f32, -1 - 1.01 * std::ldexp(1.0, -24)), 1, 1e-8);
  EXPECT_TRUE(std::isfinite(verification::gamma(i64{1} << 24)));
  EXPECT_GE(verification::gamma(i64{1} << 40), 65536);
}

TEST(VerifyBound, InfinityIsRightFromTheOverflowMidpointOn) {
  const struct {
    DType type;
    double largest, midpoint;
  } types[] = {{DType::f16, 65504, 65520},
               {DType::bf16, 0x1.fep127, 0x1.ffp127},
               {DType::f32, std::numeric_limits<float>::max(), 0x1.ffffffp127}};
  for (const auto& t : types) {
    EXPECT_EQ(fraction(t.midpoint, 0, 1, t.type, infinity), 0);
    EXPECT_EQ(fraction(-t.midpoint, 0, 1, t.type, -infinity), 0);
    EXPECT_EQ(fraction(t.midpoint, 0, 1, t.type, -infinity), infinity);
    EXPECT_EQ(fraction(-t.midpoint, 0, 1, t.type, infinity), infinity);
    EXPECT_EQ(fraction(std::nextafter(t.midpoint, 0), 0, 1, t.type, infinity), infinity);
    EXPECT_LE(fraction(std::nextafter(t.midpoint, 0), 0, 1, t.type, t.largest), 1);
    EXPECT_EQ(fraction(t.midpoint, 0, 1, t.type, t.largest), infinity);
    // Where the FP32 sum may lie on either side, either answer is right.
    EXPECT_EQ(fraction(t.midpoint * (1 - 0x1p-23), t.midpoint, 1, t.type, infinity), 0);
    EXPECT_LE(fraction(t.midpoint * (1 - 0x1p-23), t.midpoint, 1, t.type, t.largest), 1);
    EXPECT_LE(fraction(t.midpoint * (1 + 0x1p-23), t.midpoint, 1, t.type, t.largest), 1);
  }
}

TEST(VerifyBound, SumsMayOverflowOnTheWay) {
  constexpr double midpoint = 0x1.ffffffp127;
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    // 3e38 + 3e38 - 3e38: two terms above zero pass the midpoint, the one below does not.
    const double c = 3e4;
    EXPECT_EQ(fraction(c, 2 * midpoint - c, 3, type, infinity), 0);
    EXPECT_EQ(fraction(-c, 2 * midpoint - c, 3, type, -infinity), 0);
    EXPECT_EQ(fraction(3e38, 9e38, 3, type, infinity), 0);
    EXPECT_EQ(fraction(3e38, 9e38, 3, type, -infinity), infinity);
    EXPECT_EQ(fraction(3e38, 9e38, 3, type, nan), infinity);
    EXPECT_EQ(fraction(-3e38, 9e38, 3, type, -infinity), 0);
    EXPECT_EQ(fraction(-3e38, 9e38, 3, type, nan), infinity);
    // Both signs pass it: infinity - infinity.
    for (const double got : {infinity, -infinity, nan}) EXPECT_EQ(fraction(0, 2 * midpoint, 2, type, got), 0);
    EXPECT_EQ(fraction(0, 2 * midpoint * (1 - 0x1p-20), 2, type, nan), infinity);
    EXPECT_EQ(fraction(0, 2 * midpoint * (1 - 0x1p-23), 2, type, nan), 0) << "within gamma";
    EXPECT_LE(fraction(0, 4 * midpoint, 4, type, 0), 1) << "in another order nothing overflows";
  }
  for (const double got : {infinity, -infinity})  // an f16 output overflows here by the bound alone
    EXPECT_EQ(fraction(0, 2 * midpoint * (1 - 0x1p-20), 2, DType::f32, got), infinity);
}

TEST(Verify, AcceptsWhatOverflowsOnTheWay) {
  Stored<float> a(1, 3), b(3, 1), c(1, 1);
  a.elements = {3e38f, 3e38f, -3e38f};
  b.elements = {1, 1, 1};
  for (const float got : {INFINITY, 3e38f}) {
    c.at(0, 0) = got;
    const VerifyResult result = verify(a.view(), b.view(), c.view());
    EXPECT_TRUE(result.passed) << got;
    EXPECT_EQ(result.overflows, std::isinf(got) ? 1 : 0);
  }
  for (const float got : {-INFINITY, NAN}) {
    c.at(0, 0) = got;
    EXPECT_FALSE(verify(a.view(), b.view(), c.view()).passed) << got;
  }
}

TEST(VerifyBound, NanMatchesNanAndNothingElse) {
  EXPECT_EQ(fraction(nan, nan, 1, DType::f32, nan), 0);
  for (const double got : {0.0, 1.0, infinity, -infinity}) EXPECT_EQ(fraction(nan, nan, 1, DType::f32, got), infinity);
  for (const double expected : {0.0, 1.0, infinity, -infinity, 1e40})
    EXPECT_EQ(fraction(expected, std::fabs(expected), 1, DType::f32, nan), infinity);
}

TEST(VerifySample, AllElementsWhileTheWorkIsAtMostTheBudget) {
  const auto all = verification::choose_sample(100, 50, 20, 100 * 50 * 20, 1);
  EXPECT_EQ(all.rows.picked, 100);
  EXPECT_EQ(all.cols.picked, 50);
  const auto fewer = verification::choose_sample(100, 50, 20, 100 * 50 * 20 - 1, 1);
  EXPECT_LT(fewer.rows.picked * fewer.cols.picked, 100 * 50);
}

TEST(VerifySample, UsesTheBudgetOnShapesOfEveryKind) {
  const i64 huge = i64{1} << 40;
  const i64 shapes[][3] = {{4096, 4096, 4096}, {1, huge, 64},   {huge, 1, 64},
                           {huge, huge, 1},    {3, huge, 1000}, {5000, 7000, huge}};
  for (const auto& [m, n, k] : shapes) {
    const i64 budget = i64{1} << 32;
    const auto sample = verification::choose_sample(m, n, k, budget, 1);
    const i64 elements = sample.rows.picked * sample.cols.picked;
    EXPECT_GE(sample.rows.picked, 1);
    EXPECT_GE(sample.cols.picked, 1);
    EXPECT_LE(elements, std::max<i64>(1, budget / k));
    EXPECT_GE(2 * elements, budget / k) << m << " " << n << " " << k;
  }
}

TEST(VerifySample, PicksIncreasingIndicesWithBothEnds) {
  for (const i64 extent : {i64{2}, i64{7}, i64{64}, i64{1000}, i64{1} << 50}) {
    for (const i64 picked : {i64{2}, i64{5}, i64{63}}) {
      if (picked > extent) continue;
      const verification::SampledAxis axis{extent, picked, 9};
      EXPECT_EQ(axis[0], 0);
      EXPECT_EQ(axis[picked - 1], extent - 1);
      for (i64 i = 1; i < picked; ++i) EXPECT_LT(axis[i - 1], axis[i]) << extent << " " << picked << " " << i;
    }
  }
}

TEST(VerifySample, EveryIndexIsReachedBySomeSeed) {
  std::set<i64> seen;
  for (unsigned long long seed = 0; seed < 400; ++seed)
    for (i64 i = 0; i < 7; ++i) seen.insert(verification::SampledAxis{50, 7, seed}[i]);
  EXPECT_GE(seen.size(), 50u - 14u);  // the first and the last part always give their outer end
  std::set<i64> alone;
  for (unsigned long long seed = 0; seed < 400; ++seed) alone.insert(verification::SampledAxis{20, 1, seed}[0]);
  EXPECT_EQ(alone.size(), 20u);
}

TEST(VerifySample, IsStatedFollowsItsSeedAndFindsAWrongTileAndAWrongCorner) {
  auto a = integers<f16>(300, 10, 6), b = integers<f16>(10, 280, 7);
  auto c = product(a, b);
  VerifyOptions options;
  options.most_products = 9'000 * 10;  // 9,000 of 84,000 elements
  const VerifyResult right = verify(a.view(), b.view(), c.view(), options);
  EXPECT_TRUE(right.passed);
  EXPECT_EQ(right.total, 84'000);
  EXPECT_GT(right.checked, 8'500);
  EXPECT_LE(right.checked, 9'000);

  const f16 corner = c.at(299, 279);
  c.at(299, 279) = to_f16(1000.f);
  const VerifyResult wrong = verify(a.view(), b.view(), c.view(), options);
  EXPECT_EQ(wrong.failures, 1);
  EXPECT_EQ(wrong.row, 299);
  EXPECT_EQ(wrong.col, 279);
  c.at(299, 279) = corner;

  std::set<i64> failures;
  for (unsigned long long seed = 1; seed <= 20; ++seed) {
    auto tile = c;
    for (i64 i = 64; i < 96; ++i)
      for (i64 j = 32; j < 64; ++j) tile.at(i, j) = to_f16(1000.f);
    options.seed = seed;
    const VerifyResult found = verify(a.view(), b.view(), tile.view(), options);
    EXPECT_GE(found.failures, 64) << "a wrong tile of 32 x 32, seed " << seed;
    EXPECT_EQ(found.failures, verify(a.view(), b.view(), tile.view(), options).failures) << "same seed, same sample";
    failures.insert(found.failures);
  }
  EXPECT_GT(failures.size(), 1u) << "other seeds, other samples";
}

TEST(Verify, SaysTheSameOnAnyNumberOfThreads) {
  auto a = integers<f16>(200, 33, 8), b = integers<f16>(33, 190, 9);
  auto c = product(a, b);
  for (i64 i = 0; i < 200; i += 7)
    for (i64 j = 0; j < 190; j += 11) c.at(i, j) = to_f16(INFINITY);  // many equally bad: the first must be named
  c.at(0, 0) = to_f16(0.5f);
  for (const i64 threads : {1, 2, 5}) {
    VerifyOptions options;
    options.threads = threads;
    const VerifyResult result = verify(a.view(), b.view(), c.view(), options);
    EXPECT_EQ(result.checked, 200 * 190);
    EXPECT_EQ(result.row, 0);
    EXPECT_EQ(result.col, 11);
    EXPECT_EQ(result.worst, infinity);
    EXPECT_EQ(result.failures, 29 * 18);
  }
}

TEST(Verify, TellsItsProgressUpToTheEnd) {
  auto a = integers<f16>(300, 20, 10), b = integers<f16>(20, 300, 11);
  auto c = product(a, b);
  std::vector<double> seen;
  VerifyOptions options;
  options.threads = 1;
  options.progress = [&](double fraction) { seen.push_back(fraction); };
  EXPECT_TRUE(verify(a.view(), b.view(), c.view(), options).passed);
  ASSERT_GE(seen.size(), 2u);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LT(seen[i - 1], seen[i]);
  EXPECT_EQ(seen.back(), 1);
}

TEST(Verify, RefusesWhatIsNotAProduct) {
  Stored<f16> a(3, 4), b(4, 5), c(3, 5), tall(4, 5);
  Stored<bf16> other(4, 5);
  const auto code = [](const MatrixView& x, const MatrixView& y, const MatrixView& z) {
    try {
      verify(x, y, z);
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorCode::target;
  };
  EXPECT_EQ(code(a.view(), a.view(), c.view()), ErrorCode::inner_extents);
  EXPECT_EQ(code(a.view(), b.view(), tall.view()), ErrorCode::output_extents);
  EXPECT_EQ(code(a.view(), other.view(), c.view()), ErrorCode::input_types);
  EXPECT_EQ(code({nullptr, DType::f16, 3, 4, 4, 1}, b.view(), c.view()), ErrorCode::null_data);
  EXPECT_EQ(code(a.view(), b.view(), {&a, DType::f64, 3, 5, 5, 1}), ErrorCode::unsupported_type);
}

}  // namespace
}  // namespace tilewright
