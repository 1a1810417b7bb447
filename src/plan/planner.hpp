// The planner's inside, for the operator: the same choice as choose_plan without a word of text.
#pragma once

#include <tilewright/plan.hpp>

#include "plan/model.hpp"

namespace tilewright::plan {

struct Cheapest {
  Plan plan;
  double microseconds = 0;  // modelled
  i64 workspace_bytes = 0;
};

/// The plan that choose_plan chooses, with the same errors; no candidate list and, unless it throws, no allocation.
Cheapest cheapest_plan(const Problem& problem, const PlanRequest& request, const CpuDescription& cpu, i64 threads,
                       i64 workspace_bytes);

/// Bytes of partial sums that a plan needs; the largest i64 if they do not fit in 63 bits.
i64 workspace_of(const Problem& problem, const Split& split);

}  // namespace tilewright::plan
