// Lists of plans for one problem: those that a planner takes without being asked, and whatever else a target runs.
//
// The planners choose, and this enumerates: each plan of a list is one that a planner accepts and has modelled, so a
// list holds nothing that could not be asked for by its text. Arithmetic alone, like the planners.
#pragma once

#include <string>
#include <vector>

#include <tilewright/plan.hpp>
#include "plan/gpu_planner.hpp"

namespace tilewright::plan {

/// A plan that a problem can be carried out with.
struct ListedPlan {
  Plan plan;
  double microseconds = 0;  // modelled
  bool by_default = true;   // the planner may take it without being asked
  friend bool operator==(const ListedPlan&, const ListedPlan&) = default;
};

struct PlanList {
  Plan chosen;                      // the default plan, which is among the plans
  std::string reason;               // one sentence: why that one
  std::vector<ListedPlan> plans;    // least modelled time first
  std::vector<Candidate> rejected;  // what the planner looked at and cannot run here, with the reasons

  /// The place of the chosen one.
  std::size_t chosen_at() const;
  /// Leaves the `count` of least modelled time, and the chosen one.
  void keep_first(std::size_t count);
};

/// Which plans: those taken without being asked, or all that run.
enum class Breadth : unsigned char { by_default, all };

/// Plans of a CPU. All: every compiled tile, packed and direct operands, with the planner's orders and splits of K.
/// Fields that the request names are in all of them. Throws as choose_plan.
PlanList list_plans(const Problem& problem, const PlanRequest& request, const CpuDescription& cpu, i64 threads,
                    i64 workspace_bytes, Breadth breadth);

/// Plans of a GPU. All: every tile of the table by the movers that suit the layouts, what multiplies, warps, stages,
/// teams and clusters. Throws as choose_gpu_plan.
PlanList list_gpu_plans(const Problem& problem, const PlanRequest& request, const GpuDescription& gpu, Breadth breadth,
                        i64 workspace_bytes = 0);

}  // namespace tilewright::plan
