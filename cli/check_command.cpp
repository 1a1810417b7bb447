// `tilewright check`: the options; check.hpp has what it does.
#include <memory>
#include <optional>
#include <string>

#include "cli/check.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* check_description =
    "Prove the built-in kernels right, exactly.\n"
    "\n"
    "Runs them on many shapes and layouts with random elements of a prime field, where nothing is rounded, so that any "
    "index counted twice, missed or taken from the wrong place shows, and watches every load and store.";

constexpr const char* check_examples = R"(Examples:
  tilewright check
      All kernels; says what was covered.
  tilewright check --list
      The kernels' names.
  tilewright check --kernel gemm
      One of them.
  tilewright check --target cuda
      The operator's own plans on a GPU.
  tilewright gemm a.npy b.npy --target check --plan 64x32x32
      The shape, the layouts and the plan of one multiplication.

Exit codes: 0 all right, 1 a kernel failed, 2 wrong use.)";

}  // namespace

Action add_check(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("check", check_description)->group("Commands");
  const auto request = std::make_shared<CheckRequest>();
  add_text(command, "--kernel", request->kernel, "NAME", "check only this kernel");
  const auto target = std::make_shared<std::optional<std::string>>();
  add_choice(command, "--target", *target, {"check", "cuda"},
             "check (the default): the exact checker; cuda: the operator's kernels on the first GPU, with small whole "
             "numbers, bit for bit");
  command.add_flag("--list", request->list, "name the kernels and check nothing");
  command.add_flag("--json", request->json, "print one JSON object instead of text");
  command.footer(check_examples);
  return [request, target] {
    if (*target != "cuda") return check_kernels(*request);
    if (request->kernel || request->list)
      throw UsageError("--target cuda checks the operator's kernels, so it goes without --kernel and --list");
    return check_device(request->json);
  };
}

}  // namespace tilewright::cli
