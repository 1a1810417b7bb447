// Counting: grid, programs, offsets, loads. No formatting here.
#include "plan/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include <tilewright/error.hpp>

namespace tilewright::plan {
namespace {

constexpr i64 largest_i32 = std::numeric_limits<std::int32_t>::max();
constexpr i64 largest_extent = i64{1} << 62;  // leaves room for the last tile's box
constexpr i64 smallest_i32 = std::numeric_limits<std::int32_t>::min();

IndexRange range_of(i64 index, i64 tile, i64 extent) {
  const i64 first = index * tile;
  return {first, first + tile - 1, std::clamp<i64>(extent - first, 0, tile)};
}

/// row * row_stride + col * col_stride, or nothing beyond 63 bits.
std::optional<i64> checked_offset(const Operand& operand, i64 row, i64 col) {
  i64 of_row = 0, of_col = 0, offset = 0;
  if (__builtin_mul_overflow(row, operand.row_stride, &of_row) ||
      __builtin_mul_overflow(col, operand.col_stride, &of_col) || __builtin_add_overflow(of_row, of_col, &offset)) {
    return std::nullopt;
  }
  return offset;
}

std::optional<OffsetRange> offsets_between(const Operand& operand, i64 row_first, i64 row_last, i64 col_first,
                                           i64 col_last) {
  // An offset is affine in both indices, so its extremes lie at corners: which ones is a matter of the strides' signs.
  if (operand.row_stride < 0) std::swap(row_first, row_last);
  if (operand.col_stride < 0) std::swap(col_first, col_last);
  const auto low = checked_offset(operand, row_first, col_first), high = checked_offset(operand, row_last, col_last);
  if (!low || !high) return std::nullopt;
  return OffsetRange{*low, *high};
}

Operand operand_of(char name, i64 rows, i64 cols, i64 row_stride, i64 col_stride, DType type, const LayoutClass& layout,
                   Mover mover) {
  check_offsets(name, {nullptr, type, rows, cols, row_stride, col_stride});
  return {name, rows, cols, row_stride, col_stride, type, layout, mover};
}

i64 checked_programs(const TileGrid& grid, i64 parts) {
  const Count programs = product({grid.rows, grid.cols, parts});
  if (!programs.fits) {
    throw Error(ErrorCode::problem,
                fmt::format("a grid of {} x {} tiles in {} parts of K has 2^63 programs or more; use a larger tile.",
                            grid.rows, grid.cols, parts));
  }
  return programs.exact;
}

std::vector<TileKind> tile_kinds(const Geometry& geometry) {
  const Problem& problem = geometry.problem;
  const TileShape& tile = geometry.plan.tile;
  const i64 whole_rows = problem.m / tile.m, whole_cols = problem.n / tile.n;
  const i64 rest_rows = problem.m % tile.m, rest_cols = problem.n % tile.n;
  const i64 cut_rows = rest_rows != 0 ? 1 : 0, cut_cols = rest_cols != 0 ? 1 : 0;
  std::vector<TileKind> kinds = {{whole_rows * whole_cols, tile.m, tile.n},
                                 {whole_rows * cut_cols, tile.m, rest_cols},
                                 {cut_rows * whole_cols, rest_rows, tile.n},
                                 {cut_rows * cut_cols, rest_rows, rest_cols}};
  std::erase_if(kinds, [](const TileKind& kind) { return kind.count == 0; });
  return kinds;
}

void find_wrap(const Operand& operand, std::vector<Wrap>& wraps) {
  if (operand.rows == 0 || operand.cols == 0) return;
  const OffsetRange range = *offsets_between(operand, 0, operand.rows - 1, 0, operand.cols - 1);
  if (range.high <= largest_i32 && range.low >= smallest_i32) return;
  const bool upwards = range.high > largest_i32;
  const i64 row = (operand.row_stride > 0) == upwards ? operand.rows - 1 : 0;
  const i64 col = (operand.col_stride > 0) == upwards ? operand.cols - 1 : 0;
  const i64 offset = operand.offset(row, col);
  wraps.push_back({operand.name, row, col, offset, static_cast<std::int32_t>(static_cast<std::uint32_t>(offset))});
}

std::vector<TrafficRow> traffic_rows(const Problem& problem, const Plan& plan, const CpuDescription& cpu,
                                     const ExplainFocus& focus) {
  // The plan's own group, or a common one to compare the linear order with.
  constexpr Order compared{OrderKind::grouped, 8};
  const std::array orders = {Order{}, plan.order.kind == OrderKind::grouped ? plan.order : compared};
  std::vector<std::pair<const char*, i64>> caches = {{"L2", cpu.l2_bytes}, {"L3", cpu.l3_bytes}};
  if (focus.cache_bytes) caches = {{"given", *focus.cache_bytes}};
  std::vector<TrafficRow> rows;
  for (const auto& [name, bytes] : caches) {
    for (const Order& order : orders) {
      Plan ordered = plan;
      ordered.order = order;
      rows.push_back({name, bytes, order, cache_traffic(problem, ordered, bytes)});
    }
  }
  return rows;
}

}  // namespace

void check_offsets(char name, const MatrixView& view) {
  if (view.rows <= 0 || view.cols <= 0) return;
  const Operand operand{name, view.rows, view.cols, view.row_stride, view.col_stride, view.type, {}, {}};
  const auto range = offsets_between(operand, 0, view.rows - 1, 0, view.cols - 1);
  i64 bytes = 0;
  if (std::max(view.rows, view.cols) > largest_extent || !range ||
      __builtin_mul_overflow(range->low, size_of(view.type), &bytes) ||
      __builtin_mul_overflow(range->high, size_of(view.type), &bytes)) {
    throw Error(ErrorCode::address_range,
                fmt::format("{} is {}x{} with strides ({}, {}): its byte offsets do not fit in 63 bits.", name,
                            view.rows, view.cols, view.row_stride, view.col_stride));
  }
}

std::optional<OffsetRange> valid_offsets(const Operand& operand, const IndexRange& rows, const IndexRange& cols) {
  if (rows.valid == 0 || cols.valid == 0) return std::nullopt;
  return offsets_between(operand, rows.first, rows.last_valid(), cols.first, cols.last_valid());
}

std::optional<OffsetRange> box_offsets(const Operand& operand, const IndexRange& rows, const IndexRange& cols) {
  return offsets_between(operand, rows.first, rows.last, cols.first, cols.last);
}

Geometry::Geometry(const Problem& p, const OperandStrides& s, const Plan& chosen)
    : problem(p),
      plan(chosen),
      a(operand_of('a', p.m, p.k, s.a_row, s.a_col, p.input, p.a, chosen.a)),
      b(operand_of('b', p.k, p.n, s.b_row, s.b_col, p.input, p.b, chosen.b)),
      c(operand_of('c', p.m, p.n, s.c_row, s.c_col, p.output, p.c, Mover::pack)),
      grid{cdiv(p.m, chosen.tile.m), cdiv(p.n, chosen.tile.n)},
      programs(checked_programs(grid, chosen.split.parts)),
      steps(cdiv(p.k, chosen.tile.k)) {
  tiles = grid.rows * grid.cols;
}

IndexRange Geometry::rows_of(i64 tile_row) const { return range_of(tile_row, plan.tile.m, problem.m); }
IndexRange Geometry::cols_of(i64 tile_col) const { return range_of(tile_col, plan.tile.n, problem.n); }
IndexRange Geometry::k_of(i64 step) const { return range_of(step, plan.tile.k, problem.k); }

Program Geometry::program(i64 number) const {
  const TileCoord tile = tile_of(plan.order, grid, number % tiles);
  const i64 part = number / tiles;
  return {number, tile, part, rows_of(tile.row), cols_of(tile.col), steps_of_part(steps, plan.split.parts, part)};
}

Facts facts_of(const Problem& problem, const OperandStrides& strides, const PlanChoice& choice,
               const CpuDescription& cpu, const ExplainFocus& focus) {
  if (focus.cache_bytes && *focus.cache_bytes < 1) {
    throw Error(ErrorCode::problem, fmt::format("a cache of {} bytes: give a size of 1 or more.", *focus.cache_bytes));
  }
  if (focus.step && !focus.program) {
    throw Error(ErrorCode::problem,
                fmt::format("step {} of which program? Give a program with the step.", *focus.step));
  }
  const Plan& plan = choice.plan;
  const TileShape& tile = plan.tile;
  Facts facts(Geometry(problem, strides, plan));
  const Geometry& geometry = facts.geometry;
  const i64 element = size_of(problem.input);

  facts.useful_flops = product({2, problem.m, problem.n, problem.k});
  facts.block_flops = product({2, geometry.tiles, geometry.steps, tile.m, tile.n, tile.k});
  if (facts.block_flops.value > 0) facts.useful_ratio = facts.useful_flops.value / facts.block_flops.value;
  facts.stage_bytes = (tile.m + tile.n) * tile.k * element;
  facts.stage_intensity = 2.0 * static_cast<double>(tile.m) * static_cast<double>(tile.n) /
                          static_cast<double>((tile.m + tile.n) * element);  // BK cancels
  facts.accumulator_bytes = tile.m * tile.n * i64{sizeof(float)};

  facts.a_loaded = product({problem.m, problem.k, geometry.grid.cols, element});
  facts.b_loaded = product({problem.k, problem.n, geometry.grid.rows, element});
  facts.loaded = facts.a_loaded + facts.b_loaded;
  facts.c_stored = product({problem.m, problem.n, size_of(problem.output)});
  if (plan.split.kind == SplitKind::split_k) {
    facts.workspace_moved =
        product({2, plan.split.parts, problem.m, problem.n, i64{sizeof(float)}});  // written, then read
  }
  facts.kinds = tile_kinds(geometry);
  facts.traffic = traffic_rows(problem, plan, cpu, focus);
  for (const Operand* operand : {&geometry.a, &geometry.b, &geometry.c}) find_wrap(*operand, facts.wraps);
  return facts;
}

ProgramFacts program_facts(const Geometry& geometry, const ExplainFocus& focus) {
  const i64 number = focus.program.value_or(0);
  if (number < 0 || number >= geometry.programs) {
    throw Error(ErrorCode::problem, geometry.programs == 0
                                        ? fmt::format("program {}: the grid has no programs.", number)
                                        : fmt::format("program {} is outside of the grid: programs are 0 to {}.",
                                                      number, geometry.programs - 1));
  }
  ProgramFacts facts{geometry.program(number), {0, 0}};
  facts.steps = facts.program.steps;
  if (focus.step) {
    const i64 count = facts.steps.end - facts.steps.begin;
    if (*focus.step < 0 || *focus.step >= count) {
      throw Error(ErrorCode::problem,
                  count == 0
                      ? fmt::format("step {}: program {} has no K steps.", *focus.step, number)
                      : fmt::format("step {} of program {}: its K steps are 0 to {}.", *focus.step, number, count - 1));
    }
    facts.steps = {facts.steps.begin + *focus.step, facts.steps.begin + *focus.step + 1};
  }
  return facts;
}

ElementFacts element_facts(const Geometry& geometry, const ExplainFocus::Element& element) {
  const Problem& problem = geometry.problem;
  if (element.row < 0 || element.row >= problem.m || element.col < 0 || element.col >= problem.n) {
    throw Error(ErrorCode::problem, fmt::format("element ({}, {}) is outside of C, which is {}x{}.", element.row,
                                                element.col, problem.m, problem.n));
  }
  const TileShape& tile = geometry.plan.tile;
  const TileCoord owner{element.row / tile.m, element.col / tile.n};
  const i64 id = program_of(geometry.plan.order, geometry.grid, owner);
  ElementFacts facts{element.row, element.col, element.row % tile.m, element.col % tile.n, {}};
  constexpr i64 most_listed = 64;
  const i64 parts = geometry.plan.split.parts;
  for (i64 part = 0; part < parts; ++part) {
    if (part >= most_listed - 1) part = parts - 1;
    facts.programs.push_back(geometry.program(part * geometry.tiles + id));
  }
  return facts;
}

std::span<const std::string_view> limits_of_figures() {
  static constexpr std::array<std::string_view, 5> limits = {
      "Stage intensity is FLOP per byte of a program's own loads in one K step. It is not DRAM or HBM intensity: it "
      "knows no caches, no repeated loads, and not C.",
      "The useful ratio compares the work of whole blocks, not time: it does not predict how much slower a ragged "
      "shape runs. A CPU program skips rows, columns and K indices behind the last valid one.",
      "Accumulator bytes are the tile's FP32 sums, not registers per thread: threads share them, and the compiler "
      "decides where they live.",
      "The order of programs is a hint for cache reuse, never a dependency: programs may run in any order and at the "
      "same time.",
      "Modelled times rank plans; only a measurement says how long one takes. Nothing here was measured.",
  };
  return limits;
}

}  // namespace tilewright::plan
