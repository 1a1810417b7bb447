// What values do: NaN, infinities, subnormals and zeros go through as arithmetic says, at the borders as in the
// interior, and nothing beyond a border ever takes part.
#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tests/gemm/harness.hpp"
#include "tests/oracle/random.hpp"

namespace {

using namespace tilewright;
using oracle::Edge;
using oracle::Input;
using oracle::Layout;
using oracle::Output;
using oracle::Type;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

constexpr double ones(i64, i64) { return 1.0; }

/// The programs that these tests run: small, middle and large tiles, with each instruction set that multiplies the
/// inputs, unsplit and split.
std::vector<PlanRequest> programs(Type in, i64 k) {
  std::vector<PlanRequest> requests;
  for (PlanRequest request : harness::all_programs(in)) {
    if (request.tile->m != request.tile->n) continue;
    for (const i64 parts : {1, 2}) {
      request.split = harness::split_of(parts, k, request.tile->k);
      requests.push_back(request);
      if (request.split->kind == SplitKind::none) break;
    }
  }
  return requests;
}

/// Multiplies under every program and compares with FP64, whose NaN and infinities follow from the same arithmetic.
void agrees_everywhere(const Input& a, const Input& b, Type out) {
  const oracle::Reference kept = oracle::reference_of(a.cells(), b.cells());
  const oracle::Reference flushed = oracle::reference_of(a.cells(), b.cells(), true);
  for (const PlanRequest& request : programs(a.cells().type, a.cells().cols)) {
    const Output c(out, a.cells().rows, b.cells().cols, Layout::ld_plus_1, Edge::end);
    const oracle::Claim claim = harness::multiply(a, b, c, harness::options_of(request));
    const oracle::Verdict verdict = oracle::judge(claim, claim.flushed ? flushed : kept, c);
    ASSERT_TRUE(verdict.right()) << verdict.report;
  }
}

constexpr i64 m = 35, n = 33, k = 41;  // tails on every axis of every tile

/// Places in an operand: the corners, the last row and column, the interior.
const std::vector<std::pair<i64, i64>> places(i64 rows, i64 cols) {
  return {{0, 0}, {0, cols - 1}, {rows - 1, 0}, {rows - 1, cols - 1}, {rows / 2, cols / 2}};
}

/// One odd value in A, then in B, at each place.
void one_odd_value(double odd, const auto& others) {
  for (const Type type : oracle::all_types) {
    for (const auto& [row, col] : places(m, k)) {
      const Input a(type, m, k, Layout::ld_plus_1, Edge::end,
                    [&, r = row, c = col](i64 i, i64 j) { return i == r && j == c ? odd : others(i, j); });
      const Input b(type, k, n, Layout::transposed_plus_1, Edge::end, others);
      ASSERT_NO_FATAL_FAILURE(agrees_everywhere(a, b, type)) << "odd value at A[" << row << ", " << col << "]";
    }
    for (const auto& [row, col] : places(k, n)) {
      const Input a(type, m, k, Layout::sliced, Edge::begin, others);
      const Input b(type, k, n, Layout::packed, Edge::end,
                    [&, r = row, c = col](i64 i, i64 j) { return i == r && j == c ? odd : others(i, j); });
      ASSERT_NO_FATAL_FAILURE(agrees_everywhere(a, b, type)) << "odd value at B[" << row << ", " << col << "]";
    }
  }
}

TEST(Values, one_nan_spoils_its_row_or_column_alone) { one_odd_value(nan, ones); }
TEST(Values, one_infinity_fills_its_row_or_column_alone) { one_odd_value(-inf, ones); }
TEST(Values, infinity_times_zero_is_nan) {
  one_odd_value(inf, [](i64 i, i64 j) { return (i + j) % 3 == 0 ? 0.0 : 1.0; });
}
TEST(Values, nan_times_zero_is_nan) {
  one_odd_value(nan, [](i64, i64) { return 0.0; });
}

/// The last valid K index holds infinities on both sides: next to it both operands are filled with zeros, never with
/// what memory holds there, or inf * 0 would invent a NaN.
TEST(Values, infinity_next_to_the_k_tail_makes_no_nan) {
  for (const Type type : oracle::all_types) {
    for (const i64 depth : {1, 15, 17, 31, 33, 63, 65, 127, 129, 255, 257}) {
      for (const bool both : {false, true}) {
        const Input a(type, 18, depth, Layout::ld_plus_8, Edge::begin,
                      [&](i64, i64 j) { return j == depth - 1 ? inf : 1.0; });
        const Input b(type, depth, 20, Layout::transposed_plus_1, Edge::begin,
                      [&](i64 i, i64) { return both && i == depth - 1 ? inf : 1.0; });
        for (const PlanRequest& request : programs(type, depth)) {
          const Output c(type, 18, 20, Layout::ld_plus_1, Edge::begin);
          const oracle::Claim claim = harness::multiply(a, b, c, harness::options_of(request));
          const std::vector<std::uint32_t> bits(18 * 20, oracle::encode(type, inf));
          const oracle::Verdict verdict = oracle::judge(claim, bits, c);
          ASSERT_TRUE(verdict.right()) << verdict.report;
        }
      }
    }
  }
}

TEST(Values, infinities_of_both_signs_make_nan_and_of_one_sign_keep_it) {
  const Input a(Type::f16, m, k, Layout::packed, Edge::end, [](i64 i, i64 j) {
    return j == 3 ? inf : j == k - 1 && i % 2 == 0 ? -inf : j == k - 1 ? inf : 0.5;
  });
  const Input b(Type::f16, k, n, Layout::packed, Edge::end, [](i64, i64 j) { return j % 3 == 0 ? -1.0 : 1.0; });
  for (const Type out : oracle::all_types) ASSERT_NO_FATAL_FAILURE(agrees_everywhere(a, b, out));
}

TEST(Values, subnormals_are_kept_unless_the_instruction_set_flushes_them) {
  for (const Type type : oracle::all_types) {
    const double smallest = 2.0 * oracle::format(type).tiny();
    oracle::Random random(1);
    const Input a(type, m, k, Layout::packed, Edge::end,
                  [&](i64, i64) { return static_cast<double>(random.whole(-7, 7)) * smallest; });
    const Input b(type, k, n, Layout::packed, Edge::end,
                  [&](i64, i64) { return static_cast<double>(random.whole(-3, 3)); });
    ASSERT_NO_FATAL_FAILURE(agrees_everywhere(a, b, type));
    ASSERT_NO_FATAL_FAILURE(agrees_everywhere(a, b, Type::f32));
    // One subnormal times one survives bit for bit, or is a zero.
    const Input single(type, 1, 1, Layout::packed, Edge::end, [&](i64, i64) { return -3.0 * smallest; });
    const Input one(type, 1, 1, Layout::packed, Edge::end, ones);
    for (const PlanRequest& request : programs(type, 1)) {
      const Output c(type, 1, 1, Layout::packed, Edge::end);
      const oracle::Claim claim = harness::multiply(single, one, c, harness::options_of(request));
      EXPECT_EQ(c.cells().value(0, 0), claim.flushed ? 0.0 : -3.0 * smallest) << oracle::format(type).name;
    }
  }
}

TEST(Values, overflow_happens_in_the_last_rounding_alone) {
  // 300 * 300 is beyond f16, and so is the running sum, but not the result.
  const Input a(Type::f16, m, k, Layout::packed, Edge::end, [](i64, i64 j) {
    return j == k - 1 ? 0.0 : j % 2 == 0 ? 300.0 : -300.0;
  });
  const Input b(Type::f16, k, n, Layout::packed, Edge::end, [](i64, i64) { return 300.0; });
  const Input up(Type::f16, m, k, Layout::packed, Edge::end, [](i64, i64) { return 300.0; });
  const Input down(Type::f16, m, k, Layout::packed, Edge::end, [](i64, i64) { return -300.0; });
  for (const PlanRequest& request : programs(Type::f16, k)) {
    const auto all_are = [&](const Input& left, Type out, double value) {
      const Output c(out, m, n, Layout::packed, Edge::end);
      const oracle::Claim claim = harness::multiply(left, b, c, harness::options_of(request));
      const std::vector<std::uint32_t> bits(static_cast<std::size_t>(m * n), oracle::encode(out, value));
      const oracle::Verdict verdict = oracle::judge(claim, bits, c);
      ASSERT_TRUE(verdict.right()) << verdict.report;
    };
    ASSERT_NO_FATAL_FAILURE(all_are(a, Type::f16, 0.0));
    ASSERT_NO_FATAL_FAILURE(all_are(up, Type::f16, inf));
    ASSERT_NO_FATAL_FAILURE(all_are(down, Type::f16, -inf));
    ASSERT_NO_FATAL_FAILURE(all_are(up, Type::f32, 90000.0 * k));
  }
}

TEST(Values, rounding_of_a_result_is_to_nearest_even) {
  // C = x * 1 for every midpoint between two neighbours of the output type, in f32.
  for (const Type out : {Type::f16, Type::bf16}) {
    std::vector<double> values;
    const std::uint32_t infinity = oracle::encode(out, inf);
    for (std::uint32_t bits = 0; bits < infinity; bits += 7) {
      const double low = oracle::decode(out, bits);
      const double high =
          bits + 1 == infinity ? 2.0 * oracle::format(out).overflow() - low : oracle::decode(out, bits + 1);
      const double middle = low + (high - low) / 2;
      for (const double value :
           {middle, std::nextafterf(static_cast<float>(middle), 0.0f) + 0.0,
            std::nextafterf(static_cast<float>(middle), std::numeric_limits<float>::infinity()) + 0.0}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
    const auto count = static_cast<i64>(values.size());
    const Input a(Type::f32, 1, 1, Layout::packed, Edge::end, ones);
    const Input b(Type::f32, 1, count, Layout::packed, Edge::end,
                  [&](i64, i64 j) { return values[static_cast<std::size_t>(j)]; });
    std::vector<std::uint32_t> bits;
    for (const double value : values) bits.push_back(value == 0.0 ? 0u : oracle::encode(out, value));
    // A negative value too small for the type rounds to -0.0: the sum is not zero, its rounding is.
    for (const PlanRequest& request : programs(Type::f32, 1)) {
      const Output c(out, 1, count, Layout::packed, Edge::end);
      const oracle::Claim claim = harness::multiply(a, b, c, harness::options_of(request));
      const oracle::Verdict verdict = oracle::judge(claim, bits, c);
      ASSERT_TRUE(verdict.right()) << verdict.report;
    }
  }
}

TEST(Values, a_sum_of_zeros_is_positive_zero) {
  for (const Type type : oracle::all_types) {
    for (const auto& [left, right] :
         {std::pair{-0.0, 1.0}, std::pair{0.0, -1.0}, std::pair{-0.0, 0.0}, std::pair{-0.0, -0.0}}) {
      for (const i64 depth : {i64{0}, i64{1}, k}) {
        const Input a(type, m, depth, Layout::packed, Edge::end, [v = left](i64, i64) { return v; });
        const Input b(type, depth, n, Layout::packed, Edge::end, [v = right](i64, i64) { return v; });
        for (const PlanRequest& request : programs(type, depth)) {
          const Output c(type, m, n, Layout::ld_plus_1, Edge::end);
          const oracle::Claim claim = harness::multiply(a, b, c, harness::options_of(request));
          const oracle::Verdict verdict =
              oracle::judge(claim, std::vector<std::uint32_t>(static_cast<std::size_t>(m * n), 0u), c);
          ASSERT_TRUE(verdict.right()) << left << " * " << right << "\n" << verdict.report;
        }
      }
    }
  }
}

TEST(Values, zero_extents_give_zeros_or_nothing) {
  for (const Type type : oracle::all_types) {
    for (const Layout layout : oracle::output_layouts) {
      for (const auto& [rows, cols, depth] :
           {std::array<i64, 3>{0, 5, 4}, {5, 0, 4}, {5, 7, 0}, {0, 0, 4}, {0, 5, 0}, {5, 0, 0}, {0, 0, 0}}) {
        const Input a(type, rows, depth, layout, Edge::end, ones);
        const Input b(type, depth, cols, layout, Edge::end, ones);
        const Output c(type, rows, cols, layout, Edge::end);
        const oracle::Claim claim = harness::multiply(a, b, c);
        const oracle::Verdict verdict =
            oracle::judge(claim, std::vector<std::uint32_t>(static_cast<std::size_t>(rows * cols), 0u), c);
        EXPECT_TRUE(verdict.right()) << verdict.report;
        const Matrix made = gemm(harness::view_of(a.cells()), harness::view_of(b.cells()));
        EXPECT_EQ(made.rows(), rows);
        EXPECT_EQ(made.cols(), cols);
      }
    }
  }
}

TEST(Values, empty_operands_need_no_memory) {
  const MatrixView a{nullptr, DType::f16, 3, 0, 0, 1}, b{nullptr, DType::f16, 0, 2, 2, 1};
  const Output c(Type::f16, 3, 2, Layout::packed, Edge::end);
  gemm_into(a, b, harness::view_of(c.cells()));
  for (const std::uint32_t bits : oracle::bits_of(c.cells())) EXPECT_EQ(bits, 0u);
  gemm_into({nullptr, DType::f16, 0, 3, 3, 1}, {nullptr, DType::f16, 3, 0, 0, 1}, {nullptr, DType::f16, 0, 0, 0, 1});
}

#if defined(__x86_64__)
/// The caller's floating-point mode: whatever it is, it is the same afterwards. (The lower six bits are sticky flags.)
TEST(Values, the_callers_floating_point_mode_is_left_alone) {
  constexpr unsigned flags = 0x3f, flush_and_daz = 0x8040;
  const Input a(Type::f16, 100, 100, Layout::packed, Edge::end, [](i64, i64) { return 0x1p-24; });
  const Output c(Type::f32, 100, 100, Layout::packed, Edge::end);
  const unsigned before = _mm_getcsr();
  for (const unsigned mode : {before & ~flags, (before & ~flags) | flush_and_daz}) {
    for (const PlanRequest& request : programs(Type::f16, 100)) {
      _mm_setcsr(mode);
      gemm_into(harness::view_of(a.cells()), harness::view_of(a.cells()), harness::view_of(c.cells()),
                harness::options_of(request));
      const unsigned after = _mm_getcsr() & ~flags;
      _mm_setcsr(before);
      EXPECT_EQ(after, mode);
    }
  }
}
#endif

}  // namespace
