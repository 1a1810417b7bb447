// See harness.hpp. Read run_suite() at the end, then measure_case().
#include "bench/harness.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include <tilewright/verify.hpp>
#include "measure/load.hpp"
#include "measure/peak.hpp"

namespace tilewright::bench {
namespace {

/// A way is dropped after its first calls if it took this many times as long as the fastest of its library, unless it
/// was shorter than HarnessOptions::short_us.
constexpr double hopeless = 2;
/// A first call may have code generated, which takes tens of milliseconds: below this a second one is what counts.
constexpr double generating_us = 3e5;

measure::Contender contender(const std::string& name, const Way& way, const HarnessOptions& options) {
  return {name, way.prepare, options.timed(way.run)};
}

/// Of the first call, or of the second if the first may have had code generated and that is over.
double first_us(const measure::Contender& contender) {
  if (contender.before) contender.before();
  const double us = contender.timed(1);
  return us < generating_us ? contender.timed(1) : us;
}

/// A contender's best way, verified; entry says which it is, or why there is none.
struct Chosen {
  Entry entry;
  std::optional<Way> way;
  measure::Contender contender;  // the way, as it was verified
};

Chosen choose_way(Peer& peer, const Job& job, Operands& operands, const HarnessOptions& options) {
  Chosen chosen;
  chosen.entry.name = peer.name();
  std::vector<Way> ways = peer.ways(job);
  if (ways.empty()) chosen.entry.failed = peer.no_way();

  struct Verified {
    Way* way;
    measure::Contender contender;
    double first_us, worst;
  };
  std::vector<Verified> verified;
  double fastest_first = std::numeric_limits<double>::infinity();
  for (Way& way : ways) {
    operands.poison_output();
    if (options.rounds.settle) options.rounds.settle();
    double us = 0, worst = 0;
    std::string fault;
    const measure::Contender once = contender(peer.name(), way, options);
    try {
      us = first_us(once);
      fault = fault_of(job, operands, options.most_verified_products, worst);
    } catch (const std::runtime_error& error) {
      fault = error.what();
    }
    if (fault.empty()) {
      verified.push_back({&way, once, us, worst});
      fastest_first = std::min(fastest_first, us);
    } else {
      chosen.entry.failed = fmt::format("{}: {}", way.name, fault);
    }
    chosen.entry.trials.push_back({way.name, us, fault});
  }

  double best = std::numeric_limits<double>::infinity();
  for (const Verified& one : verified) {
    double us = one.first_us;
    const bool contends = us < options.short_us || us < hopeless * fastest_first;
    if (contends && verified.size() > 1) {
      us = measure::quick_us(one.contender, options.rounds);
      for (Entry::Trial& trial : chosen.entry.trials) {
        if (trial.way == one.way->name) trial.us = us;
      }
    }
    if (contends && us < best) {
      best = us;
      chosen.way = *one.way;
      chosen.contender = one.contender;
      chosen.entry.way = one.way->name;
      chosen.entry.worst_error = one.worst;
      chosen.entry.failed.clear();
    }
  }
  if (ways.size() < 2) chosen.entry.trials.clear();
  return chosen;
}

/// The unit of the host that bounds a product of this type.
measure::Unit unit_for(DType type) {
  const std::vector<measure::Unit> units = measure::units_at_hand();
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (*unit != measure::Unit::avx512_bf16_dot || type == DType::bf16) return *unit;
  }
  return measure::Unit::portable;
}

/// The aspects of all contenders, to the entries of those who have a way.
void measure_aspects(std::vector<Chosen>& chosen, const HarnessOptions& options) {
  for (const HarnessOptions::Aspect& aspect : options.aspects) {
    HarnessOptions here = options;
    here.timed = aspect.timed;
    here.rounds.seconds *= options.aspect_share;
    here.rounds.progress = {};
    std::vector<measure::Contender> contenders;
    for (const Chosen& one : chosen) {
      if (one.way) contenders.push_back(contender(one.entry.name, *one.way, here));
    }
    const std::vector<measure::Series> series = measure::measure_rounds(contenders, here.rounds);
    auto next = series.begin();
    for (Chosen& one : chosen) {
      if (one.way) one.entry.aspects.emplace_back(aspect.name, measure::estimate((next++)->us));
    }
  }
}

Outcome measure_case(const Case& which, i64 threads, Operands& operands, Peer& ours, std::span<Peer* const> peers,
                     const HarnessOptions& options) {
  Outcome outcome{which, threads, {}, 0, {}, 0, options.memory_gbytes};
  const Job job = operands.job(threads);
  const auto seconds = [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<Chosen> chosen;
  chosen.push_back(choose_way(ours, job, operands, options));
  for (Peer* const peer : peers) chosen.push_back(choose_way(*peer, job, operands, options));

  outcome.choosing_seconds = seconds();

  std::vector<measure::Contender> contenders;
  for (const Chosen& one : chosen) {
    if (one.way) contenders.push_back(one.contender);
  }
  if (options.rounds.settle) options.rounds.settle();
  const Peak before = options.peak(which.type);
  if (options.conditions) options.conditions();
  const measure::OtherLoad load;
  measure::RoundsOptions rounds = options.rounds;
  i64 turns = 0, slow = 0;
  if (options.settle) {
    rounds.settle = [&] {
      ++turns;
      slow += options.settle(threads) ? 0 : 1;
    };
  }
  const std::vector<measure::Series> series = measure::measure_rounds(contenders, rounds);
  if (turns > 0) outcome.below_speed = static_cast<double>(slow) / static_cast<double>(turns);
  outcome.other_load = load.processors();
  if (options.conditions) outcome.conditions = options.conditions();
  if (options.rounds.settle) options.rounds.settle();
  outcome.peak_unit = before.unit;
  outcome.peak_gflops = std::max(before.gflops, options.peak(which.type).gflops);
  measure_aspects(chosen, options);
  outcome.seconds = seconds();

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

std::string fault_of(const Job& job, Operands& operands, i64 most_products, double& worst) {
  operands.fetch_output();
  if (const i64 untouched = operands.untouched(); untouched > 0)
    return fmt::format("wrong: {} elements of C were not written", untouched);
  VerifyOptions verification;
  verification.most_products = most_products;
  // Tensor cores, which everybody takes for a half precision on a GPU, may truncate sums.
  if (job.turns != nullptr && job.a.type != DType::f32) verification.mma = Mma::mma_sync;
  const Job host = operands.on_host(1);
  const VerifyResult result = verify(host.a, host.b, host.c, verification);
  worst = result.worst;
  if (result.passed) return "";
  return fmt::format("wrong: C[{},{}] is {:.9g}, FP64 {:.9g}, {} of {} elements outside of the bound", result.row,
                     result.col, result.got, result.expected, result.failures, result.checked);
}

Peak probed_peak(DType type) {
  const measure::Unit unit = unit_for(type);
  return {measure::peak_gflops(unit), name_of(unit)};
}

double Outcome::roofline_us() const {
  const double operations = peak_gflops > 0 ? which.flops() / (peak_gflops * static_cast<double>(threads)) : 0;
  return std::max(operations, memory_gbytes > 0 ? which.bytes() / memory_gbytes : 0) * 1e-3;
}

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
    const std::unique_ptr<Operands> operands = options.operands(which);
    for (const i64 threads : options.threads) {
      HarnessOptions here = options;
      if (options.settle) here.rounds.settle = [&] { options.settle(threads); };
      if (options.progress) {
        here.rounds.progress = [&](double fraction) {
          options.progress((static_cast<double>(outcomes.size()) + fraction) / static_cast<double>(total));
        };
      }
      outcomes.push_back(measure_case(which, threads, *operands, ours, peers, here));
      if (options.progress) options.progress(static_cast<double>(outcomes.size()) / static_cast<double>(total));
      if (options.measured) options.measured(outcomes);
    }
  }
  return outcomes;
}

namespace {

/// Adds the logarithm of one peer's ratio.
void add_against(GroupMean& mean, const Outcome& outcome, const Entry& peer) {
  if (!peer.failed.empty()) return;
  auto found = std::find_if(mean.against.begin(), mean.against.end(),
                            [&](const GroupMean::Against& one) { return one.name == peer.name; });
  if (found == mean.against.end()) found = mean.against.insert(found, {peer.name, 0, 0});
  found->ratio += std::log(peer.us.median / outcome.entries[0].us.median);
  ++found->cases;
}

}  // namespace

std::vector<GroupMean> group_means(std::span<const Outcome> outcomes) {
  std::vector<GroupMean> means;
  const auto add = [&](const std::string& group, const Outcome& outcome, double ratio) {
    auto found = std::find_if(means.begin(), means.end(), [&](const GroupMean& mean) {
      return mean.group == group && mean.type == outcome.which.type && mean.threads == outcome.threads;
    });
    if (found == means.end()) found = means.insert(means.end(), {group, outcome.which.type, outcome.threads, 0, 0, {}});
    found->ratio += std::log(ratio);
    ++found->cases;
    for (std::size_t i = 1; i < outcome.entries.size(); ++i) add_against(*found, outcome, outcome.entries[i]);
  };
  for (const bool all : {false, true}) {
    for (const Outcome& outcome : outcomes) {
      if (const auto ratio = outcome.ratio()) add(all ? "all" : outcome.which.group, outcome, *ratio);
    }
  }
  const auto mean_of = [](auto& sum) { sum.ratio = std::exp(sum.ratio / static_cast<double>(sum.cases)); };
  for (GroupMean& mean : means) {
    mean_of(mean);
    for (GroupMean::Against& peer : mean.against) mean_of(peer);
  }
  return means;
}

}  // namespace tilewright::bench
