// The time of a plan on a GPU, as modelled: it ranks plans and does not predict.
#pragma once

#include "plan/gpu_planner.hpp"

namespace tilewright::plan {

/// Whether boxes bring an operand: a plan of roles (tile/cuda/roles.hpp).
constexpr bool boxed(const Plan& plan) { return plan.a == Mover::tma || plan.b == Mover::tma; }
/// Whether an operand comes as it lies in memory.
constexpr bool settles(const Plan& plan) { return plan.a == Mover::realign || plan.b == Mover::realign; }

/// Of the copies that a plan packs, of so many bytes together.
double packing_microseconds(i64 bytes);
double modelled_microseconds(const Problem& problem, const Plan& plan, const GpuDescription& gpu);

}  // namespace tilewright::plan
