// See problem.hpp.
#include "cli/problem.hpp"

#include <fmt/format.h>

#include "cli/options.hpp"

namespace tilewright::cli {
namespace {

/// A leading dimension: the given one, or the packed one if it is missing or 0. Throws if rows would overlap.
i64 leading(std::string_view option, const std::optional<i64>& given, i64 row_length, std::string_view meaning) {
  if (given.value_or(0) == 0) return row_length;
  if (*given < row_length)
    throw UsageError(
        fmt::format("{} is {}, but a stored row holds {} = {} elements: give at least {}, or 0 for packed rows", option,
                    *given, meaning, row_length, row_length));
  return *given;
}

}  // namespace

void add_problem(CLI::App& command, ProblemArguments& arguments, const std::string& group) {
  add_integer(command, "--m", arguments.m, 0, "M", "rows of A and C")->group(group);
  add_integer(command, "--n", arguments.n, 0, "N", "columns of B and C")->group(group);
  add_integer(command, "--k", arguments.k, 0, "K", "columns of A and rows of B: what is summed over")->group(group);
  add_choice(command, "--layout", arguments.layout, {"nn", "nt", "tn", "tt"},
             "how A and B are stored: n as they are, row by row; t transposed (default: nn)")
      ->group(group);
  add_integer(command, "--lda", arguments.lda, 0, "LD", "elements from one stored row of A to the next (0: packed)")
      ->group(group);
  add_integer(command, "--ldb", arguments.ldb, 0, "LD", "the same of B")->group(group);
  add_integer(command, "--ldc", arguments.ldc, 0, "LD", "the same of C")->group(group);
  add_choice(command, "--dtype", arguments.dtype, {"f16", "bf16", "f32"}, "element type of A and B (default: f16)")
      ->group(group);
  add_choice(command, "--out-dtype", arguments.out_dtype, {"f16", "bf16", "f32"},
             "element type of C (default: that of A and B)")
      ->group(group);
}

DType input_type(const ProblemArguments& arguments) { return parse_dtype(arguments.dtype.value_or("f16")).value(); }

StatedProblem stated_problem(const ProblemArguments& arguments, std::string_view otherwise) {
  if (!arguments.m || !arguments.n || !arguments.k)
    throw UsageError(fmt::format("{} is missing: the problem needs --m, --n and --k, or {}",
                                 !arguments.m   ? "--m"
                                 : !arguments.n ? "--n"
                                                : "--k",
                                 otherwise));
  StatedProblem problem{*arguments.m, *arguments.n, *arguments.k, 0, 0, 0, false, false, input_type(arguments), {}};
  problem.output = arguments.out_dtype ? parse_dtype(*arguments.out_dtype).value() : problem.input;
  const std::string layout = arguments.layout.value_or("nn");
  const bool ta = problem.ta = layout[0] == 't', tb = problem.tb = layout[1] == 't';
  problem.lda = leading("--lda", arguments.lda, ta ? problem.m : problem.k, ta ? "M" : "K");
  problem.ldb = leading("--ldb", arguments.ldb, tb ? problem.k : problem.n, tb ? "K" : "N");
  problem.ldc = leading("--ldc", arguments.ldc, problem.n, "N");
  return problem;
}

}  // namespace tilewright::cli
