// The tables of plans that a person reads; see plans.hpp.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/plans.hpp"
#include "plan/number.hpp"

namespace tilewright::bench {
namespace {

constexpr std::size_t most_columns = 100, shape_width = 17;

std::vector<std::string> words_of(const Plan& plan) {
  const std::string text = to_string(plan);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

/// The words that all plans have in common, the tile excepted.
std::vector<std::string> common_words(std::span<const plan::ListedPlan> plans) {
  std::vector<std::string> common = words_of(plans[0].plan);
  common.erase(common.begin());
  for (const plan::ListedPlan& one : plans)
    std::erase_if(common, [words = words_of(one.plan)](const std::string& word) { return !has(words, word); });
  return common;
}

/// A plan's tile, and of its other words those that are not among `known`.
std::string short_text(const Plan& plan, const std::vector<std::string>& known) {
  std::vector<std::string> words = words_of(plan);
  std::erase_if(words, [&](const std::string& word) { return has(known, word); });
  return fmt::format("{}", fmt::join(words, " "));
}

std::string us_text(double us) { return us < 1e7 ? fmt::format("{:.1f}", us) : fmt::format("{:.3g}", us); }
std::string rate_text(double gflops, bool on_gpu) {
  const double rate = on_gpu ? gflops * 1e-3 : gflops;
  return fmt::format("{:.{}f}", rate, rate < 1 ? 3 : rate < 100 || on_gpu ? 1 : 0);
}

/// A line of a name and a text that is broken where it is too long.
std::string named(std::string_view name, std::string_view text) {
  return fmt::format("  {:<9} {}\n", name, plan::wrapped(text, 12));
}

/// Figures, and a plan behind them that goes on below itself where the line would be too long.
std::string with_plan(std::string line, const std::string& plan) {
  line += ' ';
  std::size_t used = 0;  // bytes of more than a column do not count
  for (const char c : line) used += (static_cast<unsigned char>(c) & 0xc0u) == 0x80u ? 0 : 1;
  const std::size_t indent = used;
  for (std::size_t at = 0; at < plan.size();) {
    const std::size_t end = std::min(plan.find(' ', at), plan.size());
    if (used + 1 + end - at > most_columns && used > indent) {
      line += '\n' + std::string(indent, ' ');
      used = indent;
    }
    line += ' ' + plan.substr(at, end - at);
    used += 1 + end - at;
    at = end + 1;
  }
  return line + '\n';
}

/// "default", "best", "both", and a plus behind those that are not taken without being asked for.
std::string mark_of(const PlanTable& table, std::size_t at) {
  const bool chosen = at == table.list.chosen_at(), best = table.best() == at;
  const char* const word = chosen && best ? "both" : chosen ? "default" : best ? "best" : "";
  return fmt::format("{:<7}{}", word, table.list.plans[at].by_default ? ' ' : '+');
}

/// Median, spread, rate and the ratio to the best; or why there are none.
std::string figures_of(const PlanTable& table, std::size_t at, bool on_gpu) {
  const MeasuredPlan& one = table.measured[at];
  constexpr std::size_t width = 32;
  if (!one.has_time()) return fmt::format("{:>{}}", one.compiled ? "failed, see below" : "not compiled here", width);
  const measure::Estimate& us = one.entry.us;
  return fmt::format("{:>10} ±{:>4.1f}%{:>9}{:>6.2f}", us_text(us.median), std::min(99.9, 100 * us.spread),
                     rate_text(table.outcome.gflops(one.entry), on_gpu),
                     us.median / table.measured[*table.best()].entry.us.median);
}

/// The plans' places: as the model ranks them, or by their times, those without one at the end.
std::vector<std::size_t> places_of(const PlanTable& table) {
  std::vector<std::size_t> places(table.list.plans.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (table.measured.empty()) return places;
  std::ranges::stable_sort(places, [&](std::size_t x, std::size_t y) {
    const MeasuredPlan &left = table.measured[x], &right = table.measured[y];
    if (left.has_time() && right.has_time()) return left.entry.us.median < right.entry.us.median;
    return left.has_time() && !right.has_time();
  });
  return places;
}

/// Why plans have no time; those of one reason together.
std::string failures_text(const PlanTable& table) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (std::size_t i = 0; i < table.measured.size(); ++i) {
    const MeasuredPlan& one = table.measured[i];
    if (one.has_time()) continue;
    const std::string plan = to_string(table.list.plans[i].plan);
    std::string why = one.entry.failed;
    why = why.substr(0, why.find('\n'));  // of a compiler's log the first line
    if (why.starts_with(plan + ": ")) why.erase(0, plan.size() + 2);
    if (!one.compiled) why = "not compiled here: " + why;
    auto found = std::ranges::find(reasons, why, &std::pair<std::string, std::vector<std::string>>::first);
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {why, {}});
    found->second.push_back(plan);
  }
  std::string text;
  for (const auto& [why, plans] : reasons) {
    text += fmt::format("\n{}\n", plan::wrapped(plans[0], 2));
    if (plans.size() > 1) text += fmt::format("  and {} more\n", plans.size() - 1);
    text += fmt::format("  {}\n", plan::wrapped(why, 2));
  }
  return text;
}

/// The warning if others used the machine meanwhile.
std::string load_text(double most) {
  constexpr double quiet = 0.1;  // processors
  if (most <= quiet) return "";
  return fmt::format("\nOthers used up to {:.1f} processors of this machine meanwhile: its times say little.\n", most);
}

std::string behind_text(double behind) { return fmt::format("default {:.2f}x the best measured plan", behind); }

std::string shape_text(const Case& which) { return fmt::format("{}x{}x{}", which.m, which.n, which.k); }

std::string on_text(const PlansRun& run, i64 threads) {
  if (!run.device.empty()) return "on " + run.device;
  return fmt::format("on {} thread{} of this CPU", threads, threads == 1 ? "" : "s");
}

std::string rejected_text(const PlanTable& table, const std::vector<std::string>& known) {
  if (table.list.rejected.empty()) return "";
  std::string text = "\nNot here\n";
  for (const Candidate& candidate : table.list.rejected) {
    const std::string name = short_text(candidate.plan, known);
    text += fmt::format("  {}\n", plan::wrapped(fmt::format("{}: {}", name, candidate.rejected), 4));
  }
  return text;
}

}  // namespace

std::string plans_text(const PlansRun& run, const PlanTable& table, plan::Breadth breadth) {
  const Case& which = table.which;
  const bool on_gpu = run.run.target == "cuda";
  std::string text = plan::wrapped(
      fmt::format("C[{}x{}] = A[{}x{}] * B[{}x{}], {} to {}, layout {},", which.m, which.n, which.m, which.k, which.k,
                  which.n, name_of(which.type), name_of(which.output()), which.layout()),
      2);
  text += fmt::format("\n  {}\n\n", on_text(run, table.threads));

  const std::vector<plan::ListedPlan>& plans = table.list.plans;
  const std::vector<std::string> common = common_words(plans);
  text += fmt::format("{} plan{}. predicted: microseconds by the planner's model; {}\n", plans.size(),
                      plans.size() == 1 ? "" : "s", run.measured ? "measured: medians" : "nothing is measured");
  if (!common.empty())
    text += plan::wrapped(fmt::format("{}with {}", plans.size() == 1 ? "" : "each ", fmt::join(common, " ")), 2) + '\n';
  if (std::ranges::any_of(plans, [](const plan::ListedPlan& one) { return !one.by_default; }))
    text += "+ is taken where it is asked for, and never without\n";

  text += fmt::format("\n{:<8}{:>10}", "", "predicted");
  if (run.measured) text += fmt::format("{:>10}{:>16}{:>6}", "measured", on_gpu ? "TFLOP/s" : "GFLOP/s", "/best");
  text += "  plan\n";
  for (const std::size_t at : places_of(table)) {
    std::string line = fmt::format("{}{:>10}", mark_of(table, at), us_text(plans[at].microseconds));
    if (run.measured) line += figures_of(table, at, on_gpu);
    text += with_plan(std::move(line), short_text(plans[at].plan, common));
  }
  if (breadth == plan::Breadth::all) text += rejected_text(table, common);
  text += failures_text(table) + '\n';
  text += named("default", to_string(table.list.chosen)) + named("why", table.list.reason);
  if (const auto best = table.best()) text += named("best", to_string(plans[*best].plan));
  text += load_text(table.outcome.other_load);
  if (const auto behind = table.behind()) text += '\n' + behind_text(*behind) + '\n';
  return text;
}

std::string plans_suite_text(const PlansRun& run, std::span<const PlanTable> tables) {
  const bool on_gpu = run.run.target == "cuda";
  std::size_t name_width = 8;
  double other_load = 0;
  std::vector<plan::ListedPlan> defaults;
  for (const PlanTable& table : tables) {
    name_width = std::clamp(table.which.name.size(), name_width, std::size_t{20});
    other_load = std::max(other_load, table.outcome.other_load);
    defaults.push_back(table.list.plans[table.list.chosen_at()]);
  }
  std::vector<std::string> known = common_words(defaults);
  std::string text = fmt::format("microseconds, {}\neach default plan with {}\n\n",
                                 on_gpu ? on_text(run, 1) : std::string("on this CPU"), fmt::join(known, " "));
  for (const plan::ListedPlan& one : defaults) known.push_back("mma=" + to_string(one.plan.mma));  // says little
  text += fmt::format("{:<{}} {:<{}} {:<5}{}{:>6}", "case", name_width, "shape", shape_width, "type",
                      on_gpu ? "" : " thr", "plans");
  text += run.measured ? fmt::format("{:>10}{:>10}{:>6}  best plan, if another\n", "default", "best", "/best")
                       : fmt::format("{:>10}  default plan\n", "predicted");
  std::string failures;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const PlanTable& table = tables[i];
    std::string line = fmt::format("{:<{}} {:<{}} {:<5}", table.which.name, name_width, shape_text(table.which),
                                   shape_width, name_of(table.which.type));
    if (!on_gpu) line += fmt::format("{:>4}", table.threads);
    line += fmt::format("{:>6}", table.list.plans.size());
    std::string plan;
    if (!run.measured) {
      line += fmt::format("{:>10}", us_text(defaults[i].microseconds));
      plan = short_text(defaults[i].plan, known);
    } else if (const auto behind = table.behind()) {
      const std::size_t chosen = table.list.chosen_at(), best = *table.best();
      line += fmt::format("{:>10}{:>10}{:>6.2f}", us_text(table.measured[chosen].entry.us.median),
                          us_text(table.measured[best].entry.us.median), *behind);
      if (best != chosen) plan = short_text(table.list.plans[best].plan, words_of(defaults[i].plan));
    } else {
      line += "  the default plan has no time";
    }
    text += plan.empty() ? line + '\n' : with_plan(std::move(line), plan);
    if (const std::string why = failures_text(table); !why.empty())
      failures += fmt::format("\n{} {}, plans without a time:{}", table.which.name, name_of(table.which.type), why);
  }
  text += failures + load_text(other_load);
  if (const BehindMean mean = behind_mean(tables); mean.cases > 0) {
    text += fmt::format("\n{}: geometric mean of {} case{}\nworst {:.2f}x: {}\n", behind_text(mean.geometric_mean),
                        mean.cases, mean.cases == 1 ? "" : "s", mean.worst, mean.worst_case);
  }
  return text;
}

}  // namespace tilewright::bench
