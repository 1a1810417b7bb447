// What the planners of all targets say of a request in the same words.
#pragma once

#include <string>
#include <string_view>

#include <tilewright/plan.hpp>

namespace tilewright::plan {

/// "64x32x32".
std::string text_of(const TileShape& tile);

/// Throws Error plan_unavailable.
[[noreturn]] void unavailable(const std::string& message);

/// Extents that are negative (problem) and a group without rows (plan_value) suit no target.
void check_extents_and_order(const Problem& problem, const PlanRequest& request);

/// Refuses a mover that is another target's.
enum class Target : unsigned char { cpu, cuda };
void check_target(Mover mover, Target own, std::string_view operand);

}  // namespace tilewright::plan
