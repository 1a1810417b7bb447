// The options that state one multiplication without matrices: extents, layouts, leading dimensions, element types.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <tilewright/dtype.hpp>

namespace tilewright::cli {

struct ProblemArguments {
  std::optional<i64> m, n, k, lda, ldb, ldc;
  std::optional<std::string> layout, dtype, out_dtype;
};

/// Adds them to a command's help under a group.
void add_problem(CLI::App& command, ProblemArguments& arguments, const std::string& group);

/// The same with every default filled in.
struct StatedProblem {
  i64 m, n, k, lda, ldb, ldc;  // elements
  bool ta, tb;                 // stored transposed
  DType input, output;
};
/// otherwise: the option that could be given in place of the extents, such as "--shapes FILE". Throws UsageError for
/// what is missing and for stored rows that would overlap.
StatedProblem stated_problem(const ProblemArguments& arguments, std::string_view otherwise);

/// The types alone.
DType input_type(const ProblemArguments& arguments);

}  // namespace tilewright::cli
