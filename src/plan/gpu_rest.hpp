// The last round: where the tiles of C are a few more than whole rounds of the multiprocessors, a plan may leave C's
// last rows or columns to a product of their own, whose tiles are smaller (Rest in plan.hpp).
#pragma once

#include <vector>

#include "plan/gpu_planner.hpp"

namespace tilewright::plan {

/// What a plan with a rest computes itself, and the rest. The classes of layouts are those of the whole: a rest that
/// does not begin at a multiple of 64 rows and columns may be less aligned.
Problem without_rest(const Problem& problem, const Rest& rest);
Problem rest_of(const Problem& problem, const Rest& rest);
/// What a plan's programs multiply: copies of the operands that it packs, and what is before its rest.
Problem own_problem(const Problem& problem, const Plan& plan);
/// What the planner is asked for a rest: its own choice, which leaves nothing.
PlanRequest request_of_rest();

/// The least rests that begin at multiples of 64 and leave no more tiles than fill the whole rounds that the tiles of
/// all of C take. None under plans whose programs do not run in rounds, and where there are so many that one more is
/// little.
std::vector<Rest> rests_of(const Problem& problem, const Plan& plan, const GpuDescription& gpu);

}  // namespace tilewright::plan
