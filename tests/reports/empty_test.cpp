// Reports about tiny and empty problems.
#include "tests/reports/memory.hpp"

namespace {

using namespace reports;

/// K = 0 left the output as it was.
TEST(Reports, EM_1_k_of_zero_gives_zeros) {
  Memory nothing(Type::f16, 1, not_a_number);
  const Result c(nothing.cells(1, 0, 0), nothing.cells(0, 43200, 43200), Type::f16);
  c.expect_all(0.0);
}

/// M or N of zero divided by zero in the automatic choice of a split.
TEST(Reports, EM_2_empty_outputs_with_any_split) {
  Memory memory(Type::f16, 16 * 16, 1.0), untouched(Type::f16, 16 * 16, not_a_number);
  for (const auto& [m, n, k] : {std::array<i64, 3>{0, 8, 16}, {8, 0, 16}, {0, 0, 0}}) {
    for (const i64 parts : {0, 1, 4}) {
      PlanRequest request;
      if (parts > 0) request.split = Split{SplitKind::split_k, parts};
      EXPECT_NO_THROW(gemm_into(view_of(memory.cells(m, k, k)), view_of(memory.cells(k, n, n)),
                                view_of(untouched.cells(m, n, n)), harness::options_of(request)))
          << m << "x" << n << "x" << k << ", split " << parts;
      const Matrix c = gemm(view_of(memory.cells(m, k, k)), view_of(memory.cells(k, n, n)));
      EXPECT_EQ(c.rows(), m);
      EXPECT_EQ(c.cols(), n);
    }
  }
  for (i64 i = 0; i < 16; ++i) {
    for (i64 j = 0; j < 16; ++j) EXPECT_TRUE(std::isnan(untouched.cells(16, 16, 16).value(i, j)));
  }
}

/// An operand without elements has a leading dimension of 0, which BLAS refuses.
TEST(Reports, EM_3_operands_without_elements) {
  Memory nothing(Type::f16, 1, not_a_number);
  const Matrix empty = gemm(view_of(nothing.cells(0, 2, 2)), view_of(nothing.cells(2, 0, 0)));
  EXPECT_EQ(empty.rows(), 0);
  EXPECT_EQ(empty.cols(), 0);
  for (const i64 stride : {0, 1, 2}) {
    Result(nothing.cells(2, 0, stride), nothing.cells(0, 2, 2), Type::f16).expect_all(0.0);
    Result(nothing.cells(2, 0, 1, stride), nothing.cells(0, 2, 2), Type::f16).expect_all(0.0);
  }
}

/// An empty call left an error for the next caller to find.
TEST(Reports, EM_4_a_call_after_an_empty_one) {
  Memory ones(Type::f16, 64, 1.0);
  gemm(view_of(ones.cells(0, 8, 8)), view_of(ones.cells(8, 8, 8)));
  Result(ones.cells(8, 8, 8), ones.cells(8, 8, 8), Type::f16).expect_all(8.0);
}

/// K = 1 with M = 1 gave garbage.
TEST(Reports, EM_5_an_outer_product) {
  Memory a(Type::f16, {2.0}), b = arange(Type::f16, 128);
  for (const PlanRequest& request : harness::all_programs()) {
    Result(a.cells(1, 1, 1), b.cells(1, 128, 128), Type::f16, request).expect_each([](i64, i64 j) {
      return static_cast<double>(2 * j);
    });
  }
}

/// With N = 1 the stride of the axis of one element decided how B was read, and later calls crashed.
TEST(Reports, EM_6_the_stride_of_a_single_column_means_nothing) {
  Memory a(Type::f16, 64 * 32, 1.0), b(Type::f16, 32, 1.0), padded(Type::f16, 32 * 7, not_a_number);
  for (i64 i = 0; i < 32; ++i) padded.set(i * 7, 1.0);
  for (int twice = 0; twice < 2; ++twice) {
    Result(a.cells(64, 32, 32), b.cells(32, 1, 1, 1), Type::f16).expect_all(32.0);
    Result(a.cells(64, 32, 32), b.cells(32, 1, 1, 32), Type::f16).expect_all(32.0);
    Result(a.cells(64, 32, 32), padded.cells(32, 1, 7, 1), Type::f16).expect_all(32.0);
  }
}

}  // namespace
