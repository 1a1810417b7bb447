// The checker's own battery: every built-in kernel passes on all its shapes and layouts, and the worked examples hold.
#include <gtest/gtest.h>

#include <tilewright/gemm.hpp>
#include "check/battery.hpp"
#include "check/problem.hpp"
#include "plan/compiled_tiles.hpp"

namespace {

using namespace tilewright;

class Battery : public testing::TestWithParam<exact::BuiltinKernel> {};

TEST_P(Battery, passes) {
  const exact::BatteryResult result = exact::run_battery(GetParam().name, 7, available_threads());
  EXPECT_EQ(result.kernels, 1);
  EXPECT_GE(result.shapes, 40);
  EXPECT_EQ(result.layouts, 8);
  EXPECT_EQ(result.checks, result.shapes * result.layouts);
  EXPECT_EQ(result.failed, 0);
  for (const exact::BatteryFailure& failure : result.failures) {
    ADD_FAILURE() << failure.kernel << " on " << failure.shape.m << "x" << failure.shape.n << "x" << failure.shape.k
                  << "\n"
                  << failure.text;
  }
}
INSTANTIATE_TEST_SUITE_P(Exact, Battery,
                         testing::ValuesIn(exact::builtin_kernels().begin(), exact::builtin_kernels().end()),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

/// A kernel that fails in the same words on every layout, and in other words on every shape.
exact::Report fails_by_shape(const exact::Shape& shape, const exact::LayoutChoice&, exact::u64) {
  exact::Report report;
  report.faults.push_back({exact::FaultKind::wrong_value, "wrong value: of " + std::to_string(shape.m), 1});
  return report;
}
exact::Report fails_always(const exact::Shape&, const exact::LayoutChoice&, exact::u64) {
  exact::Report report;
  report.faults.push_back({exact::FaultKind::wrong_value, "wrong value: always", 1});
  return report;
}

TEST(Battery, says_equal_failures_once_with_a_count) {
  const exact::BuiltinKernel always{"always", "", fails_always};
  const exact::BatteryResult result = exact::run_battery({&always, 1}, 7, 2);
  EXPECT_EQ(result.failed, result.checks);
  EXPECT_EQ(result.different_failures, 1);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].count, result.checks);
  EXPECT_EQ(result.failures[0].text, "wrong value: always");
  EXPECT_EQ(result.failures[0].shape.m, exact::battery_shapes()[0].m);  // the first check is the one that is told
  EXPECT_EQ(result.failures[0].layout.a, exact::layouts[0]);
}

TEST(Battery, tells_the_first_of_many_different_failures) {
  const exact::BuiltinKernel kernels[] = {{"always", "", fails_always}, {"by_shape", "", fails_by_shape}};
  const exact::BatteryResult result = exact::run_battery(kernels, 7, 2);
  EXPECT_EQ(result.failed, result.checks);
  EXPECT_GT(result.different_failures, 20);
  ASSERT_EQ(result.failures.size(), exact::most_failures_told);
  EXPECT_EQ(result.failures[0].kernel, "always");
  EXPECT_EQ(result.failures[1].text, "wrong value: of 130");
  EXPECT_EQ(result.failures[2].text, "wrong value: of 1");
  EXPECT_GT(result.failures[2].count, result.layouts);  // several shapes have one row
}

TEST(Battery, worked_examples_hold) {
  const auto examples = exact::worked_examples();
  EXPECT_GE(examples.size(), 10u);
  for (const exact::WorkedExample& example : examples)
    EXPECT_TRUE(example.passed) << example.claim << ", got " << example.got;
}

/// Every plan that the operator may run is exact: all compiled tiles, orders and splits, around their boundaries.
TEST(Battery, every_compiled_plan_is_exact) {
  for (const TileShape& tile : plan::tiles) {
    for (const Order order : {Order{}, Order{OrderKind::grouped, 2}}) {
      for (const Split split : {Split{}, Split{SplitKind::split_k, 2}}) {
        Plan plan;
        plan.tile = tile;
        plan.order = order;
        plan.split = split;
        const i64 m = tile.m + 1, n = 2 * tile.n - 1, k = 2 * tile.k + 1;
        const auto a = exact::place("a", exact::Role::input, exact::Layout::row_padded, m, k, DType::f16, 0);
        const auto b = exact::place("b", exact::Role::input, exact::Layout::transposed, k, n, DType::f16, 1);
        const auto c = exact::place("c", exact::Role::output, exact::Layout::shifted, m, n, DType::f16, 2);
        if (m * n * k > 1 << 24) continue;  // the largest tiles by their smaller relatives: the same program
        const exact::Report report = exact::check_problem(a.view, b.view, c.view, plan);
        EXPECT_TRUE(report.passed()) << to_string(plan) << "\n" << report.text();
      }
    }
  }
}

}  // namespace
