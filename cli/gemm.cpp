// `tilewright gemm`: files in, views of them multiplied, the product verified, explained and written.
//
// Standard output is written last and at once: when anything fails before, nothing has been printed there. In order of
// execution: multiply() at the end, which calls the functions above it.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include <tilewright/cuda.hpp>
#include <tilewright/explain.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/npy.hpp>
#include <tilewright/verify.hpp>

#include "cli/check.hpp"
#include "cli/commands.hpp"
#include "cli/gpu.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "core/shown.hpp"
#include "cuda/cache.hpp"
#include "io/npy_target.hpp"
#include "verify/bound.hpp"

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

struct GemmArguments {
  std::optional<std::string> a, b, output;
  std::optional<std::string> slice_a, slice_b;
  bool transpose_a = false, transpose_b = false;
  std::optional<std::string> in_dtype, out_dtype, target, plan, cache;
  std::optional<i64> threads, workspace;
  bool verify = false, explain = false, json = false;
};

/// A file and the view of it that is multiplied.
struct Operand {
  std::string file;
  std::optional<std::string> slices;
  bool transposed;
  NpyMatrix stored;
  MatrixView view;
};

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

/// All that is known at the end.
struct Outcome {
  const GemmArguments& arguments;
  const Operand &a, &b;
  MatrixView c;
  PlanChoice choice;
  i64 threads = 0;
  double seconds = 0;
  std::optional<VerifyResult> verified;
  VerifyOptions verify_options;
  std::optional<i64> file_bytes;  // of the result, once written
  std::optional<GpuRun> gpu;      // where and how it was multiplied, if on a GPU

  bool sampled() const { return verified->checked < verified->total; }
  double flops() const {
    return 2.0 * static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(a.view.cols);
  }
  /// As an integer, where the double holds it exactly.
  std::optional<i64> exact_flops() const {
    return flops() <= 0x1p53 ? std::optional(static_cast<i64>(flops())) : std::nullopt;
  }
};

std::string operand_line(std::string_view name, const Operand& operand) {
  std::string source = operand.file;
  if (operand.slices) source += fmt::format(" [{}]", *operand.slices);
  if (operand.transposed) source += " transposed";
  return fmt::format("{:<10} {}\n{:<10} {}\n", name, to_string(operand.view), "", source);
}

/// What a verdict on very long sums does not say; nothing while the bound is a small part of |A||B|.
std::optional<std::string> long_sum_note(i64 k) {
  constexpr double worth_saying = 0.1;
  const double relative = verification::sum_error(k).relative;
  if (!(relative > worth_saying)) return std::nullopt;
  return fmt::format(
      "note: K = {} is so long a sum that the bound allows {} % of |A||B|; a split K (--plan \"split=split_k(64)\", "
      "with a --workspace) sums shorter parts",
      grouped(k), grouped(static_cast<i64>(relative * 100 + 0.5)));
}

/// What a verdict on sums beyond the result's type does not say.
std::optional<std::string> overflow_note(const Outcome& outcome) {
  const VerifyResult& result = *outcome.verified;
  if (result.overflows == 0) return std::nullopt;
  const DType type = outcome.c.type;
  const char* const wider = type == DType::f16 ? "; --out-dtype f32 or bf16 holds more" : "";
  return fmt::format("note: {} of the {} elements checked are infinite, because their sums pass the largest {}{}",
                     grouped(result.overflows), grouped(result.checked), name_of(type), wider);
}

/// All notes in one text, one after the other; nothing without any.
std::optional<std::string> notes(const Outcome& outcome) {
  std::optional<std::string> text = overflow_note(outcome);
  const std::optional<std::string> other = long_sum_note(outcome.a.view.cols);
  if (!text) return other;
  if (other) text->append(". ").append(*other);
  return text;
}

