// The commands of `tilewright`. Each adds itself to the parser, and returns what to do when it was chosen.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace tilewright::cli {

/// Carries a command out and returns the exit code: 0, or 1 for a failed check. Throws Error or UsageError.
using Action = std::function<int()>;

Action add_gemm(CLI::App& app);
Action add_explain(CLI::App& app);
Action add_plans(CLI::App& app);
Action add_check(CLI::App& app);
Action add_bench(CLI::App& app);
Action add_info(CLI::App& app);

}  // namespace tilewright::cli
