// The operator: contract, problem, plan, programs. Data flows one way: nothing below the contract checks it again.

#include <tilewright/gemm.hpp>

#include <fmt/format.h>

#include "gemm/contract.hpp"
#include "gemm/run.hpp"
#include "gemm/run_cuda.hpp"
#include "gemm/turned.hpp"
#include "plan/planner.hpp"

namespace tilewright {
namespace {

// Below this many multiply-adds, some 20 microseconds of one core, waking a second thread costs more than it gives.
constexpr double serial_products = 1 << 20;

/// The planner's choice. A thread keeps its last one: in a loop over small products of one shape, choosing anew would
/// take a tenth of the time.
plan::Cheapest plan_again(Problem problem, i64 threads, const GemmOptions& options) {
  problem.a.whole_lines = problem.b.whole_lines = true;  // which no CPU plan asks about
  struct Last {
    Problem problem;
    PlanRequest request;
    i64 threads = -1, workspace_bytes = -1;
    plan::Cheapest choice;
  };
  static thread_local Last last;
  if (last.threads != threads || last.workspace_bytes != options.workspace_bytes || last.problem != problem ||
      last.request != options.plan) {
    const plan::Cheapest choice =
        plan::cheapest_plan(problem, options.plan, this_cpu(), threads, options.workspace_bytes);
    last = {problem, options.plan, threads, options.workspace_bytes, choice};
  }
  return last.choice;
}

}  // namespace

i64 threads_for(const Problem& problem, i64 asked) {
  if (asked < 0 || asked > cpu::most_threads) {
    throw Error(ErrorCode::plan_value,
                fmt::format("threads is {}; give 1 to {}, or 0 for as many as there are", asked, cpu::most_threads));
  }
  const double products =
      static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
  if (products <= serial_products) return 1;
  return asked == 0 ? available_threads() : asked;
}

Problem problem_of(const MatrixView& a, const MatrixView& b, const MatrixView& c) {
  Problem problem{
      a.rows, b.cols, a.cols, a.type, c.type, layout_class(a, true), layout_class(b, false), layout_class(c, false)};
  problem.c.whole_lines = true;  // of outputs nobody asks
  return problem;
}

PlanChoice plan_for(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const GemmOptions& options) {
  gemm_detail::check_operands(a, b);
  gemm_detail::check_output(a, b, c);
  if (const auto device = gemm_detail::device_of_operands(a, b, c)) {
    const gemm_detail::ProductViews t = gemm_detail::turned(a, b, c);
    return gemm_detail::cuda_plan(problem_of(t.a, t.b, t.c), options.plan, *device, options.workspace_bytes);
  }
  const Problem problem = problem_of(a, b, c);
  return choose_plan(problem, options.plan, this_cpu(), threads_for(problem, options.threads), options.workspace_bytes);
}

void gemm_into(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const GemmOptions& options) {
  gemm_detail::check_operands(a, b);
  gemm_detail::check_output(a, b, c);
  if (const auto device = gemm_detail::device_of_operands(a, b, c)) {
    const gemm_detail::ProductViews t = gemm_detail::turned(a, b, c);
    return gemm_detail::run_cuda(problem_of(t.a, t.b, t.c), t.a, t.b, t.c, *device, options);
  }
  const Problem problem = problem_of(a, b, c);
  const i64 threads = threads_for(problem, options.threads);
  const plan::Cheapest choice = plan_again(problem, threads, options);
  if (c.rows == 0 || c.cols == 0) return;

  Matrix workspace;
  if (choice.workspace_bytes > 0) workspace = Matrix(choice.plan.split.parts * c.rows, c.cols, DType::f32);
  const auto run = a.type == DType::f16    ? gemm_detail::run_f16
                   : a.type == DType::bf16 ? gemm_detail::run_bf16
                                           : gemm_detail::run_f32;
  run(choice.plan, a, b, c, threads, workspace.elements<float>());
}

Matrix gemm(const MatrixView& a, const MatrixView& b, const GemmOptions& options) {
  gemm_detail::check_operands(a, b);
  Matrix c(a.rows, b.cols, options.output.value_or(a.type));
  gemm_into(a, b, c, options);
  return c;
}

}  // namespace tilewright
