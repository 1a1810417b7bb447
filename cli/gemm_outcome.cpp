#include "cli/gemm_outcome.hpp"

#include <fmt/format.h>

#include "verify/bound.hpp"

namespace tilewright::cli {
namespace {

std::string operand_line(std::string_view name, const Operand& operand) {
  std::string source = operand.file;
  if (operand.slices) source += fmt::format(" [{}]", *operand.slices);
  if (operand.transposed) source += " transposed";
  return fmt::format("{:<10} {}\n{:<10} {}\n", name, to_string(operand.view), "", source);
}

/// What a verdict on very long sums does not say; nothing while the bound is a small part of |A||B|.
std::optional<std::string> long_sum_note(i64 k, bool on_gpu) {
  constexpr double worth_saying = 0.1;
  const double relative = verification::sum_error(k).relative;
  if (!(relative > worth_saying)) return std::nullopt;
  return fmt::format(
      "note: K = {} is so long a sum that the bound allows {} % of |A||B|; a split K (--plan {}) sums shorter parts",
      grouped(k), grouped(static_cast<i64>(relative * 100 + 0.5)),
      on_gpu ? "\"split=cluster(16)\"" : "\"split=split_k(64)\", with a --workspace");
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
  const std::optional<std::string> other = long_sum_note(outcome.a.view.cols, outcome.gpu.has_value());
  if (!text) return other;
  if (other) text->append(". ").append(*other);
  return text;
}

/// Why not as many threads as were asked for, and what more of them than processors are worth.
std::optional<std::string> threads_note(const Outcome& outcome) {
  std::string text;
  const i64 asked = outcome.arguments.threads.value_or(0), processors = this_cpu().cores;
  if (asked > outcome.threads) {
    text = fmt::format("{} threads were asked for; ", grouped(asked));
    text += outcome.threads == outcome.programs ? "there are no more programs than these"
            : outcome.programs == 0             ? "there is nothing to do"
                                                : "a product this small is one thread's";
  }
  if (outcome.threads > processors) {
    if (!text.empty()) text += ". ";
    text += fmt::format("This process may use {} processor{}, which the threads share", grouped(processors),
                        processors == 1 ? "" : "s");
  }
  return text.empty() ? std::nullopt : std::optional(text);
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

}  // namespace

std::string outcome_text(const Outcome& outcome) {
  std::string text = operand_line("A", outcome.a) + operand_line("B", outcome.b);
  text += fmt::format("{:<10} {}\n", "C = A*B", to_string(outcome.c));
  std::string_view name = "plan";
  for (const std::string& line : wrap(to_string(outcome.choice.plan), 69)) {
    text += fmt::format("{:<10} {}\n", name, line);
    name = "";
  }
  for (const std::string& line : wrap(outcome.choice.reason, 69)) text += fmt::format("{:<10} {}\n", "", line);
  if (outcome.gpu) {
    text += fmt::format("{:<10} cuda: {}\n", "target", outcome.gpu->device);
  } else {
    text += fmt::format("{:<10} cpu, {} thread{}, {} bytes of workspace\n", "target", grouped(outcome.threads),
                        outcome.threads == 1 ? "" : "s", grouped(outcome.choice.workspace_bytes));
    if (const auto note = threads_note(outcome)) {
      for (const std::string& line : wrap(*note, 69)) text += fmt::format("{:<10} {}\n", "", line);
    }
  }
  if (!outcome.why_taken.empty()) {
    for (const std::string& line : wrap("taken by auto: " + outcome.why_taken, 69))
      text += fmt::format("{:<10} {}\n", "", line);
  }
  text += fmt::format("{:<10} {:.3f} ms", "time", outcome.seconds * 1e3);
  if (outcome.flops() > 0)
    text +=
        fmt::format(", {:.4g} GFLOP/s of 2*M*N*K = {} FLOP", outcome.flops() / outcome.seconds * 1e-9,
                    outcome.exact_flops() ? grouped(*outcome.exact_flops()) : fmt::format("{:.6g}", outcome.flops()));
  if (outcome.gpu) {
    const GpuRun& gpu = *outcome.gpu;
    const auto rate = [](i64 bytes, double seconds) {
      return seconds > 0 ? fmt::format("{:.3g} GB/s", static_cast<double>(bytes) / seconds * 1e-9) : "no time";
    };
    text += fmt::format("\n{:<10} the second run, measured once; the first took {:.3f} ms, with the\n", "",
                        gpu.first * 1e3);
    text += fmt::format("{:<10} preparation of the kernel\n", "");
    text += fmt::format("{:<10} {:.3f} ms from the files to the device\n", "copies", gpu.upload * 1e3);
    text += fmt::format("{:<10} ({} bytes, {})\n", "", grouped(gpu.upload_bytes), rate(gpu.upload_bytes, gpu.upload));
    text += fmt::format("{:<10} {:.3f} ms back ({} bytes, {})\n", "", gpu.download * 1e3, grouped(gpu.download_bytes),
                        rate(gpu.download_bytes, gpu.download));
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

namespace {

Json operand_json(const Operand& operand) {
  return {{"file", operand.file},
          {"slices", operand.slices ? Json(*operand.slices) : Json()},
          {"transposed", operand.transposed},
          {"rows", operand.view.rows},
          {"cols", operand.view.cols},
          {"type", name_of(operand.view.type)},
          {"strides", {operand.view.row_stride, operand.view.col_stride}}};
}

}  // namespace

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
  json["target_reason"] = outcome.why_taken.empty() ? Json() : Json(outcome.why_taken);
  json["plan"] = to_string(outcome.choice.plan);
  json["plan_reason"] = outcome.choice.reason;
  json["threads"] = outcome.gpu ? Json() : Json(outcome.threads);
  json["threads_asked"] = outcome.arguments.threads ? Json(*outcome.arguments.threads) : Json();
  json["processors"] = this_cpu().cores;
  json["workspace_bytes"] = outcome.choice.workspace_bytes;
  json["seconds"] = outcome.seconds;
  if (outcome.gpu) {
    json["device"] = outcome.gpu->device;
    json["first_seconds"] = outcome.gpu->first;
    json["copy_seconds"] = {{"to_device", outcome.gpu->upload}, {"from_device", outcome.gpu->download}};
    json["copy_bytes"] = {{"to_device", outcome.gpu->upload_bytes}, {"from_device", outcome.gpu->download_bytes}};
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

}  // namespace tilewright::cli
