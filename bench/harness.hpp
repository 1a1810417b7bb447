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
  std::vector<Trial> trials;  // all ways, where there were several
};

/// One case on so many threads. entries[0] is this library.
struct Outcome {
  Case which;
  i64 threads = 1;
  std::vector<Entry> entries;
  double peak_gflops = 0;  // of one core, probed beside the case
  std::string peak_unit;
  double other_load = 0;  // processors that others kept busy meanwhile, on average

  double gflops(const Entry& entry) const { return which.flops() / entry.us.median * 1e-3; }
  /// The fastest peer that has a time, or null.
  const Entry* best_peer() const;
  /// Median time of the best peer over ours: above 1 we are faster. Nothing without both.
  std::optional<double> ratio() const;
};

struct HarnessOptions {
  std::vector<i64> threads = {1};
  measure::RoundsOptions rounds;
  /// How a job is timed: measure::host_timed, or what a device or a test puts in its place.
  std::function<std::function<double(i64)>(std::function<void()>)> timed = measure::host_timed;
  i64 most_verified_products = i64{1} << 27;  // beyond, a verification looks at a random sample of that much work
  std::function<void(double)> progress;       // with the fraction done. May be empty
};

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
};
/// For every group, type and number of threads, in the order of the outcomes, and then for all groups together.
std::vector<GroupMean> group_means(std::span<const Outcome> outcomes);

}  // namespace tilewright::bench
