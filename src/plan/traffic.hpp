// Bytes of A and B that a sequence of programs draws into an idealised cache: fully associative, least recently used
// out first, whole blocks (the valid part of one operand block of one K step) as units, programs strictly one after the
// other.
//
// Such a cache shows what an order of programs is worth. It is no real cache: that one has lines and sets, holds C and
// packed panels as well, and is shared by programs that run at the same time.
#pragma once

#include <tilewright/plan.hpp>

namespace tilewright::plan {

struct Traffic {
  double a_bytes = 0, b_bytes = 0;  // whole numbers
  bool simulated = false;           // access by access; otherwise by the closed form
  double total() const { return a_bytes + b_bytes; }
};

/// Block accesses (of A and of B) up to which the cache is simulated.
inline constexpr double most_simulated_accesses = 4e6;

/// Simulated if the plan's block accesses are few enough, else estimated.
Traffic cache_traffic(const Problem& problem, const Plan& plan, i64 cache_bytes);

/// Access by access. The number of block accesses must be at most most_simulated_accesses.
Traffic simulate_traffic(const Problem& problem, const Plan& plan, i64 cache_bytes);

/// By reuse distances, in constant time: an operand panel is found again if what was touched since fits in the cache
/// with it. It never decreases when M, N or K grows. The planner ranks plans by it.
Traffic estimate_traffic(const Problem& problem, const Plan& plan, double cache_bytes);

}  // namespace tilewright::plan
