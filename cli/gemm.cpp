// `tilewright gemm`: files in, views of them multiplied, the product verified, explained and written.
//
// Standard output is written last and at once: when anything fails before, nothing has been printed there. In order of
// execution: multiply() at the end, which calls the functions above it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include <tilewright/cuda.hpp>
#include <tilewright/explain.hpp>
#include <tilewright/gemm.hpp>

#include "cli/check.hpp"
#include "cli/commands.hpp"
#include "cli/gemm_outcome.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "core/shown.hpp"
#include "cuda/cache.hpp"
#include "io/npy_target.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* gemm_description =
    "Multiply two matrices stored in .npy files.\n"
    "\n"
    "C = A*B, for any shapes that fit and any part of the files, without copying them. Inputs are f16, bf16 or f32 "
    "(both the same), sums are FP32, the result is rounded once.";

constexpr const char* gemm_examples = R"(Examples:
  tilewright gemm a.npy b.npy -o c.npy
      C = A*B, written to c.npy with the inputs' element type.
  tilewright gemm x.npy x.npy --tb -o gram.npy --verify
      The Gram matrix X * X^T; every element is checked against FP64.
  tilewright gemm a.npy b.npy --slice-a "0:100,::2" --slice-b ":50" --explain
      Rows 0..99 and every second column of A, the first 50 rows of B; says
      which program computes what, and where its data lies.
  tilewright gemm w.npy x.npy --in-dtype bf16 --out-dtype f32 -o y.npy
      bfloat16 files, which NumPy saves as two-byte void ('<V2').

Exit codes: 0 success, 1 a check or verification failed, 2 wrong use or input.)";

Operand open_operand(const std::string& file, std::string_view slice_option, const std::optional<std::string>& slices,
                     bool transposed, const std::optional<std::string>& in_dtype) {
  Operand operand{file, slices, transposed, read_npy(file, {.void2_as_bf16 = in_dtype == "bf16"}), {}};
  operand.view = operand.stored.view();
  if (operand.view.type == DType::f64)
    throw Error(
        ErrorCode::unsupported_type,
        fmt::format("{} holds f64 elements, which are not multiplied: convert it in NumPy with .astype('float32') "
                    "or .astype('float16') and save it again",
                    core::shown_file(file)));
  if (in_dtype && *in_dtype != name_of(operand.view.type))
    throw Error(ErrorCode::input_types,
                fmt::format("{} holds {} elements, but --in-dtype says {}: leave the option out",
                            core::shown_file(file), name_of(operand.view.type), *in_dtype));
  if (slices) {
    try {
      operand.view = operand.view.slice(parse_slices(*slices));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{} of {}: {}", slice_option, core::shown_file(file), error.what()));
    }
  }
  if (transposed) operand.view = operand.view.transposed();
  return operand;
}

/// Refuses a result that could not be written, before time is spent on computing it.
void check_output_path(const std::filesystem::path& path) {
  std::error_code none;
  const auto refuse = [&](std::string_view reason) {
    throw Error(ErrorCode::file_open, fmt::format("cannot write {}: {}", core::shown_file(path.string()), reason));
  };
  const auto status = std::filesystem::status(path, none);
  if (std::filesystem::is_directory(status) || !path.has_filename())
    refuse("it is a folder: give -o a file name, such as c.npy in that folder");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    refuse("it is not a regular file, and -o would replace it by one: give -o another name");
  const std::filesystem::path file = io::behind_links(path);
  if (std::filesystem::exists(status) && !io::may_replace(file))
    refuse(fmt::format("it is read-only ({}): make it writable, or give -o another name",
                       std::generic_category().message(errno)));
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const std::string shown = core::shown_file(folder.string());
  if (!std::filesystem::is_directory(folder, none))
    refuse(fmt::format("the folder {} does not exist: create it, or give -o another name", shown));
  if (access(folder.c_str(), W_OK) != 0)
    refuse(fmt::format("its folder {} cannot be written to ({}): give -o another name", shown,
                       std::generic_category().message(errno)));
}

OperandStrides strides_of(const MatrixView& a, const MatrixView& b, const MatrixView& c) {
  return {a.row_stride, a.col_stride, b.row_stride, b.col_stride, c.row_stride, c.col_stride};
}

/// The library's choice; where the extents do not fit, with what the command has to make them fit.
PlanChoice choose(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const GemmOptions& options) {
  try {
    return plan_for(a, b, c, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::inner_extents) throw;
    throw Error(
        error.code(),
        fmt::format("{}; --ta and --tb transpose a file, --slice-a and --slice-b take a part of it", error.what()));
  }
}

