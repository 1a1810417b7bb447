// The table that a person reads; see record.hpp.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/record.hpp"
#include "bench/sweep.hpp"

namespace tilewright::bench {
namespace {

constexpr std::size_t least_name_width = 15, shape_width = 17, ratio_width = 13, most_columns = 120;

/// Of the column of cases' names: the longest one's, within reason.
std::size_t name_width_of(const auto& all, const auto& name_of_one) {
  std::size_t width = least_name_width;
  for (const auto& one : all) width = std::max(width, name_of_one(one).size());
  return std::min<std::size_t>(width, 40);
}
std::size_t name_width_of(std::span<const Outcome> outcomes) {
  return name_width_of(outcomes, [](const Outcome& one) -> const std::string& { return one.which.name; });
}

/// What differs between the table of a CPU and that of a GPU.
struct Form {
  bool on_gpu = false, spreads = true;  // spreads: each rate is followed by its spread
  std::size_t entry_width = 15, name_width = least_name_width;

  const char* unit() const { return on_gpu ? "TFLOP/s" : "GFLOP/s"; }
  double scale() const { return on_gpu ? 1e-3 : 1; }
};

/// Spreads are left out where the table would be too wide with them.
Form form_of(const Run& run, std::span<const Outcome> outcomes) {
  Form form;
  form.on_gpu = run.target == "cuda";
  form.name_width = name_width_of(outcomes);
  const std::size_t contenders = outcomes.empty() ? 0 : outcomes[0].entries.size();
  const std::size_t others = form.name_width + 1 + shape_width + 1 + 5 + (form.on_gpu ? 0 : 4) + ratio_width;
  if (others + contenders * form.entry_width > most_columns) form.spreads = false;
  if (!form.spreads) form.entry_width = std::clamp<std::size_t>((most_columns - others) / contenders, 8, 13);
  return form;
}

std::string shape_text(const Case& which) { return fmt::format("{}x{}x{}", which.m, which.n, which.k); }

/// Rate and spread of one contender: "  181.3 +-0.4 %".
std::string entry_text(const Outcome& outcome, const Entry& entry, const Form& form) {
  if (!entry.failed.empty()) return fmt::format("{:>{}}", "none", form.entry_width);
  const double rate = outcome.gflops(entry) * form.scale();
  const std::string number = fmt::format("{:.{}f}", rate, rate < 1 ? 3 : rate < 100 || form.on_gpu ? 1 : 0);
  if (!form.spreads) return fmt::format("{:>{}}", number, form.entry_width);
  return fmt::format("{:>7} ±{:>4.1f} %", number, std::min(99.9, 100 * entry.us.spread));
}

/// Our share of the core's multiply-adds; on a GPU, of what the roofline allows.
std::string peak_text(const Outcome& outcome, const Form& form) {
  const Entry& ours = outcome.entries[0];
  const double most = outcome.peak_gflops * static_cast<double>(outcome.threads);
  if (!ours.failed.empty() || most <= 0) return fmt::format("{:>6}", "");
  return fmt::format("{:>6.2f}", form.on_gpu ? outcome.roofline_us() / ours.us.median : outcome.gflops(ours) / most);
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
  std::string text = fmt::format("{:<{}}", "geometric mean", least_name_width + 3);
  for (const auto& [type, threads] : columns)
    text += fmt::format("{:>12}", fmt::format("{} on {}", name_of(type), threads));
  text += '\n';
  for (const std::string& group : groups) {
    text += fmt::format("{:<{}}", group, least_name_width + 3);
    for (const auto& column : columns) {
      const auto found = ratios.find({group, column});
      text += found == ratios.end() ? fmt::format("{:>12}", "") : fmt::format("{:>12.2f}", found->second);
    }
    text += '\n';
  }
  return text;
}

/// The aspects that were measured besides, in microseconds of a call.
std::string aspects_text(std::span<const Outcome> outcomes) {
  if (outcomes.empty() || outcomes[0].entries[0].aspects.empty()) return "";
  constexpr std::size_t most_cases = 12;
  if (outcomes.size() > most_cases) return "\nTimes with a warm cache and the like are in the record.\n";
  constexpr std::size_t width = 12;
  const std::size_t name_width = name_width_of(outcomes);
  std::string text =
      fmt::format("\nmicroseconds of a call\n{:<{}} {:<13}{:>{}}", "case", name_width, "contender", "cold", width);
  for (const auto& [name, us] : outcomes[0].entries[0].aspects) text += fmt::format("{:>{}}", name, width);
  text += '\n';
  for (const Outcome& outcome : outcomes) {
    for (const Entry& entry : outcome.entries) {
      if (!entry.failed.empty()) continue;
      text += fmt::format("{:<{}} {:<13}{:>{}.1f}", outcome.which.name, name_width, entry.name, entry.us.median, width);
      for (const auto& [name, us] : entry.aspects) text += fmt::format("{:>{}.1f}", us.median, width);
      text += '\n';
    }
  }
  return text;
}

/// Who has no time and why; cases of one reason together.
std::string failures_text(std::span<const Outcome> outcomes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const Outcome& outcome : outcomes) {
    for (const Entry& entry : outcome.entries) {
      if (entry.failed.empty()) continue;
      const std::string reason = fmt::format("{} has no time: {}", entry.name, entry.failed);
      auto found = std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == reason; });
      if (found == reasons.end()) found = reasons.insert(reasons.end(), {reason, {}});
      const std::string type(name_of(outcome.which.type));
      found->second.push_back(fmt::format("{} {} on {}", outcome.which.name, type, outcome.threads));
    }
  }
  std::string text;
  for (const auto& [reason, cases] : reasons) {
    constexpr std::size_t most_named = 4;
    text += fmt::format("\n{}: {}", cases.front(), reason);
    if (cases.size() > 1) {
      const std::size_t named = std::min(cases.size(), most_named);
      text += fmt::format("\n  also {}",
                          fmt::join(cases.begin() + 1, cases.begin() + static_cast<std::ptrdiff_t>(named), ", "));
      if (cases.size() > named) text += fmt::format(", and {} more", cases.size() - named);
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
  const std::size_t name_width = name_width_of(cases, [](const Case& one) -> const std::string& { return one.name; });
  std::string text = fmt::format("{:<{}} {:<10} {:<{}} {:<6} {:<5} {}\n", "name", name_width, "group", "shape",
                                 shape_width, "layout", "types", "lda, ldb, ldc, offset, step, stepb");
  for (const Case& one : cases) {
    text += fmt::format("{:<{}} {:<10} {:<{}} {:<6} {:<5} {}, {}, {}, {}, {}, {}\n", one.name, name_width, one.group,
                        shape_text(one), shape_width, one.layout(), name_of(one.type), one.lda, one.ldb, one.ldc,
                        one.offset, one.step, one.stepb);
  }
  return text;
}

std::string first_calls_text(std::span<const Outcome> outcomes) {
  const std::size_t name_width = name_width_of(outcomes);
  std::string text = fmt::format(
      "milliseconds in a fresh process, medians. context: the driver and the device's context. open: the contender's\n"
      "library and its handle. first: the first call until the device is done, again: the second.\n\n"
      "{:<{}} {:<5} {:<12} {:<8}{:>10}{:>10}{:>10}{:>10}\n",
      "case", name_width, "type", "contender", "cache", "context", "open", "first", "again");
  for (const Outcome& outcome : outcomes) {
    for (const FirstCalls& calls : outcome.first_calls) {
      text += fmt::format("{:<{}} {:<5} {:<12} {:<8}", outcome.which.name, name_width, name_of(outcome.which.type),
                          calls.contender, calls.cache);
      const FirstCall& ms = calls.median;
      text += calls.failed.empty()
                  ? fmt::format("{:>10.2f}{:>10.2f}{:>10.2f}{:>10.3f}\n", ms.context, ms.open, ms.first, ms.again)
                  : fmt::format("  {}\n", calls.failed);
    }
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

  const Form form = form_of(run, outcomes);
  text += fmt::format(
      "\n{} of 2*M*N*K, median{}. {}\n"
      "ratio: time of the best peer over ours, above 1 we are faster.\n\n",
      form.unit(), form.spreads ? " ± half of the interquartile range" : "",
      form.on_gpu ? "roof: our share of the roofline." : "peak: our share of the core's multiply-adds.");
  text += fmt::format("{:<{}} {:<{}} {:<5}", "case", form.name_width, "shape", shape_width, "type");
  if (!form.on_gpu) text += " thr";
  if (!outcomes.empty()) {
    for (const Entry& entry : outcomes[0].entries)
      text += fmt::format("{:>{}}", entry.name.substr(0, form.entry_width - 1), form.entry_width);
  }
  text += fmt::format("{:>6}{:>7}\n", form.on_gpu ? "roof" : "peak", "ratio");
  for (const Outcome& outcome : outcomes) {
    text += fmt::format("{:<{}} {:<{}} {:<5}", outcome.which.name, form.name_width, shape_text(outcome.which),
                        shape_width, name_of(outcome.which.type));
    if (!form.on_gpu) text += fmt::format("{:>4}", outcome.threads);
    for (const Entry& entry : outcome.entries) text += entry_text(outcome, entry, form);
    text += peak_text(outcome, form) + ratio_text(outcome) + '\n';
  }
  text += aspects_text(outcomes) + failures_text(outcomes);
  text += load_text(outcomes);
  const std::vector<GroupMean> means = group_means(outcomes);
  if (!means.empty()) text += '\n' + means_text(means) + '\n' + behind_text(outcomes);
  return text + sweep_text(outcomes);
}

}  // namespace tilewright::bench
