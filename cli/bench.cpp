// `tilewright bench`: this library and its peers, measured side by side. The work is in bench/.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>

#include "bench/environment.hpp"
#include "bench/harness.hpp"
#include "bench/peer.hpp"
#include "bench/record.hpp"
#include "bench/suite.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cpu/machine.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* bench_description =
    "Measure this library beside others.\n"
    "\n"
    "Every case of a suite is verified, then timed in turns with each library that is found: from half-precision "
    "operands to a half-precision result. docs/bench-method.md is the method.";

constexpr const char* bench_examples = R"(Examples:
  tilewright bench --suite bench/suites/cpu.csv --against openblas,onednn,blis
      All cases, on one thread and on all; ends with geometric means.
  tilewright bench --suite bench/suites/cpu.csv --list
      The cases.
  tilewright bench --suite bench/suites/cpu.csv --case sq1001,row --threads 1
      --plan "224x256x256" --json record.json
      Two cases under a plan of your own, alone; the record is kept.)";

struct BenchArguments {
  std::optional<std::string> target, suite, against, threads, plan, json, cases, seconds;
  bool list = false;
};

std::vector<std::string> words_of(std::string_view option, std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    if (words.back().empty()) throw UsageError(fmt::format("{} has an empty part", option));
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

std::vector<i64> thread_counts(const std::optional<std::string>& text) {
  if (!text) return available_threads() > 1 ? std::vector<i64>{1, available_threads()} : std::vector<i64>{1};
  std::vector<i64> counts;
  for (const std::string& word : words_of("--threads", *text)) {
    const i64 count = parse_integer("--threads", word, 1);
    if (count > cpu::most_threads)
      throw UsageError(fmt::format("--threads is {}: it must be at most {}", count, cpu::most_threads));
    if (std::find(counts.begin(), counts.end(), count) != counts.end())
      throw UsageError(fmt::format("--threads names {} twice", count));
    counts.push_back(count);
  }
  return counts;
}

double parse_seconds(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= 3600))
    throw UsageError(fmt::format("--seconds is '{}': give a number from 0 to 3600", text));
  return value;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file)
    throw Error(ErrorCode::file_open, fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)));
  return text.str();
}

/// The cases of these names, of all types.
std::vector<bench::Case> chosen_cases(std::vector<bench::Case> cases, const std::optional<std::string>& names) {
  if (!names) return cases;
  std::vector<std::string> known;
  for (const bench::Case& one : cases) known.push_back(one.name);
  const std::vector<std::string> wanted = words_of("--case", *names);
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto meant = nearest(name, known);
    throw UsageError(fmt::format("the suite has no case '{}'{}; --list names them", name,
                                 meant ? fmt::format(" (did you mean {}?)", *meant) : ""));
  }
  std::erase_if(
      cases, [&](const bench::Case& one) { return std::find(wanted.begin(), wanted.end(), one.name) == wanted.end(); });
  return cases;
}

void check_peers(const std::vector<std::string>& names) {
  const std::vector<std::string> known = bench::peer_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(known.begin(), known.end(), names[i]) == known.end())
      throw UsageError(fmt::format("--against names '{}': the peers are {}", names[i], fmt::join(known, ", ")));
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      throw UsageError(fmt::format("--against names {} twice", names[i]));
  }
}

int measure_suite(const BenchArguments& arguments) {
  const std::vector<bench::Case> cases =
      chosen_cases(bench::parse_suite(read_text(*arguments.suite), *arguments.suite), arguments.cases);
  if (arguments.list) {
    print(bench::suite_text(cases));
    return 0;
  }
  std::vector<std::string> against;
  if (arguments.against) against = words_of("--against", *arguments.against);
  check_peers(against);
  bench::HarnessOptions options;
  options.threads = thread_counts(arguments.threads);
  if (arguments.seconds) options.rounds.seconds = parse_seconds(*arguments.seconds);
  const PlanRequest plan = arguments.plan ? parse_plan(*arguments.plan) : PlanRequest{};
  if (arguments.json) bench::check_record_path(*arguments.json);

  bench::Run run;
  run.found = bench::restart_without_variables();
  run.suite = *arguments.suite;
  run.date = bench::date_now();
  run.plan = arguments.plan.value_or("");
  run.seconds = options.rounds.seconds;
  const std::unique_ptr<bench::Peer> ours = bench::this_library(plan);
  run.own_version = ours->version();
  std::vector<bench::Peer*> peers;
  for (const std::string& name : against) {
    run.peers.push_back(bench::open_peer(name));
    if (run.peers.back().peer) peers.push_back(run.peers.back().peer.get());
  }
  std::vector<bench::Outcome> outcomes;
  {
    Progress progress("measuring");
    options.progress = [&](double fraction) { progress.update(fraction); };
    constexpr double longest_spin_us = 1e5;
    options.rounds.settle = [] { measure::wait_until_idle(longest_spin_us); };
    outcomes = bench::run_suite(cases, *ours, peers, options);
  }
  if (arguments.json) {
    const UninterruptedSection section;
    bench::write_record(*arguments.json, bench::record_json(run, outcomes));
  }
  print(bench::report_text(run, outcomes));
  const bool right = std::all_of(outcomes.begin(), outcomes.end(),
                                 [](const bench::Outcome& outcome) { return outcome.entries[0].failed.empty(); });
  return right ? 0 : 1;
}

}  // namespace

Action add_bench(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("bench", bench_description)->group("Commands");
  const auto arguments = std::make_shared<BenchArguments>();
  constexpr const char *what = "What is measured", *how = "How", *out = "What comes out";
  add_text(command, "--suite", arguments->suite, "FILE.csv", "the cases; bench/suite.hpp describes the columns")
      ->required()
      ->group(what);
  add_text(command, "--case", arguments->cases, "NAMES", "only these cases, with commas between (default: all)")
      ->group(what);
  add_text(command, "--against", arguments->against, "PEERS",
           "libraries to measure beside this one, with commas between: openblas, onednn, blis. They are opened if they "
           "are there; absent ones are named and left out")
      ->group(what);
  add_choice(command, "--target", arguments->target, {"cpu"}, "where to run (default: cpu)")->group(how);
  add_text(command, "--threads", arguments->threads, "LIST",
           "numbers of threads, with commas between (default: 1 and all this process may use)")
      ->group(how);
  add_text(command, "--plan", arguments->plan, "TEXT",
           "the plan for all cases, or a part of it, such as 64x32x32; the rest is chosen")
      ->group(how);
  add_text(command, "--seconds", arguments->seconds, "S",
           "add rounds for S seconds a case (default: 2); there are 6 at least")
      ->group(how);
  add_text(command, "--json", arguments->json, "FILE", "write the record to this file, whole or not at all")
      ->group(out);
  command.add_flag("--list", arguments->list, "print the cases, and measure nothing")->group(out);
  command.footer(bench_examples);
  return [arguments] { return measure_suite(*arguments); };
}

}  // namespace tilewright::cli
