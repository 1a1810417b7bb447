// The planner's model of time on a CPU: a sum of seven terms that a reader can check with a pencil. docs/plans.md works
// one through.
//
// The rates below are those of a present-day server core, rounded. They rank plans on one machine; they do not predict
// the time on another, and nothing but the choice depends on them.
#pragma once

#include <tilewright/plan.hpp>

namespace tilewright::plan {

/// What one core does in a microsecond, and what beginning something costs.
struct CpuRates {
  double flops_avx512_bf16 = 230e3, flops_avx512 = 114e3, flops_avx2 = 57e3,
         flops_portable = 15e3;        // of the micro-kernel, panels in the L2
  double beyond_l2 = 0.985;            // its share of that rate when accumulator and panels (FP32) exceed the L2
  double packed_elements = 9e3;        // converted and packed, unit stride along the output
  double transposed_elements = 3e3;    // the same, unit stride along K
  double gathered_elements = 0.8e3;    // the same, element by element
  double direct_elements = 14e3;       // read where they lie
  double direct_across = 4.5e3;        // the same of B with unit stride along K, which is transposed in registers
  double direct_row_us = 0.0204;       // to begin a row or column of B that is read where it lies
  double accumulator_elements = 12e3;  // read and written, in the L2
  double stored_elements = 12e3;       // rounded and written to C
  double reduced_elements = 2e3;       // of one part, written to the workspace and added
  double memory_bytes = 25e3;          // from beyond the L3; all cores together
  double row_bytes = 2048;             // packed, of A as it lies: so much of K is summed in registers, up to C
  double step_us = 0.05;               // to begin a K step
  double program_us = 0.1;             // to begin a program
  double team_us = 3;                  // to begin work on more than one thread
};
inline constexpr CpuRates cpu_rates;

/// A plan's modelled time by terms, in microseconds. All but memory are the busiest thread's.
struct Cost {
  double multiply = 0;     // without the padding, which CPU programs skip
  double pack = 0;         // both operands; every program packs its own blocks
  double accumulator = 0;  // its way between the L2 and the registers: once a K step
  double store = 0;        // to C
  double start = 0;        // steps, programs and the team of threads
  double memory = 0;       // traffic from beyond the L3 by the closed form, and C
  double reduce = 0;       // of a split K
  double total() const { return multiply + pack + accumulator + store + start + memory + reduce; }
};

/// What the busiest thread computes and packs: an even share of everything, but at least its number of whole tiles.
struct Share {
  double outputs = 0;  // once for each part of K that it sums
  double a_rows = 0;   // rows of A that it packs, over all its programs; each as long as the program's part of K
  double b_cols = 0;   // columns of B, likewise
};
Share busiest_share(const Problem& problem, const Plan& plan, i64 threads);

/// Modelled time of a plan that is legal for the problem, on `threads` threads.
Cost modelled_cost(const Problem& problem, const Plan& plan, const CpuDescription& cpu, i64 threads);

}  // namespace tilewright::plan
