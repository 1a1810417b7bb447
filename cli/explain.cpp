// `tilewright explain`: what a multiplication would do, from extents and leading dimensions alone.
#include <memory>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include <tilewright/explain.hpp>
#include <tilewright/gemm.hpp>

#include "cli/commands.hpp"
#include "cli/explain_gpu.hpp"
#include "cli/measuring.hpp"
#include "cli/options.hpp"
#include "cli/problem.hpp"
#include "cli/terminal.hpp"
#include "core/shown.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* explain_description =
    "Say what a multiplication does, from the grid of tiles to single addresses.\n"
    "\n"
    "Works on extents and a plan, without matrices: which program owns which outputs, which addresses it reads, what "
    "the tails hold, how much of the work is useful, and how often the data is read.";

constexpr const char* explain_examples = R"(Examples:
  tilewright explain --m 130 --n 70 --k 65 --plan 64x32x32
      The grid of tiles with its tails, useful work, data volumes.
  tilewright explain --m 130 --n 70 --k 65 --plan 64x32x32 --program 8 --step 2
      The last program's rows, columns, addresses and masks in its last K step.
  tilewright explain --m 130 --n 70 --k 65 --layout nt --element 129,69
      Who computes C[129,69], and the addresses whose products it sums, where B
      is stored transposed.
  tilewright explain --m 4096 --n 50257 --k 768 --layout nt --target cuda
      The plan of a GPU: tile, movers, shared memory, waves, candidates.
  tilewright explain --shapes shapes.csv
      Weighs all tiles over a list of shapes (columns m,n,k and, if you like,
      weight).)";

struct ExplainArguments {
  ProblemArguments problem;
  std::optional<std::string> target, plan, element, shapes;
  std::optional<i64> threads, workspace, program, step, cache;
  bool json = false;
};

void explain_shapes(const ExplainArguments& arguments, DType type, i64 threads) {
  const ProblemArguments& one = arguments.problem;
  for (const auto& [given, name] : {std::pair{one.m.has_value(), "--m"},
                                    {one.n.has_value(), "--n"},
                                    {one.k.has_value(), "--k"},
                                    {one.layout.has_value(), "--layout"},
                                    {one.lda.has_value(), "--lda"},
                                    {one.ldb.has_value(), "--ldb"},
                                    {one.ldc.has_value(), "--ldc"},
                                    {one.out_dtype.has_value(), "--out-dtype"},
                                    {arguments.plan.has_value(), "--plan"},
                                    {arguments.workspace.has_value(), "--workspace"},
                                    {arguments.program.has_value(), "--program"},
                                    {arguments.step.has_value(), "--step"},
                                    {arguments.element.has_value(), "--element"},
                                    {arguments.cache.has_value(), "--cache"}}) {
    if (given) throw UsageError(fmt::format("--shapes weighs the tiles over a list of shapes: leave out {}", name));
  }
  const std::vector<WeightedShape> shapes =
      parse_shapes(read_text(*arguments.shapes), core::shown_file(*arguments.shapes));
  print(arguments.json ? explain_shapes_json(shapes, type, this_cpu(), threads) + '\n'
                       : explain_shapes_text(shapes, type, this_cpu(), threads));
}

void check_combination(const ExplainArguments& arguments) {
  if (arguments.target != "cuda") return;
  for (const auto& [given, name] : {std::pair{arguments.shapes.has_value(), "--shapes"},
                                    {arguments.program.has_value(), "--program"},
                                    {arguments.element.has_value(), "--element"},
                                    {arguments.cache.has_value(), "--cache"},
                                    {arguments.threads.has_value(), "--threads"}}) {
    if (given) throw UsageError(fmt::format("{} speaks of the target cpu; leave it out with --target cuda", name));
  }
}

int explain(const ExplainArguments& arguments) {
  check_combination(arguments);
  if (arguments.shapes) {
    explain_shapes(arguments, input_type(arguments.problem), arguments.threads.value_or(available_threads()));
    return 0;
  }
  const auto [m, n, k, lda, ldb, ldc, ta, tb, input, output] = stated_problem(arguments.problem, "--shapes FILE");
  if (arguments.step && !arguments.program)
    throw UsageError("--step looks closer at one program: give --program as well");
  const OperandStrides strides{ta ? 1 : lda, ta ? lda : 1, tb ? 1 : ldb, tb ? ldb : 1, ldc, 1};

  const PlanRequest request = arguments.plan ? parse_plan(*arguments.plan) : PlanRequest{};
  if (arguments.target == "cuda") {
    explain_gpu({nullptr, input, m, k, strides.a_row, strides.a_col},
                {nullptr, input, k, n, strides.b_row, strides.b_col},
                {nullptr, output, m, n, strides.c_row, strides.c_col}, request, arguments.workspace.value_or(0),
                arguments.json);
    return 0;
  }
  ExplainFocus focus{arguments.program, arguments.step, {}, arguments.cache};
  if (arguments.element) {
    const auto [row, col] = parse_pair("--element", *arguments.element);
    focus.element = {row, col};
  }
  const Problem problem = problem_of(m, n, k, input, output, strides);
  const i64 threads = threads_for(problem, arguments.threads.value_or(0));
  const PlanChoice choice = choose_plan(problem, request, this_cpu(), threads, arguments.workspace.value_or(0));
  print(arguments.json ? explain_json(problem, strides, choice, this_cpu(), focus) + '\n'
                       : explain_text(problem, strides, choice, this_cpu(), focus));
  return 0;
}

}  // namespace

Action add_explain(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("explain", explain_description)->group("Commands");
  const auto arguments = std::make_shared<ExplainArguments>();
  constexpr const char *problem = "The problem", *plan = "The plan", *focus = "A closer look", *out = "Output";
  add_problem(command, arguments->problem, problem);
  add_text(command, "--shapes", arguments->shapes, "FILE.csv",
           "instead of one problem: weigh the tiles over a list of shapes, with a header line naming the columns m, n, "
           "k and, "
           "optionally, weight, name, group")
      ->group(problem);

  add_choice(command, "--target", arguments->target, {"cpu", "cuda"},
             "cpu (the default), or cuda: the plan of the GPU here, or of an H200 where there is none")
      ->group(plan);
  add_text(command, "--plan", arguments->plan, "TEXT",
           "the plan, or a part of it, such as 64x32x32 or \"64x32x32 order=grouped(8)\"; the rest is chosen")
      ->group(plan);
  add_threads(command, arguments->threads, "plan for N threads (default: all this process may use)")->group(plan);
  add_bytes(command, "--workspace", arguments->workspace,
            "memory allowed for partial sums of a split K, or on a GPU for copies of operands (default: 0)")
      ->group(plan);

  add_integer(command, "--program", arguments->program, 0, "P", "one program's rows, columns, addresses and masks")
      ->group(focus);
  add_integer(command, "--step", arguments->step, 0, "Q", "one K step of that program, counted from 0")->group(focus);
  add_text(command, "--element", arguments->element, "m,n", "one output: who computes it, and what it sums")
      ->group(focus);
  add_bytes(command, "--cache", arguments->cache,
            "size of the idealised cache for the modelled traffic (default: this CPU's L2 and L3)")
      ->group(focus);
  command.add_flag("--json", arguments->json, "print one JSON object instead of text")->group(out);
  command.footer(explain_examples);
  return [arguments] { return explain(*arguments); };
}

}  // namespace tilewright::cli
