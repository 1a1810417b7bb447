// Finding sweeps among outcomes, and their figures; see sweep.hpp. bench/sweep_picture.cpp draws them.
#include "bench/sweep.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/sweep_panels.hpp"

namespace tilewright::bench {
namespace {

constexpr i64 most_shift = 8;            // elements of 16 bits: from there on alignments repeat
constexpr std::size_t least_points = 5;  // of a line: fewer are single cases

/// What a case moves and how far; nothing moves where rows are packed and addresses aligned.
struct Shift {
  std::optional<Moved> moved;
  i64 by = 0;
};

/// Nothing for a case that moves several things differently, or too far.
std::optional<Shift> shift_of(const Case& which) {
  const i64 a = which.lda - which.packed_lda(), b = which.ldb - which.packed_ldb(), c = which.ldc - which.packed_ldc();
  const i64 base = which.offset, most = std::max({a, b, c, base});
  if (which.step != 1 || which.stepb != 1 || std::min({a, b, c, base}) < 0 || most > most_shift) return std::nullopt;
  if (most == 0) return Shift{};
  if (a + b + c == 0) return Shift{Moved::base, base};
  if (base != 0) return std::nullopt;
  if (a == b && b == c) return Shift{Moved::all, a};
  if (a + b + c != most) return std::nullopt;
  return Shift{a > 0 ? Moved::a : b > 0 ? Moved::b : Moved::c, most};
}

bool same_product(const Outcome& x, const Outcome& y) {
  return x.which.m == y.which.m && x.which.n == y.which.n && x.which.k == y.which.k && x.which.type == y.which.type &&
         x.threads == y.threads;
}

Column column_of(std::span<const Outcome> outcomes, const Outcome& product, const char* layout) {
  Column column{layout, {}};
  for (const Moved moved : all_moved) {
    Panel panel{moved, {}};
    for (const Outcome& one : outcomes) {
      if (!same_product(one, product) || one.which.layout() != layout) continue;
      const auto shift = shift_of(one.which);
      if (shift && shift->moved.value_or(moved) == moved) panel.points.emplace(shift->by, &one);
    }
    if (panel.points.size() >= least_points) column.panels.push_back(std::move(panel));
  }
  return column;
}

}  // namespace

std::vector<Sweep> sweeps_of(std::span<const Outcome> outcomes) {
  std::vector<Sweep> sweeps;
  for (const Outcome& one : outcomes) {
    if (std::any_of(sweeps.begin(), sweeps.end(),
                    [&](const Sweep& known) { return same_product(one, *known.product); }))
      continue;
    Sweep sweep{&one, {}};
    for (const char* const layout : {"nn", "nt", "tn", "tt"}) {
      Column column = column_of(outcomes, one, layout);
      if (!column.panels.empty()) sweep.columns.push_back(std::move(column));
    }
    if (!sweep.columns.empty()) sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

std::optional<Extremes> extremes_of(const Column& column, std::size_t contender) {
  std::optional<Extremes> extremes;
  for (const Panel& panel : column.panels) {
    for (const auto& [by, outcome] : panel.points) {
      const Entry& entry = outcome->entries[contender];
      if (!entry.failed.empty()) continue;
      const double rate = outcome->gflops(entry);
      if (!extremes) extremes = Extremes{rate, rate, outcome};
      if (rate < extremes->worst) extremes->worst = rate, extremes->worst_at = outcome;
      extremes->best = std::max(extremes->best, rate);
    }
  }
  return extremes;
}

bool holds_sweep(std::span<const Case> cases) {
  std::vector<Outcome> outcomes;
  for (const Case& one : cases) outcomes.push_back({one, 1, {}, 0, {}});
  return !sweeps_of(outcomes).empty();
}

std::string sweep_text(std::span<const Outcome> outcomes) {
  const std::vector<Sweep> sweeps = sweeps_of(outcomes);
  if (sweeps.empty()) return "";
  constexpr int name_width = 34, width = 11, most_named = 5;
  const std::size_t contenders = std::min<std::size_t>(outcomes[0].entries.size(), most_named);
  std::string text = fmt::format("\n{:<{}}", "worst point / best point", name_width);
  for (std::size_t i = 0; i < contenders; ++i) text += fmt::format("{:>{}.10}", outcomes[0].entries[i].name, width);
  text += "  our worst\n";
  for (const Sweep& sweep : sweeps) {
    const Case& which = sweep.product->which;
    for (const Column& column : sweep.columns) {
      text += fmt::format("{:<{}}",
                          fmt::format("{}x{}x{} {} {} on {}", which.m, which.n, which.k, column.layout,
                                      name_of(which.type), sweep.product->threads),
                          name_width);
      for (std::size_t i = 0; i < contenders; ++i) {
        const auto extremes = extremes_of(column, i);
        text += extremes ? fmt::format("{:>{}.2f}", extremes->worst / extremes->best, width)
                         : fmt::format("{:>{}}", "none", width);
      }
      const auto ours = extremes_of(column, 0);
      text += ours ? fmt::format("  {:.24}\n", ours->worst_at->which.name) : "\n";
    }
  }
  return text;
}

}  // namespace tilewright::bench
