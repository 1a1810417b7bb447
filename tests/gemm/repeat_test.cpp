// One plan, one bit pattern: over repeats, over numbers of threads, and for an element whatever the other rows are.
#include <gtest/gtest.h>

#include <thread>

#include "tests/gemm/harness.hpp"
#include "tests/oracle/random.hpp"

namespace {

using namespace tilewright;
using oracle::Edge;
using oracle::Input;
using oracle::Layout;
using oracle::Output;
using oracle::Type;

Input uniform(oracle::Random& random, Type type, i64 rows, i64 cols, Layout layout) {
  return Input(type, rows, cols, layout, Edge::end, [&](i64, i64) { return random.symmetric(); });
}

/// Unsplit, split, and in a grouped order.
std::vector<PlanRequest> programs(Type in, i64 k) {
  std::vector<PlanRequest> requests;
  for (PlanRequest request : harness::all_programs(in)) {
    request.split = Split{};
    requests.push_back(request);
    request.split = harness::split_of(3, k, request.tile->k);
    request.order = Order{OrderKind::grouped, 2};
    requests.push_back(request);
  }
  return requests;
}

TEST(Bits, are_equal_over_repeats_and_threads) {
  oracle::Random random(1);
  constexpr i64 m = 150, n = 131, k = 300;
  for (const Type type : oracle::all_types) {
    const Input a = uniform(random, type, m, k, Layout::ld_plus_1), b = uniform(random, type, k, n, Layout::packed);
    for (const PlanRequest& request : programs(type, k)) {
      std::vector<std::uint32_t> first;
      for (const i64 threads : {1, 1, 2, 3}) {
        const Output c(Type::f32, m, n, Layout::packed, Edge::end);
        const oracle::Claim claim = harness::multiply(a, b, c, harness::options_of(request, threads));
        if (first.empty()) first = oracle::bits_of(c.cells());
        const oracle::Verdict verdict = oracle::judge(claim, first, c);
        ASSERT_TRUE(verdict.right()) << threads << " threads against one\n" << verdict.report;
      }
    }
  }
}

TEST(Bits, are_equal_in_every_layout) {
  oracle::Random random(2);
  constexpr i64 m = 70, n = 45, k = 90;
  for (const Type type : {Type::f16, Type::bf16}) {
    const Input a = uniform(random, type, m, k, Layout::packed), b = uniform(random, type, k, n, Layout::packed);
    const oracle::Cells a_values = a.cells(), b_values = b.cells();
    for (const PlanRequest& request : programs(type, k)) {
      std::vector<std::uint32_t> first;
      for (const Layout layout : oracle::output_layouts) {
        const Input same_a(type, m, k, layout, Edge::end, [&](i64 i, i64 j) { return a_values.value(i, j); });
        const Input same_b(type, k, n, layout, Edge::begin, [&](i64 i, i64 j) { return b_values.value(i, j); });
        const Output c(Type::f32, m, n, layout, Edge::end);
        const oracle::Claim claim = harness::multiply(same_a, same_b, c, harness::options_of(request));
        if (first.empty()) first = oracle::bits_of(c.cells());
        const oracle::Verdict verdict = oracle::judge(claim, first, c);
        ASSERT_TRUE(verdict.right()) << verdict.report;
      }
    }
  }
}

/// Rows of A alone, in any number and at any place, give the bits they have in the whole product.
TEST(Bits, of_a_row_do_not_depend_on_the_other_rows) {
  oracle::Random random(3);
  constexpr i64 m = 140, n = 75, k = 270;
  const Input a = uniform(random, Type::bf16, m, k, Layout::packed),
              b = uniform(random, Type::bf16, k, n, Layout::packed);
  for (const PlanRequest& request : programs(Type::bf16, k)) {
    const Output whole(Type::f32, m, n, Layout::packed, Edge::end);
    const GemmOptions options = harness::options_of(request);
    harness::multiply(a, b, whole, options);
    for (const auto& [first, rows] :
         {std::pair<i64, i64>{0, 1}, {139, 1}, {17, 1}, {5, 16}, {1, 33}, {60, 80}, {3, 130}}) {
      const Output part(Type::f32, rows, n, Layout::packed, Edge::end);
      gemm_into(harness::view_of(a.cells()).slice({first, first + rows, {}}, {}), harness::view_of(b.cells()),
                harness::view_of(part.cells()), options);
      for (i64 i = 0; i < rows; ++i) {
        for (i64 j = 0; j < n; ++j) {
          ASSERT_EQ(part.cells().bits(i, j), whole.cells().bits(first + i, j))
              << "row " << first + i << " as row " << i << " of " << rows << ", column " << j << ", tile "
              << request.tile->m << "x" << request.tile->n << "x" << request.tile->k;
        }
      }
    }
  }
}

TEST(Bits, of_a_column_do_not_depend_on_the_other_columns) {
  oracle::Random random(4);
  constexpr i64 m = 40, n = 150, k = 200;
  const Input a = uniform(random, Type::bf16, m, k, Layout::packed),
              b = uniform(random, Type::bf16, k, n, Layout::ld_plus_1);
  for (const PlanRequest& request : programs(Type::bf16, k)) {
    const Output whole(Type::f32, m, n, Layout::packed, Edge::end);
    const GemmOptions options = harness::options_of(request);
    harness::multiply(a, b, whole, options);
    for (const auto& [first, cols] : {std::pair<i64, i64>{0, 1}, {149, 1}, {30, 17}, {1, 149}}) {
      const Output part(Type::f32, m, cols, Layout::packed, Edge::end);
      gemm_into(harness::view_of(a.cells()), harness::view_of(b.cells()).slice({}, {first, first + cols, {}}),
                harness::view_of(part.cells()), options);
      for (i64 i = 0; i < m; ++i) {
        for (i64 j = 0; j < cols; ++j)
          ASSERT_EQ(part.cells().bits(i, j), whole.cells().bits(i, first + j)) << i << ", " << j;
      }
    }
  }
}

/// Calls from several threads at once do not disturb each other.
TEST(Bits, are_equal_when_calls_run_at_the_same_time) {
  oracle::Random random(5);
  constexpr i64 m = 90, n = 80, k = 400;
  const Input a = uniform(random, Type::f16, m, k, Layout::packed),
              b = uniform(random, Type::f16, k, n, Layout::packed);
  for (const PlanRequest& request : programs(Type::f16, k)) {
    const GemmOptions options = harness::options_of(request, 2);
    const Output alone(Type::f32, m, n, Layout::packed, Edge::end);
    const oracle::Claim claim = harness::multiply(a, b, alone, options);
    const auto bits = oracle::bits_of(alone.cells());
    std::vector<std::thread> callers;
    std::array<std::string, 3> reports;
    for (std::string& report : reports) {
      callers.emplace_back([&] {
        for (int repeat = 0; repeat < 3 && report.empty(); ++repeat) {
          const Output c(Type::f32, m, n, Layout::packed, Edge::end);
          report = oracle::judge(harness::multiply(a, b, c, options), bits, c).report;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const std::string& report : reports) ASSERT_TRUE(report.empty()) << report;
  }
}

}  // namespace
