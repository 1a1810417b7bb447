#include "plan/gpu_model.hpp"

#include <algorithm>
#include <cmath>

#include "plan/gpu_clusters.hpp"

namespace tilewright::plan {
namespace {

// What the model of a plan's time is made of, in microseconds and bytes, measured on one H200 with this library's own
// kernels. They rank plans and do not predict.
constexpr double launch_time = 3;
constexpr double memory_rate = 4.2e6, raw_memory_rate = 3.15e6, copy_rate = 1.5e6;
// Of plans by tma: a step, however small; a multiplication where tensor cores are at the card's power limit, a byte of
// a step's blocks on its way into one multiprocessor, and an output whose store nothing hides.
constexpr double least_step_time = 0.18, boxed_multiply_time = 0.4 / (128 * 128 * 64), boxed_byte_time = 0.9e-5;
constexpr double boxed_store_time = 2.5 / (128 * 256);
// A byte of rows that come by classes takes as long as so many others, and so does one of rows that begin inside of
// lines. Beside a left block that stays raw, a step of 64 elements of K takes so long, and for each output so much
// longer; in pairs of blocks a little less, and more if every second element of its rows is wanted. Such plans do not
// reach the memory's rate.
constexpr double class_byte_cost = 1.9, split_line_cost = 2.5;
// A program whose steps a cluster shares adds up the parts of its sums in the end. Two parts' blocks are far apart in
// memory, which brings them faster.
constexpr double parts_time = 1, part_output_time = 2e-4, two_parts_rate = 1.25;
constexpr double raw_step_time = 0.26, raw_output_time = 2.36e-5, paired_raw_cost = 0.94, second_raw_cost = 1.4;
// Of others: an element of K of a tile of BM x BN costs a multiprocessor BM * BN multiplications and the way of BM + BN
// operands, each of which takes as long as so many multiplications by wgmma.
constexpr double operand_cost = 256, multiply_time = 1 / 1.3e7;
constexpr double mma_sync_slowdown = 5, fma_slowdown = 120;
constexpr double alone_cost = 1.4;  // of a multiprocessor with one program, which waits at its barriers
constexpr double latency = 1.4;     // of a block that is on its way
constexpr double settle_time = 0.75 / 8192, settle_latency = 1.65 / 8192;  // of an element that is realigned
constexpr double gather_time = 3.2 / 8192;                                 // of one that is gathered

double slowdown_of(Mma mma) { return mma == Mma::wgmma ? 1 : mma == Mma::fma ? fma_slowdown : mma_sync_slowdown; }

/// What a model needs of a plan, as real numbers.
struct Amounts {
  double programs, steps, outputs, elements;  // of a tile: outputs, and operands of a step
  double boxed_bytes;                         // of a step's boxes, by what they cost
  double raw_cost;                            // of rows of which every second element is wanted, beside that of others
  double operand_bytes;                       // of A and B, each read once

