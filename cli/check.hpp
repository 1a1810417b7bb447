// The exact checker from the command line: the `check` command, and `gemm --target check`.
#pragma once

#include <optional>
#include <string>

#include <tilewright/plan.hpp>

namespace tilewright::cli {

/// What `tilewright check` was asked for.
struct CheckRequest {
  std::optional<std::string> kernel;  // only this one
  bool list = false;                  // name the kernels, check nothing
  bool json = false;                  // one JSON object instead of text
};

/// Checks the built-in kernels and prints what was covered. Returns the exit code: 0, or 1 for a failed check. Throws
/// Error.
int check_kernels(const CheckRequest& request);

/// Runs the battery on the first GPU and prints what was covered. Returns 0 or 1. Throws Error: target without a GPU.
int check_device(bool json);

/// Checks the operator's program on the shape and the strides of these views (their elements are not read) under this
/// plan, and prints the verdict. Returns 0 or 1. Throws Error.
int check_problem(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const Plan& plan, bool json);

}  // namespace tilewright::cli
