// The plans of a case side by side: what the planner's model says of each, and what each takes.
//
// Every plan is a contender of the harness: verified, then timed in turns with the others of its case. Start at
// measure_plans().
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/record.hpp"
#include "plan/candidates.hpp"

namespace tilewright::bench {

/// One plan of a case, measured.
struct MeasuredPlan {
  Entry entry;
  bool compiled = true;  // false: there is no kernel of it here, and entry.failed says why
  bool wrong() const { return compiled && !entry.failed.empty(); }
  bool has_time() const { return entry.failed.empty(); }
};

/// A case with its plans.
struct PlanTable {
  Case which;
  i64 threads = 1;
  i64 workspace_bytes = 0;  // allowed for a split K, and on a GPU for copies of operands
  plan::PlanList list;
  std::vector<MeasuredPlan> measured = {};  // empty, or one for each of list.plans
  Outcome outcome = {};                     // the measurement as a whole; its entries are with `measured`

  /// The place of the plan with the least median, if one has a time.
  std::optional<std::size_t> best() const;
  /// The default plan's median over the best plan's: 1 where it is the best. Nothing where it has no time.
  std::optional<double> behind() const;
  /// No plan is wrong, and the default one has a time.
  bool right() const;
};

/// Verifies and times all plans of a case in one run of rounds, which lasts `seconds` for each of them. Throws Error as
/// run_suite.
void measure_plans(PlanTable& table, const HarnessOptions& options, double seconds);

/// How far the default plans are behind the best, over the cases in which both have a time.
struct BehindMean {
  i64 cases = 0;
  double geometric_mean = 1, worst = 1;
  std::string worst_case;
};
BehindMean behind_mean(std::span<const PlanTable> tables);

/// What the texts say of a run beside the tables.
struct PlansRun {
  Run run;             // its `seconds` are those of a plan
  std::string device;  // a GPU's name: "an NVIDIA H200, assumed because no GPU is here"; empty on the host
  bool measured = false;
};

/// One case: a line for each plan, and how far the default one is behind the best. At most 100 columns.
std::string plans_text(const PlansRun& run, const PlanTable& table, plan::Breadth breadth);
/// Several cases: a line for each, and the means at the end. At most 100 columns.
std::string plans_suite_text(const PlansRun& run, std::span<const PlanTable> tables);
/// The record; docs/plans.md lists its keys, which are never renamed or dropped.
std::string plans_json(const PlansRun& run, std::span<const PlanTable> tables);

}  // namespace tilewright::bench