std::string verdict_lines(const Outcome& outcome) {
  const VerifyResult& result = *outcome.verified;
  std::string text = fmt::format("{:<10} {}: ", "verified", result.passed ? "PASS" : "FAIL");
  if (outcome.sampled()) {
    text += fmt::format("a random sample of {} of {} elements, seed {}\n", grouped(result.checked),
                        grouped(result.total), outcome.verify_options.seed);
  } else {
    text += fmt::format("all elements ({}), against FP64 sums\n", grouped(result.total));
  }
  if (result.checked == 0) return text;
  text += fmt::format("{:<10} largest error {:.3f} of the bound, at C[{},{}]: {:.9g}, FP64 {:.9g}\n", "", result.worst,
                      result.row, result.col, result.got, result.expected);
  if (!result.passed) text += fmt::format("{:<10} {} elements outside of the bound\n", "", grouped(result.failures));
  if (const auto note = notes(outcome)) {
    for (const std::string& line : wrap(*note, 69)) text += fmt::format("{:<10} {}\n", "", line);
  }
  return text;
}

std::string outcome_text(const Outcome& outcome) {
  std::string text = operand_line("A", outcome.a) + operand_line("B", outcome.b);
  text += fmt::format("{:<10} {}\n", "C = A*B", to_string(outcome.c));
  text += fmt::format("{:<10} {}\n", "plan", to_string(outcome.choice.plan));
  for (const std::string& line : wrap(outcome.choice.reason, 69)) text += fmt::format("{:<10} {}\n", "", line);
  if (outcome.gpu) {
    text += fmt::format("{:<10} cuda: {}\n", "target", outcome.gpu->device);
  } else {
    text += fmt::format("{:<10} cpu{}, up to {} thread{}, {} bytes of workspace\n", "target",
                        outcome.arguments.target.value_or("auto") == "auto" ? " (taken by auto)" : "", outcome.threads,
                        outcome.threads == 1 ? "" : "s", grouped(outcome.choice.workspace_bytes));
  }
  text += fmt::format("{:<10} {:.3f} ms", "time", outcome.seconds * 1e3);
  if (outcome.flops() > 0)
    text +=
        fmt::format(", {:.4g} GFLOP/s of 2*M*N*K = {} FLOP", outcome.flops() / outcome.seconds * 1e-9,
                    outcome.exact_flops() ? grouped(*outcome.exact_flops()) : fmt::format("{:.6g}", outcome.flops()));
  if (outcome.gpu) {
    text += fmt::format(
        "\n{:<10} the second run, measured once; the first took {:.3f} ms with the kernel's preparation\n{:<10} {:.3f} "
        "ms "
        "from the files to the device, {:.3f} ms back\n",
        "", outcome.gpu->first * 1e3, "copies", outcome.gpu->upload * 1e3, outcome.gpu->download * 1e3);
  } else {
    text += fmt::format("\n{:<10} one run, measured once; it includes first reads of the files\n", "");
  }
  if (outcome.verified) text += verdict_lines(outcome);
  if (outcome.file_bytes) {
    text += fmt::format("{:<10} {} ({} bytes)\n", "written", *outcome.arguments.output, grouped(*outcome.file_bytes));
  } else if (outcome.arguments.output) {
    text += fmt::format("{:<10} nothing: {} is left as it was, because the verification failed\n", "written",
                        *outcome.arguments.output);
  } else {
    text += fmt::format("{:<10} nothing: give -o FILE to keep the product\n", "written");
  }
  return text;
}

Json operand_json(const Operand& operand) {
  return {{"file", operand.file},
          {"slices", operand.slices ? Json(*operand.slices) : Json()},
          {"transposed", operand.transposed},
          {"rows", operand.view.rows},
          {"cols", operand.view.cols},
          {"type", name_of(operand.view.type)},
          {"strides", {operand.view.row_stride, operand.view.col_stride}}};
}

