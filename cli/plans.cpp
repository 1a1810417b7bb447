// `tilewright plans`: the plans of a problem, predicted and measured. The work is in src/plan/candidates.cpp and
// bench/plans.cpp.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include <tilewright/gemm.hpp>

#include "bench/peer.hpp"
#include "bench/plans.hpp"
#include "cli/commands.hpp"
#include "cli/measuring.hpp"
#include "cli/options.hpp"
#include "cli/planned_gpu.hpp"
#include "cli/problem.hpp"
#include "cli/terminal.hpp"
#include "cuda/cache.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* plans_description =
    "List the plans of a multiplication, predicted and measured.\n"
    "\n"
    "The planner takes the plan of the least predicted time. With --measure every plan is verified and then timed in "
    "turns with the others, which tells how far the default plan is behind the best. docs/plans.md says more.";

constexpr const char* plans_examples = R"(Examples:
  tilewright plans --m 4096 --n 4096 --k 4096 --target cuda
      The plans of a GPU that the planner weighs; none need be here.
  tilewright plans --m 1001 --n 1001 --k 1001 --measure
      The same of this CPU, measured.
  tilewright plans --m 4096 --n 4096 --k 4096 --target cuda --all
      --plan "128x128x64 a=tma" --top 8 --measure
      The eight best predicted of all plans with that tile and mover.
  tilewright plans --suite bench/suites/gpu.csv --target cuda --measure
      --json plans.json
      The default plan and the best one of every case, and their means.)";

constexpr double cpu_seconds = 0.5, gpu_seconds = 0.2;  // of rounds for each plan

struct PlansArguments {
  ProblemArguments problem;
  std::optional<std::string> suite, cases, target, plan, seconds, cache, json;
  std::optional<i64> threads, workspace, top;
  bool all = false, measure = false;

  bool on_gpu() const { return target == "cuda"; }
  plan::Breadth breadth() const { return all ? plan::Breadth::all : plan::Breadth::by_default; }
};

void check_combination(const PlansArguments& arguments) {
  const ProblemArguments& p = arguments.problem;
  for (const auto& [given, name] : {std::pair{p.m.has_value(), "--m"},
                                    {p.n.has_value(), "--n"},
                                    {p.k.has_value(), "--k"},
                                    {p.lda.has_value(), "--lda"},
                                    {p.ldb.has_value(), "--ldb"},
                                    {p.ldc.has_value(), "--ldc"},
                                    {p.layout.has_value(), "--layout"},
                                    {p.dtype.has_value(), "--dtype"},
                                    {p.out_dtype.has_value(), "--out-dtype"}}) {
    if (given && arguments.suite) throw UsageError(fmt::format("--suite states its problems; leave {} out", name));
  }
  if (arguments.cases && !arguments.suite) throw UsageError("--case names cases of a suite: give --suite as well");
  if (arguments.seconds && !arguments.measure) throw UsageError("--seconds is of measurements: give --measure as well");
  if (arguments.cache && !(arguments.measure && arguments.on_gpu()))
    throw UsageError("--cache is where compiled kernels are kept; it needs --target cuda and --measure");
  if (arguments.threads && arguments.on_gpu())
    throw UsageError("--threads speaks of the target cpu; leave it out with --target cuda");
}

/// The problem of the command line as a suite's case.
bench::Case stated_case(const ProblemArguments& arguments, bool measured) {
  const StatedProblem stated = stated_problem(arguments, "--suite FILE.csv");
  for (const auto& [name, extent] : {std::pair{"--m", stated.m}, {"--n", stated.n}, {"--k", stated.k}}) {
    if (measured && extent == 0) throw UsageError(fmt::format("{} is 0: there is nothing to measure", name));
  }
  bench::Case one{fmt::format("{}x{}x{}", stated.m, stated.n, stated.k), "stated", stated.m, stated.n, stated.k};
  one.a_transposed = stated.ta, one.b_transposed = stated.tb;
  one.type = stated.input, one.own_output = stated.output;
  one.lda = stated.lda, one.ldb = stated.ldb, one.ldc = stated.ldc;
  return one;
}

bench::PlanTable table_of(const bench::Case& which, const PlansArguments& arguments, const PlannedGpu& gpu) {
  const PlanRequest request = arguments.plan ? parse_plan(*arguments.plan) : PlanRequest{};
  const Problem problem = bench::problem_of(which);
  bench::PlanTable table{which, 1, arguments.workspace.value_or(0), {}};
  if (arguments.on_gpu()) {
    table.list = plan::list_gpu_plans(problem, request, gpu.description(), arguments.breadth(), table.workspace_bytes);
  } else {
    table.threads = threads_for(problem, arguments.threads.value_or(0));
    table.list =
        plan::list_plans(problem, request, this_cpu(), table.threads, table.workspace_bytes, arguments.breadth());
  }
  if (arguments.top) table.list.keep_first(static_cast<std::size_t>(*arguments.top));
  return table;
}

