// The idealised cache, simulated and estimated.
#include "plan/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tilewright::plan {
namespace {

i64 valid_extent(i64 index, i64 tile, i64 extent) { return std::min(tile, extent - index * tile); }

/// A least-recently-used cache over blocks numbered from 0: a doubly linked list through two arrays, with a sentinel.
class LruCache {
 public:
  LruCache(std::size_t blocks, i64 capacity) : capacity_(capacity), links_(blocks + 1), bytes_(blocks, absent) {
    links_[blocks] = {static_cast<std::uint32_t>(blocks), static_cast<std::uint32_t>(blocks)};
  }

  /// Touches a block; true if it was not there. One larger than the whole cache is never kept.
  bool misses(std::size_t block, i64 bytes) {
    const bool missed = bytes_[block] == absent;
    if (missed && bytes > capacity_) return true;
    if (!missed) unlink(block);
    link_first(block);
    if (missed) {
      bytes_[block] = bytes;
      held_ += bytes;
      while (held_ > capacity_) evict_last();
    }
    return missed;
  }

 private:
  static constexpr i64 absent = -1;
  struct Link {
    std::uint32_t before, after;
  };

  std::size_t sentinel() const { return links_.size() - 1; }
  void unlink(std::size_t block) {
    const auto [before, after] = links_[block];
    links_[before].after = after;
    links_[after].before = before;
  }
  void link_first(std::size_t block) {
    const std::uint32_t second = links_[sentinel()].after;
    const auto number = static_cast<std::uint32_t>(block);
    links_[block] = {static_cast<std::uint32_t>(sentinel()), second};
    links_[second].before = number;
    links_[sentinel()].after = number;
  }
  void evict_last() {
    const std::size_t last = links_[sentinel()].before;
    unlink(last);
    held_ -= bytes_[last];
    bytes_[last] = absent;
  }

  i64 capacity_, held_ = 0;
  std::vector<Link> links_;
  std::vector<i64> bytes_;
};

}  // namespace

Traffic simulate_traffic(const Problem& problem, const Plan& plan, i64 cache_bytes) {
  const TileGrid grid{cdiv(problem.m, plan.tile.m), cdiv(problem.n, plan.tile.n)};
  const i64 steps = cdiv(problem.k, plan.tile.k), element = size_of(problem.input);
  // Nothing is read, however large the one operand that is not empty and however many the parts of K.
  if (grid.rows == 0 || grid.cols == 0 || steps == 0) return {0, 0, true};
  const i64 a_blocks = grid.rows * steps, b_blocks = steps * grid.cols;
  LruCache cache(static_cast<std::size_t>(a_blocks + b_blocks), cache_bytes);
  i64 a_bytes = 0, b_bytes = 0;
  for (i64 part = 0; part < plan.split.parts; ++part) {
    const StepRange range = steps_of_part(steps, plan.split.parts, part);
    for (i64 id = 0; id < grid.rows * grid.cols; ++id) {
      const TileCoord tile = tile_of(plan.order, grid, id);
      const i64 rows = valid_extent(tile.row, plan.tile.m, problem.m);
      const i64 cols = valid_extent(tile.col, plan.tile.n, problem.n);
      for (i64 step = range.begin; step < range.end; ++step) {
        const i64 along_k = valid_extent(step, plan.tile.k, problem.k);
        const i64 of_a = rows * along_k * element, of_b = along_k * cols * element;
        if (cache.misses(static_cast<std::size_t>(tile.row * steps + step), of_a)) a_bytes += of_a;
        if (cache.misses(static_cast<std::size_t>(a_blocks + step * grid.cols + tile.col), of_b)) b_bytes += of_b;
      }
    }
  }
  return {static_cast<double>(a_bytes), static_cast<double>(b_bytes), true};
}

Traffic estimate_traffic(const Problem& problem, const Plan& plan, double cache_bytes) {
  const double element = static_cast<double>(size_of(problem.input));
  const double m = static_cast<double>(problem.m), n = static_cast<double>(problem.n),
               k = static_cast<double>(problem.k);
  const double rows = static_cast<double>(cdiv(problem.m, plan.tile.m));
  const double cols = static_cast<double>(cdiv(problem.n, plan.tile.n));
  const double band =
      plan.order.kind == OrderKind::grouped ? std::min(static_cast<double>(plan.order.group), rows) : 1.0;
  const double bands = band > 0 ? std::ceil(rows / band) : 0.0;
  // One part of K at a time: parts share no block.
  const double part_k = k / static_cast<double>(plan.split.parts);
  const double a_panel =
      std::min(static_cast<double>(plan.tile.m), m) * part_k * element;  // the blocks of A of one row of tiles
  const double b_panel =
      std::min(static_cast<double>(plan.tile.n), n) * part_k * element;  // the blocks of B of one column
  const double whole_b = n * part_k * element;

  // What is touched between two uses of one panel (its own blocks included):
  //   of A, by the next tile of its row: the group's panels of A, and the panels of B of two columns (of one without a
  //   group); of B, by the next tile of its column in the group: one panel of A and itself; of B, by the next group:
  //   all of B, and the panels of A of two groups.
  const double columns_between = band > 1 ? 2.0 : 1.0;
  const double a_times = band * a_panel + columns_between * b_panel <= cache_bytes ? 1.0 : cols;
  double b_times = a_panel + b_panel <= cache_bytes ? bands : rows;
  if (whole_b + std::min(2 * band, rows) * a_panel <= cache_bytes) b_times = 1.0;
  return {m * k * element * std::min(a_times, cols), k * n * element * std::min(b_times, rows), false};
}

Traffic cache_traffic(const Problem& problem, const Plan& plan, i64 cache_bytes) {
  const double accesses = 2.0 * static_cast<double>(cdiv(problem.m, plan.tile.m)) *
                          static_cast<double>(cdiv(problem.n, plan.tile.n)) *
                          static_cast<double>(cdiv(problem.k, plan.tile.k));
  return accesses <= most_simulated_accesses ? simulate_traffic(problem, plan, cache_bytes)
                                             : estimate_traffic(problem, plan, static_cast<double>(cache_bytes));
}

}  // namespace tilewright::plan
