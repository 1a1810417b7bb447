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
