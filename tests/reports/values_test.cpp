// Reports about NaN, infinities, subnormals and the sign of zero.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tests/reports/memory.hpp"

namespace {

using namespace reports;

/// What the output held before was read although it should only be overwritten.
TEST(Reports, NU_1_what_c_held_is_never_read) {
  constexpr i64 m = 25, n = 50, k = 75;
  Memory a(Type::f16, m * k, 1.0), b(Type::f16, k * n, 1.0);
  for (const PlanRequest& request : harness::all_programs()) {
    for (const double before : {not_a_number, inf, -1e-7}) {
      Memory c(Type::f16, m * n, before);
      gemm_into(view_of(a.cells(m, k, k)), view_of(b.cells(k, n, n)), view_of(c.cells(m, n, n)),
                harness::options_of(request));
      for (i64 i = 0; i < m; ++i) {
        for (i64 j = 0; j < n; ++j) ASSERT_EQ(c.cells(m, n, n).value(i, j), 75.0) << text_of(request);
      }
    }
  }
}

/// 0 * NaN and 0 * inf depended on the order of the operands.
TEST(Reports, NU_2_zero_times_nan_or_infinity_is_nan_on_either_side) {
  for (const double odd : {inf, -inf, not_a_number}) {
    Memory zero_one(Type::f16, {0.0, 1.0}), odd_one(Type::f16, {odd, 1.0});
    for (const PlanRequest& request : harness::all_programs()) {
      EXPECT_TRUE(
          std::isnan(Result(zero_one.cells(1, 2, 2), odd_one.cells(2, 1, 1), Type::f16, request).cells().value(0, 0)));
      EXPECT_TRUE(
          std::isnan(Result(odd_one.cells(1, 2, 2), zero_one.cells(2, 1, 1), Type::f16, request).cells().value(0, 0)));
    }
  }
}

/// An FP16 product turned into infinity from half of the largest number on.
TEST(Reports, NU_4_half_of_the_largest_number) {
  Memory a(Type::f16, 33, 1000.0), b(Type::f16, 33, 1.0);
  Result(a.cells(1, 33, 33), b.cells(33, 1, 1), Type::f16).expect_all(32992.0);
  Result(a.cells(1, 32, 32), b.cells(32, 1, 1), Type::f16).expect_all(32000.0);
  Result(a.cells(1, 33, 33), b.cells(33, 1, 1), Type::f32).expect_all(33000.0);
}

/// Products were formed in FP16 before they were widened: 300 * 300 overflows there.
TEST(Reports, NU_5_products_are_formed_in_fp32) {
  Memory a(Type::f16, 8, 300.0);
  for (const PlanRequest& request : harness::all_programs()) {
    Result(a.cells(1, 8, 8), a.cells(8, 1, 1), Type::f32, request).expect_all(720000.0);
    Result(a.cells(1, 8, 8), a.cells(8, 1, 1), Type::f16, request).expect_all(inf);
  }
}

/// Subnormal FP16 inputs were flushed to zero.
TEST(Reports, NU_6_subnormal_inputs_count) {
  Memory a(Type::f16, 64 * 64, 0x1p-15), b(Type::f16, 64 * 64, 1.0);
#if defined(__x86_64__)
  const unsigned before = _mm_getcsr() & 0x8040u;
#endif
  for (const PlanRequest& request : harness::all_programs()) {
    Result(a.cells(64, 64, 64), b.cells(64, 64, 64), Type::f16, request).expect_all(0.001953125);
  }
#if defined(__x86_64__)
  EXPECT_EQ(_mm_getcsr() & 0x8040u, before);  // flush-to-zero and denormals-are-zero of the caller
#endif
}

/// FP32 was truncated to BF16.
TEST(Reports, NU_7_bf16_is_rounded_and_not_truncated) {
  Memory a(Type::f32, {0.2691408770292272}), one(Type::f32, {1.0});
  Result(a.cells(1, 1, 1), one.cells(1, 1, 1), Type::bf16).expect_all(0.26953125);
}

/// The sign of a zero depended on M. Here an all-zero sum is +0.0, always.
TEST(Reports, NU_8_an_all_zero_sum_is_positive_zero) {
  for (const Type type : oracle::all_types) {
    Memory a(type, 2, -0.0), b(type, 2, 1.0);
    for (const PlanRequest& request : harness::all_programs()) {
      for (const i64 m : {1, 2}) Result(a.cells(m, 1, 1), b.cells(1, 1, 1), type, request).expect_all(0.0);
    }
  }
  Memory a(Type::f16, 2 * 512, -0.0), b(Type::f16, 512, 1.0);
  for (PlanRequest request : harness::all_programs()) {
    request.split = harness::split_of(2, 512, request.tile->k);
    for (const i64 m : {1, 2}) Result(a.cells(m, 512, 512), b.cells(512, 1, 1), Type::f32, request).expect_all(0.0);
  }
}

/// Skipping the zeros of A hid a NaN of B.
TEST(Reports, NU_9_zeros_of_a_do_not_hide_a_nan_of_b) {
  Memory a(Type::f16, 64, 0.0), b(Type::f16, 64, 1.0);
  b.set(3 * 8 + 2, not_a_number);
  for (const PlanRequest& request : harness::all_programs()) {
    const Result c(a.cells(8, 8, 8), b.cells(8, 8, 8), Type::f16, request);
    for (i64 i = 0; i < 8; ++i) {
      for (i64 j = 0; j < 8; ++j) {
        if (j == 2) {
          EXPECT_TRUE(std::isnan(c.cells().value(i, j))) << text_of(request);
        } else {
          EXPECT_EQ(c.cells().bits(i, j), 0u) << text_of(request);
        }
      }
    }
  }
}

}  // namespace
