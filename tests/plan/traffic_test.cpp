// The idealised cache: the simulation against one that shares nothing with it, and the closed form where its thresholds
// are exact.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include <tilewright/explain.hpp>

#include "plan/traffic.hpp"

namespace tilewright {
namespace {

Problem packed(i64 m, i64 n, i64 k) { return problem_of(m, n, k, DType::f16, DType::f16, {k, 1, n, 1, n, 1}); }

struct Block {
  char operand;
  i64 outer, step, bytes;
};

/// The blocks that the programs touch, in order, from the definitions of grid, order and split.
std::vector<Block> touched(const Problem& problem, const Plan& plan) {
  const i64 rows = (problem.m + plan.tile.m - 1) / plan.tile.m, cols = (problem.n + plan.tile.n - 1) / plan.tile.n;
  const i64 steps = (problem.k + plan.tile.k - 1) / plan.tile.k;
  const i64 each = (steps + plan.split.parts - 1) / plan.split.parts;
  const bool grouped = plan.order.kind == OrderKind::grouped;
  const i64 band = grouped ? plan.order.group : 1;
  std::vector<std::pair<i64, i64>> tiles;
  for (i64 first = 0; first < rows; first += band) {
    for (i64 col = 0; col < cols; ++col) {
      for (i64 row = first; row < std::min(rows, first + band); ++row) tiles.emplace_back(row, col);
    }
  }
  std::vector<Block> blocks;
  for (i64 part = 0; part < plan.split.parts; ++part) {
    for (const auto& [row, col] : tiles) {
      for (i64 step = part * each; step < std::min(steps, (part + 1) * each); ++step) {
        const i64 height = std::min(plan.tile.m, problem.m - row * plan.tile.m);
        const i64 width = std::min(plan.tile.n, problem.n - col * plan.tile.n);
        const i64 depth = std::min(plan.tile.k, problem.k - step * plan.tile.k);
        blocks.push_back({'a', row, step, height * depth * 2});
        blocks.push_back({'b', col, step, depth * width * 2});
      }
    }
  }
  return blocks;
}

/// Least recently used by moving entries of a list, the oldest first.
std::pair<i64, i64> brute_force(const std::vector<Block>& blocks, i64 capacity) {
  std::vector<Block> held;
  i64 a = 0, b = 0;
  for (const Block& block : blocks) {
    const auto found = std::ranges::find_if(held, [&](const Block& h) {
      return std::tie(h.operand, h.outer, h.step) == std::tie(block.operand, block.outer, block.step);
    });
    if (found != held.end()) {
      held.erase(found);
      held.push_back(block);
      continue;
    }
    (block.operand == 'a' ? a : b) += block.bytes;
    if (block.bytes > capacity) continue;
    held.push_back(block);
    const auto bytes_held = [&] {
      i64 sum = 0;
      for (const Block& h : held) sum += h.bytes;
      return sum;
    };
    while (bytes_held() > capacity) held.erase(held.begin());
  }
  return {a, b};
}

TEST(Traffic, SimulationEqualsABruteForceOne) {
  EXPECT_TRUE(rc::check("any small problem, order, split and cache", [] {
    const Problem problem =
        packed(*rc::gen::inRange<i64>(0, 60), *rc::gen::inRange<i64>(0, 60), *rc::gen::inRange<i64>(0, 60));
    Plan plan;
    plan.tile = {*rc::gen::inRange<i64>(3, 20), *rc::gen::inRange<i64>(3, 20), *rc::gen::inRange<i64>(3, 20)};
    if (*rc::gen::arbitrary<bool>()) plan.order = {OrderKind::grouped, *rc::gen::inRange<i64>(1, 7)};
    const i64 steps = cdiv(problem.k, plan.tile.k);
    if (steps > 1 && *rc::gen::arbitrary<bool>())
      plan.split = {SplitKind::split_k, *rc::gen::inRange<i64>(1, steps + 1)};
    const i64 capacity = *rc::gen::oneOf(rc::gen::inRange<i64>(1, 800), rc::gen::inRange<i64>(1, 16000));
    const plan::Traffic traffic = plan::simulate_traffic(problem, plan, capacity);
    const auto [a, b] = brute_force(touched(problem, plan), capacity);
    RC_ASSERT(traffic.a_bytes == static_cast<double>(a));
    RC_ASSERT(traffic.b_bytes == static_cast<double>(b));
  }));
}

TEST(Traffic, NothingIsReadTwiceWhenAllFitsAndEverythingWhenNothingDoes) {
  Plan plan;
  plan.tile = {64, 32, 32};
  const Problem problem = packed(130, 70, 65);
  const i64 a = 130 * 65 * 2, b = 65 * 70 * 2;
  const plan::Traffic roomy = plan::simulate_traffic(problem, plan, a + b);
  EXPECT_EQ(roomy.a_bytes, a);
  EXPECT_EQ(roomy.b_bytes, b);
  const plan::Traffic none = plan::simulate_traffic(problem, plan, 1);
  EXPECT_EQ(none.a_bytes, 3 * a);
  EXPECT_EQ(none.b_bytes, 3 * b);
}

TEST(Traffic, GroupingSparesB) {
  // 8x8 tiles: the linear order streams all of B once for each row of tiles, four rows at a time once for each group.
  const Problem problem = packed(512, 512, 512);
  Plan plan;
  plan.tile = {64, 64, 64};
  const i64 capacity = 6 * 64 * 512 * 2;  // six operand panels
  const plan::Traffic linear = plan::simulate_traffic(problem, plan, capacity);
  plan.order = {OrderKind::grouped, 4};
  const plan::Traffic grouped = plan::simulate_traffic(problem, plan, capacity);
  const double operand = 512 * 512 * 2;
  EXPECT_EQ(linear.a_bytes, operand);
  EXPECT_EQ(linear.b_bytes, 8 * operand);
  EXPECT_EQ(grouped.a_bytes, operand);
  EXPECT_EQ(grouped.b_bytes, 2 * operand);
}

TEST(Traffic, ClosedFormEqualsTheSimulationAwayFromItsThresholds) {
  const Problem problem = packed(512, 768, 256);
  const i64 panel = 64 * 256 * 2;
  for (const Order order :
       {Order{}, Order{OrderKind::grouped, 2}, Order{OrderKind::grouped, 4}, Order{OrderKind::grouped, 100}}) {
    for (const Split split : {Split{}, Split{SplitKind::split_k, 2}}) {
      Plan plan;
      plan.tile = {64, 64, 64};
      plan.order = order;
      plan.split = split;
      // In panels (of one part of K): less than two; enough for a tile's two; for a group and a column; for B and a
      // group.
      const i64 band = order.kind == OrderKind::grouped ? std::min<i64>(order.group, 8) : 1;
      for (const i64 panels : {i64{1}, band + 2, i64{12} + 2 * band, i64{30}}) {
        const i64 bytes = panels * panel / split.parts;
        const plan::Traffic exact = plan::simulate_traffic(problem, plan, bytes);
        const plan::Traffic closed = plan::estimate_traffic(problem, plan, static_cast<double>(bytes));
        EXPECT_EQ(exact.a_bytes, closed.a_bytes)
            << "group " << band << " parts " << split.parts << " panels " << panels;
        EXPECT_EQ(exact.b_bytes, closed.b_bytes)
            << "group " << band << " parts " << split.parts << " panels " << panels;
      }
    }
  }
}

TEST(Traffic, LongWalksAreEstimatedAndSaySo) {
  Plan plan;
  plan.tile = {64, 32, 32};
  EXPECT_TRUE(plan::cache_traffic(packed(130, 70, 65), plan, 1 << 20).simulated);
  EXPECT_FALSE(plan::cache_traffic(packed(65536, 65536, 65536), plan, 1 << 20).simulated);
}

// Each of these would take gigabytes or hours if it were walked.
TEST(Traffic, AnEmptyProblemReadsNothingHoweverLargeItsOtherExtentsAre) {
  constexpr i64 huge = i64{1} << 61;
  for (const auto& [m, n, k] :
       {std::array<i64, 3>{huge, 0, 65}, {0, huge, 2}, {1, 0, huge}, {0, 0, huge}, {huge, 1, 0}, {4, 4, 0}}) {
    Plan plan;
    plan.tile = {64, 32, 32};
    plan.split = {SplitKind::split_k, huge};
    const plan::Traffic traffic = plan::cache_traffic(packed(m, n, k), plan, 1 << 20);
    EXPECT_EQ(traffic.total(), 0) << m << "x" << n << "x" << k;
    EXPECT_TRUE(traffic.simulated);
  }
}

TEST(Traffic, ABlockLargerThanTheCacheIsNotKept) {
  Plan plan;
  plan.tile = {64, 16, 32};
  // A's blocks do not fit and are read for each of the four columns; B's do.
  const plan::Traffic traffic = plan::simulate_traffic(packed(64, 64, 32), plan, 64 * 32 * 2 + 32 * 16 * 2);
  EXPECT_EQ(traffic.a_bytes, 64 * 32 * 2);
  const plan::Traffic tight = plan::simulate_traffic(packed(64, 64, 32), plan, 64 * 32 * 2 - 1);
  EXPECT_EQ(tight.a_bytes, 4 * 64 * 32 * 2);
  EXPECT_EQ(tight.b_bytes, 64 * 32 * 2);
}

}  // namespace
}  // namespace tilewright
