// The judge under test: a right product passes in every layout and type, and each planted fault fails with a report
// that points at it.
#include <gtest/gtest.h>

#include "tests/oracle/judge.hpp"
#include "tests/oracle/naive.hpp"
#include "tests/oracle/random.hpp"

namespace {

using namespace oracle;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A product of random numbers that the tests below spoil.
struct Product {
  static constexpr i64 m = 33, n = 21, k = 40;
  Input a, b;
  Output c;
  Reference reference;
  Claim claim{"naive", "no plan", "uniform [-1, 1]", k};

  explicit Product(Type type = Type::f16, Layout layout = Layout::ld_plus_8, Edge edge = Edge::begin)
      : c(type, m, n, layout, edge) {
    Random random(7);
    const auto draw = [&](i64, i64) { return random.symmetric(); };
    a = Input(Type::f16, m, k, Layout::packed, Edge::end, draw);
    b = Input(Type::f16, k, n, Layout::transposed, Edge::end, draw);
    reference = reference_of(a.cells(), b.cells());
    naive_gemm(a.cells(), b.cells(), c.cells());
  }
  Verdict judged() const { return judge(claim, reference, c); }
};

TEST(Judge, accepts_a_right_product) {
  for (const Type type : all_types) {
    for (const Layout layout : output_layouts) {
      for (const Edge edge : {Edge::begin, Edge::end}) {
        const Product product(type, layout, edge);
        EXPECT_TRUE(product.judged().right()) << product.judged().report;
      }
    }
  }
}

TEST(Judge, exact_bits_of_whole_numbers) {
  const std::vector<double> a = {1, 2, 3, -4, 5, 6}, b = {4, 5, 6, 0, 0, 2000};
  const auto bits = exact_bits_of(2, 2, 3, a, b, Type::f16);
  EXPECT_EQ(decode(Type::f16, bits[0]), 1 * 4 + 2 * 6);
  EXPECT_EQ(decode(Type::f16, bits[1]), 6004.0);  // 6005 rounded to a multiple of 4
  EXPECT_EQ(decode(Type::f16, bits[2]), 14.0);
  EXPECT_EQ(decode(Type::f16, bits[3]), 11984.0);  // 11980 between 11976 and 11984, ties to even
  EXPECT_THROW(exact_bits_of(1, 1, 1, {5000}, {5000}, Type::f32), std::logic_error);
}

TEST(Judge, comparator_mutant_one_wrong_element) {
  for (const Type type : all_types) {
    Product product(type);
    // One step of f16 and bf16 is beyond the bound here; in f32 the accumulation's share of the bound covers many
    // steps.
    const double right = product.c.cells().value(17, 5);
    product.c.cells().set(17, 5, right + (type == Type::bf16 ? 0x1p-5 : 0x1p-8));
    const Verdict verdict = product.judged();
    EXPECT_EQ(verdict.wrong, 1);
    EXPECT_NE(verdict.report.find("C is wrong in 1 of 693 elements"), std::string::npos) << verdict.report;
    EXPECT_NE(verdict.report.find("rows     17 (1 of 33)"), std::string::npos) << verdict.report;
    EXPECT_NE(verdict.report.find("columns  5 (1 of 21)"), std::string::npos) << verdict.report;
    EXPECT_NE(verdict.report.find("C[17, 5]"), std::string::npos) << verdict.report;
    EXPECT_NE(verdict.report.find("33x21x40"), std::string::npos) << verdict.report;
    EXPECT_NE(verdict.report.find("no plan"), std::string::npos) << verdict.report;
  }
}

TEST(Judge, comparator_mutant_one_wrong_element_at_each_place) {
  Product product(Type::f32);
  for (i64 i = 0; i < Product::m; ++i) {
    for (i64 j = 0; j < Product::n; ++j) {
      const std::uint32_t right = product.c.cells().bits(i, j);
      product.c.cells().set(i, j, product.c.cells().value(i, j) + 0.01);
      EXPECT_EQ(product.judged().wrong, 1) << i << ", " << j;
      product.c.cells().set_bits(i, j, right);
    }
  }
  EXPECT_TRUE(product.judged().right());
}

TEST(Judge, comparator_mutant_one_nan) {
  for (const Type type : all_types) {
    Product product(type);
    product.c.cells().set(0, 20, std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(product.judged().wrong, 1);
    EXPECT_NE(product.judged().report.find("C[0, 20] is nan"), std::string::npos) << product.judged().report;
  }
}

TEST(Judge, comparator_mutant_one_untouched_tile) {
  Product product;
  for (i64 i = 16; i < 32; ++i) {
    for (i64 j = 8; j < 16; ++j) product.c.cells().set_bits(i, j, untouched_bits(Type::f16));
  }
  const Verdict verdict = product.judged();
  EXPECT_EQ(verdict.wrong, 128);
  EXPECT_NE(verdict.report.find("128 were never written"), std::string::npos) << verdict.report;
  EXPECT_NE(verdict.report.find("rows     16..31 (16 of 33)"), std::string::npos) << verdict.report;
  EXPECT_NE(verdict.report.find("columns  8..15 (8 of 21)"), std::string::npos) << verdict.report;
}

TEST(Judge, comparator_mutant_one_overwritten_guard_cell) {
  for (const Edge edge : {Edge::begin, Edge::end}) {
    Product product(Type::f16, Layout::ld_plus_8, edge);
    product.c.cells().set(3, Product::n, 1.0);  // the row padding
    const Verdict verdict = product.judged();
    EXPECT_EQ(verdict.wrong, 0);
    EXPECT_EQ(verdict.guards, 1);
    EXPECT_FALSE(verdict.right());
    EXPECT_NE(verdict.report.find("offsets 108 from C[0, 0]"), std::string::npos) << verdict.report;
  }
  Product product(Type::f32, Layout::packed, Edge::end);
  product.c.cells().set(0, -1, 0.0);  // the cell before C
  EXPECT_EQ(product.judged().guards, 1);
}

TEST(Judge, comparator_mutant_wrong_infinity_sign) {
  Reference reference{1, 2, 1, {infinity, -infinity}, {infinity, infinity}};
  Output c(Type::f16, 1, 2, Layout::packed, Edge::end);
  const Claim claim{"naive", "no plan", "infinities", 1};
  c.cells().set(0, 0, infinity);
  c.cells().set(0, 1, -infinity);
  EXPECT_TRUE(judge(claim, reference, c).right());
  c.cells().set(0, 1, infinity);
  EXPECT_EQ(judge(claim, reference, c).wrong, 1);
  c.cells().set(0, 1, 65504.0);
  EXPECT_EQ(judge(claim, reference, c).wrong, 1);
}

TEST(Judge, comparator_mutant_wrong_bit_in_the_exact_comparison) {
  Product product;
  auto bits = bits_of(product.c.cells());
  EXPECT_TRUE(judge(product.claim, bits, product.c).right());
  bits[100] ^= 1u;
  EXPECT_EQ(judge(product.claim, bits, product.c).wrong, 1);
  bits[100] ^= 1u;
  product.c.cells().set(0, Product::n, 0.0);
  EXPECT_FALSE(judge(product.claim, bits, product.c).right());
}

TEST(Judge, comparator_mutant_result_of_a_neighbouring_problem) {
  Product product;
  product.reference = reference_of(product.a.cells(), product.b.cells());
  Cells shorter_a = product.a.cells(), shorter_b = product.b.cells();
  shorter_a.cols = shorter_b.rows = Product::k - 1;  // the last K index dropped
  naive_gemm(shorter_a, shorter_b, product.c.cells());
  EXPECT_GT(product.judged().wrong, Product::m * Product::n / 2);
}

bool accepted(double got, double value, double magnitude, i64 k, Type type) {
  return judge_element(got, value, magnitude, k, type, ieee_unit).right;
}

TEST(Bound, is_the_formula) {
  // gamma(K+2) * mag + 1.01 * u_o * |C| + eta_o, written out for K = 98: 100 * 2^-24 / (1 - 100 * 2^-24).
  const double bound = 100.0 * 0x1p-24 / (1.0 - 100.0 * 0x1p-24) * 8.0 + 1.01 * 0x1p-11 * 2.0 + 0x1p-25;
  const Judged judged = judge_element(2.0, 2.0, 8.0, 98, Type::f16, ieee_unit);
  EXPECT_DOUBLE_EQ(judged.bound, bound);
  EXPECT_TRUE(accepted(2.0 + 0.999 * bound, 2.0, 8.0, 98, Type::f16));
  EXPECT_FALSE(accepted(2.0 + 1.001 * bound, 2.0, 8.0, 98, Type::f16));
  EXPECT_FALSE(accepted(2.0 - 1.001 * bound, 2.0, 8.0, 98, Type::f16));
}

TEST(Bound, infinity_is_right_only_past_the_midpoint) {
  EXPECT_FALSE(accepted(infinity, 65500.0, 65500.0, 1, Type::f16));
  EXPECT_FALSE(accepted(infinity, 65519.0, 65519.0, 1, Type::f16));     // within the error of rounding, yet not past it
  EXPECT_TRUE(accepted(infinity, 65519.999, 65519.999, 1, Type::f16));  // the accumulator may have passed it
  EXPECT_TRUE(accepted(65504.0, 65519.999, 65519.999, 1, Type::f16));
  EXPECT_TRUE(accepted(infinity, 65520.0, 65520.0, 1, Type::f16));
  EXPECT_TRUE(accepted(infinity, 65530.0, 65530.0, 1, Type::f16));
  EXPECT_FALSE(accepted(65504.0, 65530.0, 65530.0, 1, Type::f16));  // the plain bound would allow it
  EXPECT_FALSE(accepted(-infinity, 65530.0, 65530.0, 1, Type::f16));
  EXPECT_TRUE(accepted(-infinity, -65530.0, 65530.0, 1, Type::f16));
  EXPECT_TRUE(accepted(infinity, 0x1p128, 0x1p128, 1, Type::f32));
  EXPECT_FALSE(accepted(infinity, 0x1p127, 0x1p127, 1, Type::f32));
}

TEST(Bound, sums_may_overflow_on_the_way) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Type type : all_types) {
    EXPECT_TRUE(accepted(infinity, 3e38, 9e38, 3, type));  // 3e38 + 3e38 - 3e38
    EXPECT_FALSE(accepted(-infinity, 3e38, 9e38, 3, type));
    EXPECT_FALSE(accepted(nan, 3e38, 9e38, 3, type));
    EXPECT_TRUE(accepted(-infinity, -3e38, 9e38, 3, type));
    for (const double got : {infinity, -infinity, nan}) EXPECT_TRUE(accepted(got, 0.0, 8e38, 4, type)) << got;
    EXPECT_FALSE(accepted(nan, 0.0, 6.8e38, 4, type));
  }
  // Neither sign passes the midpoint, 3.4e38. (An f16 output may pass its own within the bound.)
  EXPECT_FALSE(accepted(infinity, 1e38, 4e38, 3, Type::f32));
  for (const double got : {infinity, -infinity}) EXPECT_FALSE(accepted(got, 0.0, 6.8e38, 4, Type::f32)) << got;
}

