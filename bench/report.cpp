// The table that a person reads; see record.hpp.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/record.hpp"

namespace tilewright::bench {
namespace {

constexpr std::size_t name_width = 13, shape_width = 15, entry_width = 15;

std::string shape_text(const Case& which) { return fmt::format("{}x{}x{}", which.m, which.n, which.k); }

/// GFLOP/s and spread of one contender: "  181.3 +-0.4 %".
std::string entry_text(const Outcome& outcome, const Entry& entry) {
  if (!entry.failed.empty()) return fmt::format("{:>{}}", "none", entry_width);
  const double gflops = outcome.gflops(entry);
  const std::string number = fmt::format("{:.{}f}", gflops, gflops < 100 ? 1 : 0);
  return fmt::format("{:>7} ±{:>4.1f} %", number, std::min(99.9, 100 * entry.us.spread));
}

std::string ratio_text(const Outcome& outcome) {
  const auto ratio = outcome.ratio();
  return ratio ? fmt::format("{:>7.2f}", *ratio) : fmt::format("{:>7}", "");
}

/// A warning if others used the machine meanwhile.
std::string load_text(std::span<const Outcome> outcomes) {
  constexpr double quiet = 0.1;  // processors
  i64 disturbed = 0;
  double most = 0;
  for (const Outcome& outcome : outcomes) {
    disturbed += outcome.other_load > quiet ? 1 : 0;
    most = std::max(most, outcome.other_load);
  }
  if (disturbed == 0) return "";
  return fmt::format(
      "\nOthers used this machine: up to {:.1f} processors, in {} of {} measurements. Times of those say "
      "little.\n",
      most, disturbed, outcomes.size());
}

/// The means as a block: a line for each group, a column for each type and number of threads.
std::string means_text(const std::vector<GroupMean>& means) {
  std::vector<std::pair<DType, i64>> columns;
  std::vector<std::string> groups;
  std::map<std::pair<std::string, std::pair<DType, i64>>, double> ratios;
  for (const GroupMean& mean : means) {
    const std::pair column{mean.type, mean.threads};
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    if (std::find(groups.begin(), groups.end(), mean.group) == groups.end()) groups.push_back(mean.group);
    ratios[{mean.group, column}] = mean.ratio;
  }
  std::string text = fmt::format("{:<{}}", "geometric mean", name_width + 3);
  for (const auto& [type, threads] : columns)
    text += fmt::format("{:>12}", fmt::format("{} on {}", name_of(type), threads));
  text += '\n';
  for (const std::string& group : groups) {
    text += fmt::format("{:<{}}", group, name_width + 3);
    for (const auto& column : columns) {
      const auto found = ratios.find({group, column});
      text += found == ratios.end() ? fmt::format("{:>12}", "") : fmt::format("{:>12.2f}", found->second);
    }
    text += '\n';
  }
  return text;
}

std::string behind_text(std::span<const Outcome> outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) {
    const auto ratio = outcome.ratio();
    if (!ratio || *ratio >= 1) continue;
    text += fmt::format("  {:.2f}  {} {} on {}: {}, {}\n", *ratio, outcome.which.name, name_of(outcome.which.type),
                        outcome.threads, outcome.best_peer()->name, outcome.best_peer()->way);
  }
  return text.empty() ? "no case behind the best peer\n" : "behind the best peer:\n" + text;
}

}  // namespace

std::string suite_text(std::span<const Case> cases) {
  std::string text = fmt::format("{:<{}} {:<10} {:<{}} {:<6} {:<5} {}\n", "name", name_width, "group", "shape",
                                 shape_width, "layout", "types", "lda, ldb, ldc, offset, step");
  for (const Case& one : cases) {
    text += fmt::format("{:<{}} {:<10} {:<{}} {:<6} {:<5} {}, {}, {}, {}, {}\n", one.name, name_width, one.group,
                        shape_text(one), shape_width, one.layout(), name_of(one.type), one.lda, one.ldb, one.ldc,
                        one.offset, one.step);
  }
  return text;
}

std::string report_text(const Run& run, std::span<const Outcome> outcomes) {
  std::string text;
  for (const OpenedPeer& opened : run.peers) {
    text += opened.peer ? fmt::format("{:<10} {}\n", opened.name, opened.peer->version())
                        : fmt::format("{:<10} left out: {}\n", opened.name, opened.missing);
    for (const auto& [name, value] : opened.told) text += fmt::format("{:<10} told {}={}\n", "", name, value);
  }
  for (const auto& [name, value] : run.found)
    text += fmt::format("{:<10} {}={} was set, and is not now\n", "", name, value);

  text += fmt::format(
      "\nGFLOP/s of 2*M*N*K, median ± half of the interquartile range. peak: our share of the core's\n"
      "multiply-adds. ratio: time of the best peer over ours, above 1 we are faster.\n\n");
  text += fmt::format("{:<{}} {:<{}} {:<5}{:>4}", "case", name_width, "shape", shape_width, "type", "thr");
  if (!outcomes.empty()) {
    for (const Entry& entry : outcomes[0].entries) text += fmt::format("{:>{}}", entry.name, entry_width);
  }
  text += fmt::format("{:>6}{:>7}\n", "peak", "ratio");
  for (const Outcome& outcome : outcomes) {
    text += fmt::format("{:<{}} {:<{}} {:<5}{:>4}", outcome.which.name, name_width, shape_text(outcome.which),
                        shape_width, name_of(outcome.which.type), outcome.threads);
    for (const Entry& entry : outcome.entries) text += entry_text(outcome, entry);
    const Entry& ours = outcome.entries[0];
    const double most = outcome.peak_gflops * static_cast<double>(outcome.threads);
    text += ours.failed.empty() ? fmt::format("{:>6.2f}", outcome.gflops(ours) / most) : fmt::format("{:>6}", "");
    text += ratio_text(outcome) + '\n';
  }
  for (const Outcome& outcome : outcomes) {
    for (const Entry& entry : outcome.entries) {
      if (!entry.failed.empty()) {
        text += fmt::format("\n{} {} on {}: {} has no time: {}\n", outcome.which.name, name_of(outcome.which.type),
                            outcome.threads, entry.name, entry.failed);
      }
    }
  }
  text += load_text(outcomes);
  const std::vector<GroupMean> means = group_means(outcomes);
  if (!means.empty()) text += '\n' + means_text(means) + '\n' + behind_text(outcomes);
  return text;
}

}  // namespace tilewright::bench
