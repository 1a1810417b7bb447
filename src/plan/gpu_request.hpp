// What a request may not say to the planner for GPUs, whatever the tile and the device.
#pragma once

#include <tilewright/plan.hpp>

namespace tilewright::plan {

/// problem: as it is multiplied, with copies of what the request packs. Throws problem, plan_value, plan_unavailable.
void check_gpu_request(const Problem& problem, const PlanRequest& request);

}  // namespace tilewright::plan