Json outcome_json(const Outcome& outcome) {
  Json json;
  json["a"] = operand_json(outcome.a);
  json["b"] = operand_json(outcome.b);
  json["c"] = {{"file", outcome.file_bytes ? Json(*outcome.arguments.output) : Json()},
               {"rows", outcome.c.rows},
               {"cols", outcome.c.cols},
               {"type", name_of(outcome.c.type)},
               {"strides", {outcome.c.row_stride, outcome.c.col_stride}}};
  json["target"] = outcome.gpu ? "cuda" : "cpu";
  json["plan"] = to_string(outcome.choice.plan);
  json["plan_reason"] = outcome.choice.reason;
  json["threads"] = outcome.threads;
  json["workspace_bytes"] = outcome.choice.workspace_bytes;
  json["seconds"] = outcome.seconds;
  if (outcome.gpu) {
    json["device"] = outcome.gpu->device;
    json["first_seconds"] = outcome.gpu->first;
    json["copy_seconds"] = {{"to_device", outcome.gpu->upload}, {"from_device", outcome.gpu->download}};
  }
  json["flops"] = outcome.exact_flops() ? Json(*outcome.exact_flops()) : Json(outcome.flops());
  json["gflops_per_second"] = outcome.seconds > 0 ? outcome.flops() / outcome.seconds * 1e-9 : 0;
  if (outcome.verified) {
    const VerifyResult& result = *outcome.verified;
    const auto note = notes(outcome);
    json["verify"] = {{"passed", result.passed},
                      {"checked", result.checked},
                      {"total", result.total},
                      {"sampled", outcome.sampled()},
                      {"seed", outcome.verify_options.seed},
                      {"failures", result.failures},
                      {"worst_fraction_of_bound", json_number(result.worst)},
                      {"worst_at", {result.row, result.col}},
                      {"got", json_number(result.got)},
                      {"expected", json_number(result.expected)},
                      {"note", note ? Json(*note) : Json()}};
  }
  return json;
}

void check_combination(const GemmArguments& arguments) {
  if (arguments.cache && arguments.target != "cuda")
    throw UsageError("--cache is where compiled kernels are kept; it needs --target cuda");
  if (arguments.target == "cuda") {
    for (const auto& [given, name] : {std::pair{arguments.explain, "--explain"},
                                      {arguments.threads.has_value(), "--threads"},
                                      {arguments.workspace.has_value(), "--workspace"}}) {
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

  if (arguments.target == "cuda") {
    if (const std::string why = cuda::unavailable(); !why.empty())
      throw Error(ErrorCode::target, fmt::format("the target cuda is unavailable: {}; use --target cpu", why));
  }
  Outcome outcome{arguments, a, b, c, {}, {}, {}, {}, {}, {}, {}};
  // Extents that do not fit are the same fault everywhere, and told before anything is moved to a device.
  if (arguments.target != "cuda" || a.view.cols != b.view.rows) outcome.choice = choose(a.view, b.view, c, options);
  outcome.threads = threads_for(problem_of(a.view, b.view, c), options.threads);
  if (arguments.target == "check") return check_problem(a.view, b.view, c, outcome.choice.plan, arguments.json);

  const auto start = std::chrono::steady_clock::now();
  {
    const Progress progress(fmt::format("multiplying {}x{}x{}", c.rows(), c.cols(), a.view.cols));
    if (arguments.target == "cuda") {
      outcome.gpu = multiply_on_gpu(a.view, b.view, c, options);
      outcome.choice = outcome.gpu->choice;
    } else {
      gemm_into(a.view, b.view, c, options);
    }
  }
  outcome.seconds = outcome.gpu ? outcome.gpu->compute
                                : std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

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

  add_choice(command, "--target", arguments->target, {"auto", "cpu", "cuda", "check"},
             "where to run: auto takes the cpu; cuda copies the files to the first GPU and the product back; check "
             "runs the exact checker on this very "
             "problem, layouts and plan instead of multiplying")
      ->group(how);
  add_text(
      command, "--plan", arguments->plan, "TEXT",
      "the plan, or the part of it you care about, such as 64x32x32 or \"224x256x256 order=grouped(8)\"; the rest is "
      "chosen")
      ->group(how);
  add_integer(command, "--threads", arguments->threads, 1, "N",
              "use at most N threads (default: all this process may use)")
      ->group(how);
  add_bytes(command, "--workspace", arguments->workspace,
            "memory allowed for partial sums of a split K, such as 64M (default: 0)")
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