  static i64 steps_of(const Problem& problem, const Plan& plan) {
    const i64 phases = b_in_phases(problem, plan) ? row_classes(problem.b) : 1;
    return phases * cdiv(cdiv(problem.k, phases), plan.tile.k);
  }
  /// Of a byte of an operand's boxes, beside one of rows of whole lines.
  static double byte_cost(const LayoutClass& layout, bool in_classes) {
    return in_classes ? class_byte_cost : layout.whole_lines ? 1 : split_line_cost;
  }
  /// The right operand's blocks are a pair's, of which each brings half.
  static double bytes_of(const Problem& problem, const Plan& plan) {
    const double a = static_cast<double>(plan.tile.m) * byte_cost(problem.a, a_in_classes(problem, plan));
    const double b = static_cast<double>(plan.tile.n) * byte_cost(problem.b, b_in_classes(problem, plan));
    return 2 * static_cast<double>(plan.tile.k) * (a + b / static_cast<double>(plan.cluster));
  }
  Amounts(const Problem& problem, const Plan& plan)
      : programs(static_cast<double>(tile_rows(problem, plan)) * static_cast<double>(tile_cols(problem, plan))),
        steps(static_cast<double>(steps_of(problem, plan))),
        outputs(static_cast<double>(plan.tile.m * plan.tile.n)),
        elements(static_cast<double>((plan.tile.m + plan.tile.n) * plan.tile.k)),
        boxed_bytes(bytes_of(problem, plan)),
        raw_cost(has_second_rows(plan.a == Mover::realign ? problem.a : problem.b) ? second_raw_cost : 1),
        operand_bytes((static_cast<double>(problem.m) + static_cast<double>(problem.n)) *
                      static_cast<double>(problem.k) * static_cast<double>(size_of(problem.input))) {}
};

/// Of a plan by tma: multiprocessors take programs in rounds. Small boxes do not reach the memory's rate.
double boxed_microseconds(const Amounts& of, const Plan& plan, const GpuDescription& gpu) {
  const auto parts = static_cast<double>(blocks_of_program(plan));
  const double rounds = std::ceil(of.programs / static_cast<double>(std::max<i64>(programs_at_once(plan, gpu), 1)));
  const double edges = static_cast<double>(plan.tile.m + plan.tile.n);
  const double rate = plan.a != plan.b ? raw_memory_rate : memory_rate * edges / (edges + 64);
  const double shared_rate = parts == 2 ? rate * two_parts_rate : rate;
  const double raw =
      (raw_step_time + of.outputs * raw_output_time) * static_cast<double>(plan.tile.k) / 64 * of.raw_cost;
  const double step =
      plan.a != plan.b ? raw * (plan.cluster > 1 ? paired_raw_cost : 1)
                       : std::max({least_step_time, of.outputs * static_cast<double>(plan.tile.k) * boxed_multiply_time,
                                   of.boxed_bytes * boxed_byte_time});
  const double store = (plan.teams > 1 ? 1 : rounds) * of.outputs * boxed_store_time;
  const double adding = parts > 1 ? parts_time + of.outputs * part_output_time : 0;
  return launch_time + std::max(rounds * std::ceil(of.steps / parts) * step, of.operand_bytes / shared_rate) + store +
         adding;
}

/// Of another plan: as many programs as fit run side by side on a multiprocessor, and wait for their copies.
double copied_microseconds(const Amounts& of, const Problem& problem, const Plan& plan, const GpuDescription& gpu) {
  const auto multiprocessors = static_cast<double>(gpu.multiprocessors);
  const auto resident = static_cast<double>(std::max<i64>(gpu.shared_bytes / shared_bytes_of(problem, plan), 1));
  double step = static_cast<double>(plan.tile.k) * of.outputs * slowdown_of(plan.mma) + operand_cost * of.elements;
  step *= multiply_time * (resident < 2 ? alone_cost : 1);
  double wait = latency / static_cast<double>(plan.stages);
  if (settles(plan)) {
    step = std::max(step, of.elements * settle_time);
    wait = of.elements * settle_latency;
  }
  if (plan.a == Mover::gather) step = std::max(step, of.elements * gather_time);
  const double busy = std::ceil(of.programs / multiprocessors) * of.steps * step;
  const double waiting = std::ceil(of.programs / (multiprocessors * resident)) * of.steps * wait;
  return launch_time + std::max({busy, waiting, of.operand_bytes / memory_rate});
}

}  // namespace

double packing_microseconds(i64 bytes) { return launch_time + static_cast<double>(bytes) / copy_rate; }

double modelled_microseconds(const Problem& problem, const Plan& plan, const GpuDescription& gpu) {
  const Amounts amounts(problem, plan);
  return boxed(plan) ? boxed_microseconds(amounts, plan, gpu) : copied_microseconds(amounts, problem, plan, gpu);
}

}  // namespace tilewright::plan
