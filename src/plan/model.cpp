// The model's arithmetic. All of it is in double: a product of extents may pass 2^63, and no rank hangs on the last
// bit.
#include "plan/model.hpp"

#include <algorithm>
#include <cmath>

#include "plan/traffic.hpp"

namespace tilewright::plan {
namespace {

double flops_per_us(Mma mma) {
  if (mma == Mma::avx512_bf16) return cpu_rates.flops_avx512_bf16;
  if (mma == Mma::avx512) return cpu_rates.flops_avx512;
  return mma == Mma::avx2 ? cpu_rates.flops_avx2 : cpu_rates.flops_portable;
}

double elements_per_us(Mover mover, const LayoutClass& layout) {
  if (mover == Mover::direct) return cpu_rates.direct_elements;
  if (mover == Mover::gather) return cpu_rates.gathered_elements;
  return layout.unit == UnitAxis::k ? cpu_rates.transposed_elements : cpu_rates.packed_elements;
}

}  // namespace

Share busiest_share(const Problem& problem, const Plan& plan, i64 threads) {
  const i64 bm = std::min(plan.tile.m, problem.m), bn = std::min(plan.tile.n, problem.n);
  if (bm == 0 || bn == 0) return {};
  const double m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const double rows = static_cast<double>(cdiv(problem.m, bm)), cols = static_cast<double>(cdiv(problem.n, bn));
  const double parts = static_cast<double>(plan.split.parts), workers = static_cast<double>(threads);
  const double height = static_cast<double>(bm), width = static_cast<double>(bn);
  const double whole =
      std::ceil(static_cast<double>(problem.m / bm) * static_cast<double>(problem.n / bn) * parts / workers);
  return {std::max(m * n * parts / workers, whole * height * width),
          std::max(m * cols * parts / workers, whole * height), std::max(n * rows * parts / workers, whole * width)};
}

Cost modelled_cost(const Problem& problem, const Plan& plan, const CpuDescription& cpu, i64 threads) {
  const double m = static_cast<double>(problem.m), n = static_cast<double>(problem.n),
               k = static_cast<double>(problem.k);
  const double rows = static_cast<double>(cdiv(problem.m, plan.tile.m)),
               cols = static_cast<double>(cdiv(problem.n, plan.tile.n));
  const double parts = static_cast<double>(plan.split.parts), workers = static_cast<double>(threads);
  Cost cost;
  if (problem.m == 0 || problem.n == 0) return cost;

  const Share share = busiest_share(problem, plan, threads);
  const double waves = std::ceil(rows * cols * parts / workers);  // programs of one thread
  const double steps = static_cast<double>(cdiv(cdiv(problem.k, plan.tile.k), plan.split.parts));  // of one program
  const double along_k = std::min(k, steps * static_cast<double>(plan.tile.k));

  const double width = std::min(n, static_cast<double>(plan.tile.n));
  const double height = std::min(m, static_cast<double>(plan.tile.m));
  const bool direct_b = plan.b == Mover::direct, across = direct_b && problem.b.unit == UnitAxis::k;
  const double lines = (plan.a == Mover::direct ? 0 : height) + (direct_b ? 0 : width);  // that are packed
  const double packed_bytes = plan.mma == Mma::avx512_bf16 ? 2 : 4;  // of an element; those of bf16 are not converted
  const double panels = packed_bytes * lines * std::min(k, static_cast<double>(plan.tile.k));
  const bool in_registers = plan.a == Mover::direct && steps == 1 && packed_bytes * along_k <= cpu_rates.row_bytes;
  const double working_set = panels + (in_registers ? 0 : 4 * height * width);
  const double fit = working_set <= static_cast<double>(cpu.l2_bytes) ? 1.0 : cpu_rates.beyond_l2;
  const double beyond_l3 = estimate_traffic(problem, plan, static_cast<double>(cpu.l3_bytes)).total();
  const double written = m * n * static_cast<double>(size_of(problem.output));

  cost.multiply = 2 * share.outputs * along_k / (flops_per_us(plan.mma) * fit);
  const double b_rate = across ? cpu_rates.direct_across : elements_per_us(plan.b, problem.b);
  cost.pack = along_k * (share.a_rows / elements_per_us(plan.a, problem.a) + share.b_cols / b_rate);
  if (direct_b) cost.pack += share.b_cols * (across ? steps : along_k / width) * cpu_rates.direct_row_us;
  if (!in_registers) cost.accumulator = share.outputs * steps / cpu_rates.accumulator_elements;
  cost.store = share.outputs / cpu_rates.stored_elements;
  cost.start = waves * (steps * cpu_rates.step_us + cpu_rates.program_us);
  if (rows * cols * parts > 1 && threads > 1) cost.start += cpu_rates.team_us;
  cost.memory = (beyond_l3 + written) / cpu_rates.memory_bytes;
  if (plan.split.kind == SplitKind::split_k) cost.reduce = parts * m * n / (cpu_rates.reduced_elements * workers);
  return cost;
}

}  // namespace tilewright::plan
