// The parts of a sweep, for those who count and draw them; see sweep.hpp.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness.hpp"

namespace tilewright::bench {

/// What goes up element by element: a leading dimension, all three of them, the base addresses of all matrices.
enum class Moved : unsigned char { a, b, c, all, base };
inline constexpr std::array all_moved = {Moved::a, Moved::b, Moved::c, Moved::all, Moved::base};

struct Panel {
  Moved moved;
  std::map<i64, const Outcome*> points;  // by the elements moved; 0 where there are packed rows at aligned addresses
};
struct Column {
  std::string layout;
  std::vector<Panel> panels;  // in the order of all_moved
};
struct Sweep {
  const Outcome* product;  // one of its outcomes: shape, type and threads are those of all
  std::vector<Column> columns;
};
/// They point into the outcomes.
std::vector<Sweep> sweeps_of(std::span<const Outcome> outcomes);

/// Of all points of a transposition, in GFLOP/s.
struct Extremes {
  double worst, best;
  const Outcome* worst_at;
};
/// Nothing for a contender that has no time.
std::optional<Extremes> extremes_of(const Column& column, std::size_t contender);

}  // namespace tilewright::bench