TEST(Bound, nan_matches_nan_alone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(accepted(nan, nan, nan, 1, Type::f32));
  EXPECT_FALSE(accepted(1.0, nan, nan, 1, Type::f32));
  EXPECT_FALSE(accepted(infinity, nan, nan, 1, Type::f32));
  EXPECT_FALSE(accepted(nan, 1.0, 1.0, 1, Type::f32));
  EXPECT_FALSE(accepted(nan, infinity, infinity, 1, Type::f32));
}

TEST(Bound, a_sum_of_zeros_is_positive_zero) {
  EXPECT_TRUE(accepted(0.0, 0.0, 0.0, 4, Type::f16));
  EXPECT_FALSE(accepted(-0.0, 0.0, 0.0, 4, Type::f16));
  EXPECT_FALSE(accepted(0x1p-24, 0.0, 0.0, 4, Type::f16));
}

TEST(Bound, of_flushed_subnormals) {
  const auto draw = [](double value) { return [value](i64, i64) { return value; }; };
  const auto judged = [&](double a, double b, double got, bool flushed) {
    const Input left(Type::bf16, 1, 1, Layout::packed, Edge::end, draw(a)),
        right(Type::bf16, 1, 1, Layout::packed, Edge::end, draw(b));
    const Output c(Type::f32, 1, 1, Layout::packed, Edge::end);
    c.cells().set(0, 0, got);
    return judge({"target", "plan", "one product", 1}, reference_of(left.cells(), right.cells(), flushed), c).right();
  };
  EXPECT_TRUE(judged(0x1p-127, 0x1p100, 0x1p-27, false));
  EXPECT_FALSE(judged(0x1p-127, 0x1p100, 0, false));
  EXPECT_TRUE(judged(0x1p-127, 0x1p100, 0, true));
  EXPECT_FALSE(judged(0x1p-127, 0x1p100, 0x1p-27, true));
  EXPECT_FALSE(judged(0x1p-70, 0x1p-60, 0, false));
  EXPECT_TRUE(judged(0x1p-70, 0x1p-60, 0, true));
  EXPECT_FALSE(judged(0x1p-63, 0x1p-62, 0, true));
}

TEST(Reference, sums_and_magnitudes) {
  const Reference r = reference_of(1, 2, 3, {1, -2, 3}, {4, 1, 5, 1, 6, 1});
  EXPECT_EQ(r.value, (std::vector<double>{12, 2}));
  EXPECT_EQ(r.magnitude, (std::vector<double>{32, 6}));
}

TEST(Ranges, are_folded_and_capped) {
  EXPECT_EQ(ranges({0, 1, 2, 7}, 9), "0..2, 7 (4 of 9)");
  std::set<i64> odd;
  for (i64 n = 1; n < 40; n += 2) odd.insert(n);
  EXPECT_EQ(ranges(odd, 40), "1, 3, 5, 7, 9, 11, 13, 15, ... (20 of 40)");
}

}  // namespace
