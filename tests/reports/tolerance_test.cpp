// Reports about tolerances that were guessed, and loosened when they failed. Here the bound is derived, and the same
// plan gives the same bits.
#include <numbers>

#include "tests/reports/memory.hpp"

namespace {

using namespace reports;

/// A relative check failed a right kernel where outputs cancel to nearly zero. The bound passes the library and any
/// other honest order of summation, here FP64 sums taken backwards and rounded to FP32.
TEST(Reports, TO_1_outputs_that_cancel) {
  constexpr i64 m = 512, n = 512, k = 8192;
  oracle::Random random(1);
  const auto normal = [&] {
    return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(2.0 * std::numbers::pi * random.unit());
  };
  Memory a(Type::bf16, m * k, 0.0), b(Type::bf16, k * n, 0.0);
  for (i64 at = 0; at < m * k; ++at) a.set(at, normal());
  for (i64 at = 0; at < k * n; ++at) b.set(at, normal());
  const Cells ac = a.cells(m, k, k), bc = b.cells(k, n, n);
  const oracle::Reference reference = oracle::reference_of(ac, bc);
  for (const Type out : {Type::f32, Type::bf16}) {
    const Result c(ac, bc, out);
    const oracle::Verdict verdict = oracle::judge(c.claim(), reference, c.cells());
    EXPECT_TRUE(verdict.right()) << verdict.report;
  }
  Memory backwards(Type::f32, m * n, 0.0);
  const Cells flipped_a{ac.at(0, k - 1), Type::bf16, m, k, k, -1}, flipped_b{bc.at(k - 1, 0), Type::bf16, k, n, -n, 1};
  const oracle::Reference reversed = oracle::reference_of(flipped_a, flipped_b);
  for (i64 at = 0; at < m * n; ++at) backwards.set(at, reversed.value[static_cast<std::size_t>(at)]);
  const oracle::Verdict verdict =
      oracle::judge(oracle::Claim{"FP64, backwards", "none", "normal BF16 values", k, oracle::ieee_unit}, reference,
                    backwards.cells(m, n, n));
  EXPECT_TRUE(verdict.right()) << verdict.report;
}

/// A fixed tolerance broke at K = 16384. The bound grows with K through the sum of magnitudes, and no other library's
/// bits are ever the measure.
TEST(Reports, TO_2_the_bound_grows_with_k) {
  constexpr i64 n = 64;
  double last = 0;
  for (const i64 k : {1024, 7168, 16384}) {
    oracle::Random random(static_cast<std::uint64_t>(k));
    Memory a(Type::f16, k, 0.0), b(Type::f16, k * n, 0.0);
    for (i64 at = 0; at < k; ++at) a.set(at, random.symmetric());
    for (i64 at = 0; at < k * n; ++at) b.set(at, random.symmetric());
    const oracle::Reference reference = oracle::reference_of(a.cells(1, k, k), b.cells(k, n, n));
    const Result c(a.cells(1, k, k), b.cells(k, n, n), Type::f32);
    const oracle::Verdict verdict = oracle::judge(c.claim(), reference, c.cells());
    EXPECT_TRUE(verdict.right()) << verdict.report;
    const double bound = oracle::judge_element(reference.value[0], reference.value[0], reference.magnitude[0], k,
                                               Type::f32, oracle::ieee_unit)
                             .bound;
    EXPECT_GT(bound, 2.0 * last);
    last = bound;
  }
}

/// Failures that came and went without a split of K were answered by doubling the tolerance.
TEST(Reports, TO_3_two_hundred_repeats_give_the_same_bits) {
  oracle::Random random(1);
  for (const auto& [m, n, k] : {std::array<i64, 3>{65, 67, 259}, {128, 130, 512}, {1, 300, 1000}, {300, 1, 1000}}) {
    Memory a(Type::f16, m * k, 0.0), b(Type::f16, k * n, 0.0);
    for (i64 at = 0; at < m * k; ++at) a.set(at, random.symmetric());
    for (i64 at = 0; at < k * n; ++at) b.set(at, random.symmetric());
    PlanRequest request;
    request.split = Split{};
    const auto first = Result(a.cells(m, k, k), b.cells(k, n, n), Type::f32, request).bits();
    for (int repeat = 0; repeat < 200; ++repeat) {
      ASSERT_EQ(Result(a.cells(m, k, k), b.cells(k, n, n), Type::f32, request, 1 + repeat % 3).bits(), first)
          << m << "x" << n << "x" << k << ", repeat " << repeat;
    }
  }
}

}  // namespace