void check_combination(const GemmArguments& arguments) {
  if (arguments.cache && arguments.target != "cuda")
    throw UsageError("--cache is where compiled kernels are kept; it needs --target cuda");
  if (arguments.target == "cuda") {
    for (const auto& [given, name] :
         {std::pair{arguments.explain, "--explain"}, {arguments.threads.has_value(), "--threads"}}) {
      if (given) throw UsageError(fmt::format("{} speaks of the target cpu; leave it out with --target cuda", name));
    }
  }
  if (arguments.target != "check") return;
  for (const auto& [given, name] : {std::pair{arguments.output.has_value(), "-o"},
                                    {arguments.verify, "--verify"},
                                    {arguments.explain, "--explain"}}) {
    if (given)
      throw UsageError(
          fmt::format("--target check proves the addresses and computes no product, so it goes without {}", name));
  }
}

void take_cpu(Outcome& outcome, const MutableMatrixView& c, const GemmOptions& options) {
  outcome.choice = choose(outcome.a.view, outcome.b.view, c, options);
  const Plan& plan = outcome.choice.plan;
  outcome.programs = cdiv(c.rows, plan.tile.m) * cdiv(c.cols, plan.tile.n) * plan.split.parts;
  outcome.threads =
      std::clamp<i64>(outcome.programs, 1, threads_for(problem_of(outcome.a.view, outcome.b.view, c), options.threads));
  const auto start = std::chrono::steady_clock::now();
  gemm_into(outcome.a.view, outcome.b.view, c, options);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Multiplies on a GPU and notes what it took there.
void take_gpu(Outcome& outcome, const MutableMatrixView& c, const GemmOptions& options) {
  outcome.gpu = multiply_on_gpu(outcome.a.view, outcome.b.view, c, options);
  outcome.choice = outcome.gpu->choice;
  outcome.seconds = outcome.gpu->compute;
}

/// Under auto: on a GPU if there is one that can, and otherwise why not.
void try_gpu(Outcome& outcome, const MutableMatrixView& c, const GemmOptions& options) {
  outcome.why_taken = outcome.arguments.explain ? "--explain speaks of the cpu" : gpu_unsuited(options);
  if (!outcome.why_taken.empty()) return;
  try {
    take_gpu(outcome, c, options);
    outcome.why_taken = "a GPU is here; --target cpu multiplies without it";
  } catch (const Error& error) {  // too little memory, a plan that is the cpu's, a kernel that cannot be compiled
    outcome.why_taken = fmt::format("the GPU does not do it ({})", error.what());
  }
}

int multiply(const GemmArguments& arguments) {
  check_combination(arguments);
  if (arguments.output) check_output_path(*arguments.output);
  if (arguments.cache) cuda::set_cache_folder(*arguments.cache);
  GemmOptions options;
  if (arguments.plan) options.plan = parse_plan(*arguments.plan);
  options.threads = arguments.threads.value_or(0);
  options.workspace_bytes = arguments.workspace.value_or(0);
  const Operand a =
      open_operand(*arguments.a, "--slice-a", arguments.slice_a, arguments.transpose_a, arguments.in_dtype);
  const Operand b =
      open_operand(*arguments.b, "--slice-b", arguments.slice_b, arguments.transpose_b, arguments.in_dtype);
  const DType type = arguments.out_dtype ? *parse_dtype(*arguments.out_dtype) : a.view.type;
  Matrix c(a.view.rows, b.view.cols, type);

  const std::string target = arguments.target.value_or("auto");
  if (target == "cuda") {
    if (const std::string why = cuda::unavailable(); !why.empty())
      throw Error(ErrorCode::target, fmt::format("the target cuda is unavailable: {}; use --target cpu", why));
  }
  Outcome outcome{arguments, a, b, c, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  // Extents that do not fit are the same fault everywhere, and told before anything is moved to a device.
  if (target == "check" || a.view.cols != b.view.rows) outcome.choice = choose(a.view, b.view, c, options);
  if (target == "check") return check_problem(a.view, b.view, c, outcome.choice.plan, arguments.json);

  {
    const Progress progress(fmt::format("multiplying {}x{}x{}", c.rows(), c.cols(), a.view.cols));
    if (target == "cuda") take_gpu(outcome, c, options);
    if (target == "auto") try_gpu(outcome, c, options);
    if (!outcome.gpu) take_cpu(outcome, c, options);
  }

  if (arguments.verify) {
    Progress progress("verifying");
    outcome.verify_options.threads = options.threads;
    outcome.verify_options.mma = outcome.choice.plan.mma;
    outcome.verify_options.progress = [&](double fraction) { progress.update(fraction); };
    outcome.verified = verify(a.view, b.view, outcome.c, outcome.verify_options);
  }
  const bool right = !outcome.verified || outcome.verified->passed;
  if (arguments.output && right) {
    const Progress progress(fmt::format("writing {}", core::shown(*arguments.output)));
    const UninterruptedSection section;
    write_npy(*arguments.output, outcome.c);
    outcome.file_bytes = static_cast<i64>(std::filesystem::file_size(*arguments.output));
  }

  const auto explained = [&](auto explain) {
    return explain(problem_of(a.view, b.view, outcome.c), strides_of(a.view, b.view, outcome.c), outcome.choice,
                   this_cpu(), ExplainFocus{});
  };
  if (arguments.json) {
    Json json = outcome_json(outcome);
    if (arguments.explain) json["explain"] = Json::parse(explained(explain_json));
    print(json_line(json));
  } else {
    print((arguments.explain ? explained(explain_text) + '\n' : "") + outcome_text(outcome));
  }
  return right ? 0 : 1;
}

}  // namespace

Action add_gemm(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("gemm", gemm_description)->group("Commands");
  const auto arguments = std::make_shared<GemmArguments>();
  add_text(command, "A", arguments->a, "", "the left matrix, an .npy file; it is mapped, never copied")->required();
  add_text(command, "B", arguments->b, "", "the right matrix, an .npy file")->required();

  constexpr const char *what = "What is multiplied", *how = "How", *out = "What comes out";
  add_text(
      command, "--slice-a", arguments->slice_a, "SLICES",
      "the part of A to use, as NumPy writes it: rows, then columns, each start:stop:step with every part optional, "
      "such as \"0:100,::2\" or \"::-1\"")
      ->group(what);
  add_text(command, "--slice-b", arguments->slice_b, "SLICES", "the part of B to use")->group(what);
  command.add_flag("--ta", arguments->transpose_a, "transpose A, after slicing")->group(what);
  command.add_flag("--tb", arguments->transpose_b, "transpose B, after slicing")->group(what);
  add_choice(command, "--in-dtype", arguments->in_dtype, {"f16", "bf16", "f32"},
             "the inputs' element type; needed for bf16 alone, which .npy files store as two-byte void")
      ->group(what);

  add_choice(
      command, "--target", arguments->target, {"auto", "cpu", "cuda", "check"},
      "where to run: auto takes a GPU if there is one, else the cpu, and says which and why; cuda copies the files "
      "to the first GPU and the product back, in pieces; check runs the exact checker on this very "
      "problem, layouts and plan instead of multiplying")
      ->group(how);
  add_text(
      command, "--plan", arguments->plan, "TEXT",
      "the plan, or the part of it you care about, such as 64x32x32 or \"224x256x256 order=grouped(8)\"; the rest is "
      "chosen")
      ->group(how);
  add_threads(command, arguments->threads, "use at most N threads (default: all this process may use)")->group(how);
  add_bytes(command, "--workspace", arguments->workspace,
            "memory allowed for partial sums of a split K, or on a GPU for copies of operands, such as 64M (default: "
            "0)")
      ->group(how);

  add_text(command, "--cache", arguments->cache, "FOLDER",
           "keep compiled GPU kernels there (default: TILEWRIGHT_CACHE, else tilewright in the user's cache folder)")
      ->group(how);

  add_text(command, "-o,--output", arguments->output, "FILE",
           "write C to this .npy file; it appears whole or not at all, and may be one of the inputs")
      ->group(out);
  add_choice(command, "--out-dtype", arguments->out_dtype, {"f16", "bf16", "f32"},
             "C's element type (default: the inputs')")
      ->group(out);
  command
      .add_flag("--verify", arguments->verify,
                "recompute in FP64 and report the largest error as a fraction of the bound: all elements up to 2^32 "
                "products, "
                "a random sample of that much work beyond; if it fails, nothing is written")
      ->group(out);
  command.add_flag("--explain", arguments->explain, "explain the path of the data as well (see tilewright explain)")
      ->group(out);
  command.add_flag("--json", arguments->json, "print one JSON object instead of text")->group(out);
  command.footer(gemm_examples);
  return [arguments] { return multiply(*arguments); };
}

}  // namespace tilewright::cli