/// Measures the tables one after the other. A long run that is ended before its time leaves what it has measured.
void measure(std::vector<bench::PlanTable>& tables, bench::PlansRun& run, bench::GpuBench* gpu,
             const std::optional<std::string>& json) {
  Progress progress("measuring");
  bench::HarnessOptions options;
  set_clocks(options, gpu, false);
  options.aspects.clear();  // a plan is judged by its time with a cold cache
  run.run.whole = false;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    options.progress = [&](double fraction) {
      progress.update((static_cast<double>(i) + fraction) / static_cast<double>(tables.size()));
    };
    bench::measure_plans(tables[i], options, run.run.seconds);
    if (json && i + 1 < tables.size()) write_file(*json, bench::plans_json(run, std::span(tables).first(i + 1)));
  }
  run.run.whole = true;
}

int plans(const PlansArguments& arguments) {
  check_combination(arguments);
  const std::vector<bench::Case> cases = arguments.suite
                                             ? cases_of(*arguments.suite, arguments.cases)
                                             : std::vector{stated_case(arguments.problem, arguments.measure)};
  bench::PlansRun run;
  run.measured = arguments.measure;
  run.run.seconds = arguments.on_gpu() ? gpu_seconds : cpu_seconds;
  if (arguments.seconds) run.run.seconds = parse_seconds(*arguments.seconds);
  std::vector<std::filesystem::path> taken;
  if (arguments.suite) taken.emplace_back(*arguments.suite);
  if (arguments.json) bench::check_record_path(*arguments.json, taken);
  if (arguments.cache) cuda::set_cache_folder(*arguments.cache);

  std::unique_ptr<bench::GpuBench> gpu;
  if (arguments.measure && arguments.on_gpu()) gpu = std::make_unique<bench::GpuBench>();
  PlannedGpu planned;
  if (arguments.on_gpu()) {
    planned = planned_gpu();
    run.device = planned.name;
    run.run.target = "cuda";
    if (gpu) run.run.gpu = gpu->facts();
  }
  run.run.suite = arguments.suite.value_or("");
  run.run.date = bench::date_now();
  run.run.plan = arguments.plan.value_or("");
  run.run.own_version = bench::this_library(PlanRequest{})->version();

  std::vector<bench::PlanTable> tables;
  for (const bench::Case& one : cases) tables.push_back(table_of(one, arguments, planned));
  if (arguments.measure) measure(tables, run, gpu.get(), arguments.json);
  if (arguments.json) write_file(*arguments.json, bench::plans_json(run, tables));
  print(tables.size() == 1 ? bench::plans_text(run, tables[0], arguments.breadth())
                           : bench::plans_suite_text(run, tables));
  return !arguments.measure || std::ranges::all_of(tables, &bench::PlanTable::right) ? 0 : 1;
}

}  // namespace

Action add_plans(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("plans", plans_description)->group("Commands");
  const auto arguments = std::make_shared<PlansArguments>();
  constexpr const char *problem = "The problem", *which = "Which plans", *how = "Measuring", *out = "Output";
  add_problem(command, arguments->problem, problem);
  add_text(command, "--suite", arguments->suite, "FILE.csv",
           "instead of one problem: the cases of a suite; bench/suite.hpp describes the columns")
      ->group(problem);
  add_text(command, "--case", arguments->cases, "NAMES",
           "only these cases, with commas between; *, ? and [ab] stand for letters as in a shell (default: all)")
      ->group(problem);

  add_choice(command, "--target", arguments->target, {"cpu", "cuda"},
             "cpu (the default), or cuda: the GPU here, or an H200 where there is none and nothing is measured")
      ->group(which);
  add_threads(command, arguments->threads, "plan for N threads (default: all this process may use)")->group(which);
  add_bytes(command, "--workspace", arguments->workspace,
            "memory allowed for partial sums of a split K, or on a GPU for copies of operands (default: 0)")
      ->group(which);
  add_text(command, "--plan", arguments->plan, "TEXT",
           "only plans with these fields, such as 64x32x32 or \"128x128x64 a=tma\"")
      ->group(which);
  command
      .add_flag("--all", arguments->all,
                "also plans that are never taken without being asked for: every tile, mover and number of warps, "
                "stages and teams that runs here. They may be hundreds, and most of a GPU's have to be compiled")
      ->group(which);
  add_integer(command, "--top", arguments->top, 1, "N",
              "only the N plans of the least predicted time, and the default plan")
      ->group(which);

  command.add_flag("--measure", arguments->measure, "verify every plan, then time them in turns")->group(how);
  add_text(command, "--seconds", arguments->seconds, "S",
           "add rounds for S seconds a plan (default: 0.5, on a GPU 0.2); there are 6 at least")
      ->group(how);
  add_text(command, "--cache", arguments->cache, "FOLDER", "where compiled kernels for GPUs are kept")->group(how);
  add_text(command, "--json", arguments->json, "FILE", "write a record to this file, whole or not at all")->group(out);
  command.footer(plans_examples);
  return [arguments] { return plans(*arguments); };
}

}  // namespace tilewright::cli
