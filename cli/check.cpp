// The exact checker from the command line; see check.hpp.
#include "cli/check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <tilewright/cuda.hpp>
#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>
#include "check/device_battery.hpp"
#include "check/problem.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cuda/device.hpp"

namespace tilewright::cli {
namespace {

constexpr exact::u64 seed = 1;

std::string kernel_names() {
  std::string names;
  for (const exact::BuiltinKernel& kernel : exact::builtin_kernels())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kernel.name);
  return names;
}

bool known(std::string_view name) {
  for (const exact::BuiltinKernel& kernel : exact::builtin_kernels()) {
    if (kernel.name == name) return true;
  }
  return false;
}

int list_kernels(bool json) {
  Json list = Json::array();
  std::string text;
  for (const exact::BuiltinKernel& kernel : exact::builtin_kernels()) {
    list.push_back({{"name", kernel.name}, {"what", kernel.what}});
    text += fmt::format("{:<18}{}\n", kernel.name, kernel.what);
  }
  print(json ? json_line(list) : text);
  return 0;
}

std::string layout_text(const exact::LayoutChoice& layout) {
  return fmt::format("a {}, b {}, c {}", exact::name_of(layout.a), exact::name_of(layout.b), exact::name_of(layout.c));
}

/// Lines of at most 80 columns: the first with one indent, those wrapped from it with another.
std::string indented(std::string_view text, std::size_t indent, std::size_t further) {
  std::string out;
  std::size_t blanks = indent;
  for (const std::string& line : wrap(text, 80 - further)) {
    out += fmt::format("{}{}\n", std::string(blanks, ' '), line);
    blanks = further;
  }
  return out;
}

/// Faults, one after the other.
std::string faults_text(std::string_view report) {
  std::string text;
  while (!report.empty()) {
    const std::size_t end = std::min(report.find('\n'), report.size());
    text += indented(report.substr(0, end), 2, 4);
    report.remove_prefix(std::min(end + 1, report.size()));
  }
  return text;
}

/// The result of a battery, of the exact checker or of a device.
std::string failures_text(const auto& result) {
  std::string text;
  for (const exact::BatteryFailure& failure : result.failures) {
    text += '\n' + indented(fmt::format("FAILED  {} on {}x{}x{}, {}{}", failure.kernel, failure.shape.m,
                                        failure.shape.n, failure.shape.k, layout_text(failure.layout),
                                        failure.count == 1   ? ""
                                        : failure.count == 2 ? "; another check of it says the same"
                                                             : fmt::format("; {} other checks of it say the same",
                                                                           grouped(failure.count - 1))),
                            0, 2);
    text += faults_text(failure.text);
  }
  const i64 untold = result.different_failures - static_cast<i64>(result.failures.size());
  if (untold > 0) text += fmt::format("\nand {} more that say something else\n", grouped(untold));
  return text;
}

Json failures_json(const std::vector<exact::BatteryFailure>& failures) {
  Json list = Json::array();
  for (const exact::BatteryFailure& failure : failures) {
    list.push_back(
        {{"kernel", failure.kernel},
         {"shape", {failure.shape.m, failure.shape.n, failure.shape.k}},
         {"layouts",
          {exact::name_of(failure.layout.a), exact::name_of(failure.layout.b), exact::name_of(failure.layout.c)}},
         {"checks", failure.count},
         {"text", failure.text}});
  }
  return list;
}

void print_text(const exact::BatteryResult& result, const std::vector<exact::WorkedExample>& examples, bool passed) {
  std::string layouts;
  for (const exact::Layout layout : exact::layouts)
    layouts += fmt::format("{}{}",
                           layouts.empty()                                                  ? ""
                           : layouts.size() > 45 && layouts.find('\n') == std::string::npos ? ";\n               "
                                                                                            : "; ",
                           exact::name_of(layout));
  std::string text = fmt::format(
      "Exact check over GF(2^61 - 1)\n"
      "  kernels      {} (tilewright check --list)\n"
      "  shapes       {}, around the tiles' boundaries, ones, primes, 130x70x65\n"
      "  layouts      {} for each operand:\n"
      "               {}\n"
      "  checks       {}, {} failed\n"
      "  covered      {} programs, {} outputs,\n"
      "               {} partial sums after a K step\n",
      result.kernels, result.shapes, result.layouts, layouts, grouped(result.checks), grouped(result.failed),
      grouped(result.programs), grouped(result.outputs), grouped(result.partial_sums));
  text += failures_text(result);
  if (!examples.empty()) {
    text += "\nWorked examples\n";
    for (const exact::WorkedExample& example : examples) {
      text += fmt::format("  {}  {}{}\n", example.passed ? "ok" : "NO", example.claim,
                          example.passed ? "" : fmt::format(" (got {})", example.got));
    }
  }
  text += fmt::format("\n{}\n", passed ? "PASS: every load, every store and every sum is what it should be." : "FAIL");
  print(text);
}

void print_json(const exact::BatteryResult& result, const std::vector<exact::WorkedExample>& examples, bool passed) {
  Json worked = Json::array();
  for (const exact::WorkedExample& example : examples) {
    worked.push_back({{"claim", example.claim}, {"got", example.got}, {"passed", example.passed}});
  }
  const Json object = {{"passed", passed},
                       {"kernels", result.kernels},
                       {"shapes", result.shapes},
                       {"layouts_per_operand", result.layouts},
                       {"checks", result.checks},
                       {"failed", result.failed},
                       {"programs", result.programs},
                       {"outputs", result.outputs},
                       {"partial_sums", result.partial_sums},
                       {"different_failures", result.different_failures},
                       {"failures", failures_json(result.failures)},
                       {"worked_examples", worked}};
  print(json_line(object));
}

}  // namespace

