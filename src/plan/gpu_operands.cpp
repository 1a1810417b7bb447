#include "plan/gpu_operands.hpp"

#include <algorithm>
#include <limits>

namespace tilewright::plan {
namespace {

constexpr i64 most_boxed = i64{1} << 31;                          // coordinates of boxes have 32 bits
constexpr i64 uncountable = std::numeric_limits<i64>::max() / 2;  // bytes; two operands' are added

}  // namespace

bool converts(const Problem& problem) { return problem.output != problem.input && problem.output != DType::f32; }
bool has_boxes(const LayoutClass& layout) {
  return layout.unit != UnitAxis::none && layout.alignment >= 16 && layout.forward;
}
bool a_along_m(const Problem& p) {
  return p.a.unit == UnitAxis::mn || p.a.every_second == UnitAxis::mn || (p.a.unit == UnitAxis::both && p.m > 1);
}
bool b_along_n(const Problem& p) {
  return p.b.unit == UnitAxis::mn || p.b.every_second == UnitAxis::mn || (p.b.unit == UnitAxis::both && p.k <= 1);
}
bool has_rows(const LayoutClass& layout) {
  return layout.unit != UnitAxis::none && layout.alignment >= 2 && layout.forward;
}
bool has_second_rows(const LayoutClass& layout) {
  return layout.every_second != UnitAxis::none && layout.alignment >= 2 && layout.forward;
}
bool a_has_classes(const Problem& problem) { return has_rows(problem.a) && !a_along_m(problem); }
bool b_has_classes(const Problem& problem) { return has_rows(problem.b) && !b_along_n(problem); }
bool stored_by_columns(const Problem& problem) { return problem.c.unit == UnitAxis::k; }
bool b_has_phases(const Problem& problem) { return has_rows(problem.b) && b_along_n(problem); }
bool fits_boxes(const Problem& problem) {
  constexpr i64 early = 256;  // a sum may begin a little earlier, and a block reach beyond it
  return problem.k > 0 && std::max({problem.m, problem.n, problem.k + early}) < most_boxed;
}

Problem as_packed(const Problem& problem, const Packing& packing) {
  Problem packed = problem;
  if (packing.a) packed.a = {problem.a.unit, widest_copy};
  if (packing.b) packed.b = {problem.b.unit, widest_copy};
  return packed;
}
i64 packed_pitch(i64 adjacent) { return cdiv(adjacent, i64{64}) * 64; }
i64 packed_bytes(const Problem& problem, const Packing& packing) {
  const auto bytes = [&](i64 across, i64 adjacent) {
    const double about = static_cast<double>(across) * (static_cast<double>(adjacent) + 64) *
                         static_cast<double>(size_of(problem.input));
    if (about > static_cast<double>(uncountable)) return uncountable;
    return across * packed_pitch(adjacent) * size_of(problem.input);
  };
  const i64 a = a_along_m(problem) ? bytes(problem.k, problem.m) : bytes(problem.m, problem.k);
  const i64 b = b_along_n(problem) ? bytes(problem.k, problem.n) : bytes(problem.n, problem.k);
  return (packing.a ? a : 0) + (packing.b ? b : 0);
}

TileShape product_tile(const Plan& plan) {
  return transposes(plan) ? TileShape{plan.tile.n, plan.tile.m, plan.tile.k} : plan.tile;
}

bool a_in_classes(const Problem& problem, const Plan& plan) {
  return plan.a == Mover::tma && row_classes(problem.a) > 1;
}
bool b_in_classes(const Problem& problem, const Plan& plan) {
  return plan.b == Mover::tma && row_classes(problem.b) > 1 && !b_in_phases(problem, plan);
}
bool b_in_phases(const Problem& problem, const Plan& plan) {
  return plan.b == Mover::tma && row_classes(problem.b) > 1 && b_along_n(problem);
}
i64 own_columns(const Problem& problem, const Plan& plan) {
  return b_in_phases(problem, plan) ? plan.tile.n - 8 : plan.tile.n;
}

tile::Classes classes_of(const Problem& problem, const Plan& plan) {
  constexpr i64 most_lines = 8, long_sum = 1024;
  const bool of_b = b_in_classes(problem, plan);
  const i64 extent = of_b ? problem.n : problem.m, edge = of_b ? plan.tile.n : plan.tile.m;
  const i64 chunks = of_b ? row_classes(problem.b) : a_in_classes(problem, plan) ? row_classes(problem.a) : 1;
  tile::Classes best = tile::classes_of(extent, edge, chunks, 1);
  // Elements of C that are not adjacent had better be near each other.
  if (chunks > 1 && of_b != stored_by_columns(problem)) return best;
  // Beginning a sum at a line's beginning may take a step more.
  for (i64 lines = 2; chunks > 1 && problem.k >= long_sum && lines <= most_lines; lines *= 2) {
    const tile::Classes more = tile::classes_of(extent, edge, chunks, lines);
    if (more.tiles() <= best.tiles()) best = more;
  }
  return best;
}

i64 tile_rows(const Problem& problem, const Plan& plan) {
  return a_in_classes(problem, plan) ? classes_of(problem, plan).tiles() : cdiv(problem.m, plan.tile.m);
}
i64 tile_cols(const Problem& problem, const Plan& plan) {
  return b_in_classes(problem, plan) ? classes_of(problem, plan).tiles() : cdiv(problem.n, own_columns(problem, plan));
}

Mover gpu_mover(const LayoutClass& layout) {
  if (layout.unit == UnitAxis::none) return Mover::gather;
  return layout.alignment >= 4 ? Mover::async_copy : Mover::realign;
}

int copy_bytes(const Problem& problem, const Plan& plan) {
  if (plan.a != plan.b) return 0;
  const bool wide = problem.a.alignment >= widest_copy && problem.b.alignment >= widest_copy && !converts(problem);
  return wide ? widest_copy : narrowest_copy;
}

}  // namespace tilewright::plan
