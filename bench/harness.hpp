// The harness: every case of a suite, on every number of threads, done by every contender, verified and then timed.
//
// docs/bench-method.md is the method; run_suite() follows it in its order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/first_call.hpp"
#include "bench/peer.hpp"
#include "bench/suite.hpp"
#include "measure/estimator.hpp"
#include "measure/rounds.hpp"

namespace tilewright::bench {

/// One contender on one case.
struct Entry {
  std::string name;
  std::string way;         // that won among its ways, and was timed; of this library, the plan
  std::string failed;      // why it has no time: no way, or a wrong product; empty otherwise
  measure::Estimate us;    // of one call
  i64 calls = 0;           // of a sample
  double worst_error = 0;  // of the way that was timed, as a fraction of the bound
  struct Trial {
    std::string way;
    double us;           // a quick measurement, enough to choose by
    std::string failed;  // as above
  };
  std::vector<Trial> trials;                                       // all ways, where there were several
  std::vector<std::pair<std::string, measure::Estimate>> aspects;  // in the order of HarnessOptions::aspects
};

/// One case on so many threads. entries[0] is this library.
struct Outcome {
  Case which;
  i64 threads = 1;
  std::vector<Entry> entries;
  double peak_gflops = 0;  // of one core, probed beside the case; of a GPU as a whole
  std::string peak_unit;
  double other_load = 0;     // processors that others kept busy meanwhile, on average
  double memory_gbytes = 0;  // that a device's memory moves a second at most; 0: not known
  std::vector<std::pair<std::string, double>> conditions = {};  // of the device during the rounds: clocks and the like
  double choosing_seconds = 0, seconds = 0;                     // that verifying and choosing took, and all of it
  std::vector<FirstCalls> first_calls = {};                     // where those were measured, and nothing else
  double below_speed = 0;  // part of the turns that began although processors were not at full speed

  double gflops(const Entry& entry) const { return which.flops() / entry.us.median * 1e-3; }
  /// The fastest peer that has a time, or null.
  const Entry* best_peer() const;
  /// Median time of the best peer over ours: above 1 we are faster. Nothing without both.
  std::optional<double> ratio() const;
  /// Microseconds below which no kernel can be: for the operations or for the bytes, whichever is more.
  double roofline_us() const;
};

/// How a way is timed: measure::host_timed, or what a device or a test puts in its place.
using Timed = std::function<std::function<double(i64)>(std::function<void()>)>;

/// The peak that a type's products are compared with.
struct Peak {
  double gflops = 0;  // of one core, or of a GPU as a whole
  std::string unit;
};
/// Of a core of this machine, probed now.
Peak probed_peak(DType type);

struct HarnessOptions {
  std::vector<i64> threads = {1};
  measure::RoundsOptions rounds;
  /// Before each turn: has so many processors free and at full speed; false if it gives up. May be empty.
  std::function<bool(i64 threads)> settle;
  Timed timed = measure::host_timed;
  /// Other figures of each contender, of rounds of their own after the main ones, of a part of the seconds.
  struct Aspect {
    std::string name;
    Timed timed;
  };
  std::vector<Aspect> aspects;
  double aspect_share = 0.25;
  double short_us = 2e4;                      // a call below says too little to drop its way for
  i64 most_verified_products = i64{1} << 27;  // beyond, a verification looks at a random sample of that much work
  std::function<void(double)> progress;       // with the fraction done. May be empty
  std::function<void(std::span<const Outcome>)> measured;  // after each outcome, with all so far. May be empty

  // What a device puts in the place of the host's.
  std::function<std::unique_ptr<Operands>(const Case&)> operands = std::make_unique<Operands, const Case&>;
  std::function<Peak(DType)> peak = probed_peak;
  double memory_gbytes = 0;                                                 // Outcome::memory_gbytes
  std::function<std::vector<std::pair<std::string, double>>()> conditions;  // since it was asked last. May be empty
};

/// What is wrong with the product that was left in a case's operands, or nothing; and its worst error as a fraction of
/// the bound. Beyond so many products a random sample of that much work is looked at.
std::string fault_of(const Job& job, Operands& operands, i64 most_products, double& worst);

/// Throws Error for a plan that a case does not allow, and where memory does not suffice.
std::vector<Outcome> run_suite(std::span<const Case> cases, Peer& ours, std::span<Peer* const> peers,
                               const HarnessOptions& options);

/// Geometric means of the ratios of the outcomes that have one.
struct GroupMean {
  std::string group;  // "all": over all groups
  DType type = DType::f16;
  i64 threads = 1;
  double ratio = 1;
  i64 cases = 0;
  struct Against {
    std::string name;
    double ratio = 1;
    i64 cases = 0;
  };
  std::vector<Against> against = {};  // each peer alone, of the cases in which it has a time
};
/// For every group, type and number of threads, in the order of the outcomes, and then for all groups together.
std::vector<GroupMean> group_means(std::span<const Outcome> outcomes);

}  // namespace tilewright::bench
