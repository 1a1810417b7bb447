// See harness.hpp. Read run_suite() at the end, then measure_case().
#include "bench/harness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <tilewright/verify.hpp>
#include "measure/load.hpp"
#include "measure/peak.hpp"

namespace tilewright::bench {
namespace {

/// A way is dropped after its first calls if it took this many times as long as the fastest of its library ...
constexpr double hopeless = 2;
/// ... unless it was so short that one call says little.
constexpr double short_us = 2e4;
/// A first call may have code generated, which takes tens of milliseconds: below this a second one is what counts.
constexpr double generating_us = 3e5;

measure::Contender contender(const std::string& name, const Way& way, const HarnessOptions& options) {
  return {name, way.prepare, options.timed(way.run)};
}

/// What is wrong with the product that a way leaves, or nothing.
std::string fault_of(const Job& job, const Operands& operands, const HarnessOptions& options, double& worst) {
  if (const i64 untouched = operands.untouched(); untouched > 0)
    return fmt::format("wrong: {} elements of C were not written", untouched);
  VerifyOptions verification;
  verification.most_products = options.most_verified_products;
  const VerifyResult result = verify(job.a, job.b, job.c, verification);
  worst = result.worst;
  if (result.passed) return "";
  return fmt::format("wrong: C[{},{}] is {:.9g}, FP64 {:.9g}, {} of {} elements outside of the bound", result.row,
                     result.col, result.got, result.expected, result.failures, result.checked);
}

/// A contender's best way, verified; entry says which it is, or why there is none.
struct Chosen {
  Entry entry;
  std::optional<Way> way;
};

Chosen choose_way(Peer& peer, const Job& job, Operands& operands, const HarnessOptions& options) {
  Chosen chosen;
  chosen.entry.name = peer.name();
  std::vector<Way> ways = peer.ways(job);
  if (ways.empty()) chosen.entry.failed = "it has no way to do this";

  struct Verified {
    Way* way;
    double first_us, worst;
  };
  std::vector<Verified> verified;
  double fastest_first = std::numeric_limits<double>::infinity();
  for (Way& way : ways) {
    operands.poison_output();
    if (options.rounds.settle) options.rounds.settle();
    const measure::Contender once = contender(peer.name(), way, options);
    if (once.before) once.before();
    double us = once.timed(1);
    if (us < generating_us) us = once.timed(1);
    double worst = 0;
    const std::string fault = fault_of(job, operands, options, worst);
    if (fault.empty()) {
      verified.push_back({&way, us, worst});
      fastest_first = std::min(fastest_first, us);
    } else {
      chosen.entry.failed = fmt::format("{}: {}", way.name, fault);
    }
    chosen.entry.trials.push_back({way.name, us, fault});
  }

  double best = std::numeric_limits<double>::infinity();
  for (const Verified& one : verified) {
    double us = one.first_us;
    const bool contends = us < short_us || us < hopeless * fastest_first;
    if (contends && verified.size() > 1) {
      us = measure::quick_us(contender(peer.name(), *one.way, options), options.rounds);
      for (Entry::Trial& trial : chosen.entry.trials) {
        if (trial.way == one.way->name) trial.us = us;
      }
    }
    if (contends && us < best) {
      best = us;
      chosen.way = *one.way;
      chosen.entry.way = one.way->name;
      chosen.entry.worst_error = one.worst;
      chosen.entry.failed.clear();
    }
  }
  if (ways.size() < 2) chosen.entry.trials.clear();
  return chosen;
}

/// The unit that bounds a product of this type.
measure::Unit unit_for(DType type) {
  const std::vector<measure::Unit> units = measure::units_at_hand();
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (*unit != measure::Unit::avx512_bf16_dot || type == DType::bf16) return *unit;
  }
  return measure::Unit::portable;
}

Outcome measure_case(const Case& which, i64 threads, Operands& operands, Peer& ours, std::span<Peer* const> peers,
                     const HarnessOptions& options) {
  Outcome outcome{which, threads, {}, 0, {}, 0};
  const Job job = operands.job(threads);
  std::vector<Chosen> chosen;
  chosen.push_back(choose_way(ours, job, operands, options));
  for (Peer* const peer : peers) chosen.push_back(choose_way(*peer, job, operands, options));

  std::vector<measure::Contender> contenders;
  for (const Chosen& one : chosen) {
    if (one.way) contenders.push_back(contender(one.entry.name, *one.way, options));
  }
  if (options.rounds.settle) options.rounds.settle();
  const measure::Unit unit = unit_for(which.type);
  outcome.peak_unit = name_of(unit);
  outcome.peak_gflops = measure::peak_gflops(unit);
  const measure::OtherLoad load;
  const std::vector<measure::Series> series = measure::measure_rounds(contenders, options.rounds);
  outcome.other_load = load.processors();
  if (options.rounds.settle) options.rounds.settle();
  outcome.peak_gflops = std::max(outcome.peak_gflops, measure::peak_gflops(unit));

  std::size_t next = 0;
  for (Chosen& one : chosen) {
    if (one.way) {
      one.entry.us = measure::estimate(series[next].us);
      one.entry.calls = series[next].calls;
      ++next;
    }
    outcome.entries.push_back(std::move(one.entry));
  }
  return outcome;
}

}  // namespace

const Entry* Outcome::best_peer() const {
  const Entry* best = nullptr;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].failed.empty() && (best == nullptr || entries[i].us.median < best->us.median)) best = &entries[i];
  }
  return best;
}

std::optional<double> Outcome::ratio() const {
  const Entry* const best = best_peer();
  if (best == nullptr || !entries[0].failed.empty()) return std::nullopt;
  return best->us.median / entries[0].us.median;
}

std::vector<Outcome> run_suite(std::span<const Case> cases, Peer& ours, std::span<Peer* const> peers,
                               const HarnessOptions& options) {
  std::vector<Outcome> outcomes;
  const std::size_t total = cases.size() * options.threads.size();
  for (const Case& which : cases) {
    Operands operands(which);
    for (const i64 threads : options.threads) {
      HarnessOptions here = options;
      if (options.progress) {
        here.rounds.progress = [&](double fraction) {
          options.progress((static_cast<double>(outcomes.size()) + fraction) / static_cast<double>(total));
        };
      }
      outcomes.push_back(measure_case(which, threads, operands, ours, peers, here));
      if (options.progress) options.progress(static_cast<double>(outcomes.size()) / static_cast<double>(total));
    }
  }
  return outcomes;
}

std::vector<GroupMean> group_means(std::span<const Outcome> outcomes) {
  std::vector<GroupMean> means;
  const auto add = [&](const std::string& group, const Outcome& outcome, double ratio) {
    auto found = std::find_if(means.begin(), means.end(), [&](const GroupMean& mean) {
      return mean.group == group && mean.type == outcome.which.type && mean.threads == outcome.threads;
    });
    if (found == means.end()) found = means.insert(means.end(), {group, outcome.which.type, outcome.threads, 0, 0});
    found->ratio += std::log(ratio);
    ++found->cases;
  };
  for (const bool all : {false, true}) {
    for (const Outcome& outcome : outcomes) {
      if (const auto ratio = outcome.ratio()) add(all ? "all" : outcome.which.group, outcome, *ratio);
    }
  }
  for (GroupMean& mean : means) mean.ratio = std::exp(mean.ratio / static_cast<double>(mean.cases));
  return means;
}

}  // namespace tilewright::bench