int check_kernels(const CheckRequest& request) {
  if (request.list) return list_kernels(request.json);
  if (request.kernel && !known(*request.kernel)) {
    throw Error(ErrorCode::problem,
                fmt::format("there is no kernel '{}'; the built-in ones are {}", *request.kernel, kernel_names()));
  }
  exact::BatteryResult result;
  {
    Progress progress("checking");
    result = exact::run_battery(request.kernel.value_or(""), seed, available_threads(),
                                [&](double done) { progress.update(done); });
  }
  std::vector<exact::WorkedExample> examples;
  if (!request.kernel) examples = exact::worked_examples();
  bool passed = result.failed == 0;
  for (const exact::WorkedExample& example : examples) passed = passed && example.passed;
  request.json ? print_json(result, examples, passed) : print_text(result, examples, passed);
  return passed ? 0 : 1;
}

int check_device(bool json) {
  constexpr int device = 0;
  if (const std::string why = cuda::unavailable(); !why.empty())
    throw Error(ErrorCode::target, fmt::format("the target cuda is unavailable: {}", why));
  const std::string& name = cuda::describe(device).name;
  exact::DeviceBattery result;
  {
    Progress progress("checking");
    result = exact::run_device_battery(device, [&](double done) { progress.update(done); });
  }
  const bool passed = result.failed == 0;
  if (json) {
    print(json_line({{"target", "cuda"},
                     {"device", name},
                     {"passed", passed},
                     {"shapes", result.shapes},
                     {"layouts_per_operand", result.layouts},
                     {"checks", result.checks},
                     {"failed", result.failed},
                     {"outputs", result.outputs},
                     {"different_failures", result.different_failures},
                     {"failures", failures_json(result.failures)}}));
    return passed ? 0 : 1;
  }
  std::string text = fmt::format(
      "Exact check of default plans on {}\n"
      "  shapes       {}, around the tiles' boundaries, ones, primes, 130x70x65\n"
      "  layouts      {} for each operand, element types in turn\n"
      "  checks       {}, {} failed: small whole numbers, all bits of the outputs'\n"
      "               memory compared\n"
      "  covered      {} outputs\n",
      name, result.shapes, result.layouts, grouped(result.checks), grouped(result.failed), grouped(result.outputs));
  print(text + failures_text(result) + fmt::format("\n{}\n", passed ? "PASS" : "FAIL"));
  return passed ? 0 : 1;
}

int check_problem(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const Plan& plan, bool json) {
  const exact::Report report = exact::check_problem(a, b, c, plan, seed);
  if (json) {
    Json faults = Json::array();
    for (const exact::Fault& fault : report.faults)
      faults.push_back({{"kind", exact::words(fault.kind)}, {"message", fault.message}});
    const Json object = {{"target", "check"},
                         {"passed", report.passed()},
                         {"m", c.rows},
                         {"n", c.cols},
                         {"k", a.cols},
                         {"plan", to_string(plan)},
                         {"programs", report.programs},
                         {"loads", report.loads},
                         {"stores", report.stores},
                         {"outputs", report.outputs},
                         {"partial_sums", report.partial_sums},
                         {"faults", faults}};
    print(json_line(object));
  } else {
    std::string text = fmt::format("Exact check of {}x{}x{} over GF(2^61 - 1)\n", c.rows, c.cols, a.cols);
    const auto line = [&](std::string_view name, const std::string& value) {
      text += indented(fmt::format("{:<9} {}", name, value), 2, 12);
    };
    line("plan", to_string(plan));
    line("a", to_string(a));
    line("b", to_string(b));
    line("c", to_string(c));
    line("covered", fmt::format("{} program{}, {} loads, {} stores, {} outputs, {} partial sums",
                                grouped(report.programs), report.programs == 1 ? "" : "s", grouped(report.loads),
                                grouped(report.stores), grouped(report.outputs), grouped(report.partial_sums)));
    if (!report.passed()) text += faults_text(report.text());
    text += report.passed() ? "PASS: the program's addresses and sums are exact (element values were not used).\n"
                            : "FAIL\n";
    print(text);
  }
  return report.passed() ? 0 : 1;
}

}  // namespace tilewright::cli
