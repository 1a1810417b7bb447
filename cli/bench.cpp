// `tilewright bench`: this library and its peers, measured side by side. The work is in bench/.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tilewright/gemm.hpp>

#include "bench/environment.hpp"
#include "bench/html.hpp"
#include "bench/merge.hpp"
#include "bench/peer.hpp"
#include "bench/record.hpp"
#include "bench/sweep.hpp"
#include "cli/commands.hpp"
#include "cli/measuring.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cpu/machine.hpp"
#include "cuda/cache.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* bench_description =
    "Measure this library beside others.\n"
    "\n"
    "Every case of a suite is verified, then timed in turns with each library that is found: from half-precision "
    "operands to a half-precision result. docs/bench-method.md is the method.";

constexpr double gpu_seconds = 1;  // of rounds for each case

constexpr const char* bench_examples = R"(Examples:
  tilewright bench --suite bench/suites/cpu.csv --against openblas,onednn,blis
      All cases, on one thread and on all; ends with geometric means.
  tilewright bench --suite bench/suites/cpu.csv --list
      The cases.
  tilewright bench --target cuda --suite bench/suites/gpu.csv
      --against cublas,cublaslt,pad --json record.json
      On the first GPU, beside NVIDIA's libraries.
  tilewright bench --merge record.json triton.json --html page.html
      What bench/triton_peer.py measured joined to it, as a page.
  tilewright bench --target cuda --suite bench/suites/layout-sweep.csv
      --against cublaslt,pad --seconds 0.1 --case 'ls4096_nn_*'
      --json record.json --sweep nn.svg
      What odd leading dimensions cost, as a picture.
  tilewright bench --suite bench/suites/cpu.csv --case sq1001,row --threads 1
      --plan "224x256x256" --json record.json
      Two cases under a plan of your own, alone; the record is kept.)";

struct BenchArguments {
  std::optional<std::string> target, suite, against, threads, plan, json, html, sweep, cases, seconds, cache,
      first_call;
  std::vector<std::string> merge;
  bool list = false, host = false, cold = false;

  bool on_gpu() const { return target == "cuda"; }
};

void check_target(const BenchArguments& arguments) {
  if (arguments.on_gpu()) {
    if (arguments.threads) throw UsageError("--threads speaks of the target cpu; leave it out with --target cuda");
    if (arguments.cold && (arguments.html || arguments.sweep || arguments.host || arguments.seconds))
      throw UsageError("--cold measures first calls alone: leave out --html, --sweep, --host and --seconds");
    return;
  }
  if (arguments.cache) throw UsageError("--cache is where compiled kernels are kept; it needs --target cuda");
  if (arguments.host) throw UsageError("--host measures calls that a GPU carries out; it needs --target cuda");
  if (arguments.cold || arguments.first_call)
    throw UsageError("--cold measures the first call on a GPU; it needs --target cuda");
}

std::vector<i64> thread_counts(const std::optional<std::string>& text) {
  if (!text) return available_threads() > 1 ? std::vector<i64>{1, available_threads()} : std::vector<i64>{1};
  std::vector<i64> counts;
  for (const std::string& word : words_of("--threads", *text)) {
    const i64 count = parse_threads(word);
    if (std::find(counts.begin(), counts.end(), count) != counts.end())
      throw UsageError(fmt::format("--threads names {} twice", count));
    counts.push_back(count);
  }
  return counts;
}

/// "64x32x32|128x128x64 w8": the plans, or the planner's own if none is asked for.
std::vector<bench::AskedPlan> asked_plans(const std::optional<std::string>& text) {
  std::vector<bench::AskedPlan> plans;
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (text) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    std::string one(rest.substr(0, bar));
    one.erase(0, std::min(one.find_first_not_of(' '), one.size()));
    one.erase(one.find_last_not_of(' ') + 1);
    plans.push_back({one, parse_plan(one)});
    if (bar == rest.size()) return plans;
    rest.remove_prefix(bar + 1);
  }
  return {{"", {}}};
}

void check_peers(const std::vector<std::string>& names, const std::string& target) {
  const std::vector<std::string> known = bench::peer_names(target);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(known.begin(), known.end(), names[i]) == known.end())
      throw UsageError(fmt::format("--against names '{}': the peers are {}{}", names[i], fmt::join(known, ", "),
                                   target == "cuda" ? " with --target cuda" : ""));
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      throw UsageError(fmt::format("--against names {} twice", names[i]));
  }
}

/// Where results go is made sure of before time is spent.
void check_outputs(const BenchArguments& arguments) {
  std::vector<std::filesystem::path> taken;
  if (arguments.suite) taken.emplace_back(*arguments.suite);
  taken.insert(taken.end(), arguments.merge.begin(), arguments.merge.end());
  for (const std::optional<std::string>* path : {&arguments.json, &arguments.html, &arguments.sweep}) {
    if (!*path) continue;
    bench::check_record_path(**path, taken);
    taken.emplace_back(**path);
  }
}

void write_outputs(const BenchArguments& arguments, const std::string& record) {
  if (arguments.json) write_file(*arguments.json, record);
  if (arguments.html) write_file(*arguments.html, bench::html_page(record, "the record"));
  if (arguments.sweep) write_file(*arguments.sweep, bench::sweep_picture(record, "the record"));
}

int merge_records(const BenchArguments& arguments) {
  const std::pair<const char*, bool> others[] = {{"--suite", arguments.suite.has_value()},
                                                 {"--against", arguments.against.has_value()},
                                                 {"--target", arguments.target.has_value()},
                                                 {"--threads", arguments.threads.has_value()},
                                                 {"--plan", arguments.plan.has_value()},
                                                 {"--seconds", arguments.seconds.has_value()},
                                                 {"--case", arguments.cases.has_value()},
                                                 {"--cache", arguments.cache.has_value()},
                                                 {"--host", arguments.host},
                                                 {"--cold", arguments.cold},
                                                 {"--list", arguments.list}};
  for (const auto& [name, given] : others) {
    if (given) throw UsageError(fmt::format("--merge measures nothing; leave {} out", name));
  }
  check_outputs(arguments);
  std::vector<std::string> records, names;
  for (const std::string& path : arguments.merge) {
    records.push_back(read_text(path));
    names.push_back(std::filesystem::path(path).filename().string());
  }
  const std::string merged = bench::merged_json(records, names);
  write_outputs(arguments, merged);
  const bench::ReadRecord read = bench::read_record(merged, "the merged record");
  print(bench::report_text(read.run, read.outcomes));
  return 0;
}

/// In a process that was started for it: one case and contender, as "f16,cublas".
int measure_first_call(const BenchArguments& arguments, const std::vector<bench::Case>& cases,
                       const PlanRequest& plan) {
  const std::vector<std::string> words = words_of("--first-call", *arguments.first_call);
  for (const bench::Case& one : cases) {
    if (words.size() != 2 || name_of(one.type) != words[0]) continue;
    print(bench::to_line(bench::first_call(one, words[1], plan)));
    return 0;
  }
  throw UsageError(fmt::format("--first-call is '{}': give a case's type and a contender", *arguments.first_call));
}

/// Processes that make one call each.
std::vector<bench::Outcome> measure_first_calls(const BenchArguments& arguments, const std::vector<bench::Case>& cases,
                                                const std::vector<std::string>& peers) {
  constexpr int processes = 3;
  std::vector<bench::Outcome> outcomes;
  Progress progress("starting processes");
  for (const bench::Case& one : cases) {
    bench::Outcome outcome;
    outcome.which = one;
    outcome.first_calls =
        bench::first_calls(peers, processes, [&](const std::string& contender, const std::string& cache) {
          std::vector<std::string> words = {"bench",          "--target", "cuda",  "--suite",
                                            *arguments.suite, "--case",   one.name};
          words.insert(words.end(),
                       {"--first-call", fmt::format("{},{}", name_of(one.type), contender), "--cache", cache});
          if (arguments.plan) words.insert(words.end(), {"--plan", *arguments.plan});
          return bench::run_this_program(words);
        });
    outcomes.push_back(std::move(outcome));
    progress.update(static_cast<double>(outcomes.size()) / static_cast<double>(cases.size()));
  }
  return outcomes;
}

/// What a run measures with, once its arguments are known to be right.
struct Session {
  std::unique_ptr<bench::GpuBench> gpu;  // outlives the peers, whose memory is on it
  bench::Run run;
  std::unique_ptr<bench::Peer> ours;
  std::vector<bench::Peer*> peers;  // those that could be opened
};

Session open_session(const BenchArguments& arguments, const std::vector<std::string>& against,
                     const std::vector<bench::AskedPlan>& plans, double seconds) {
  Session session;
  bench::Run& run = session.run;
  run.found = bench::restart_without_variables();
  run.suite = *arguments.suite;
  run.date = bench::date_now();
  run.plan = arguments.plan.value_or("");
  run.seconds = seconds;
  if (arguments.on_gpu()) {
    session.gpu = std::make_unique<bench::GpuBench>();
    run.target = "cuda";
    run.gpu = session.gpu->facts();
  }
  session.ours = bench::this_library(plans);
  run.own_version = session.ours->version();
  for (const std::string& name : against) {
    run.peers.push_back(bench::open_peer(name));
    if (run.peers.back().peer) session.peers.push_back(run.peers.back().peer.get());
  }
  return session;
}

std::vector<bench::Outcome> measure_in_rounds(const BenchArguments& arguments, const std::vector<bench::Case>& cases,
                                              Session& session, bench::HarnessOptions& options) {
  Progress progress("measuring");
  options.progress = [&](double fraction) { progress.update(fraction); };
  set_clocks(options, session.gpu.get(), arguments.host);
  // A long run that is ended before its time leaves what it has measured.
  session.run.whole = false;
  options.measured = [&](std::span<const bench::Outcome> so_far) {
    if (arguments.json && so_far.size() < cases.size() * options.threads.size())
      write_file(*arguments.json, bench::record_json(session.run, so_far));
  };
  std::vector<bench::Outcome> outcomes = bench::run_suite(cases, *session.ours, session.peers, options);
  session.run.whole = true;
  return outcomes;
}

int measure_suite(const BenchArguments& arguments) {
  if (!arguments.suite) throw UsageError("give the cases with --suite FILE.csv, or records with --merge");
  check_target(arguments);
  const std::vector<bench::Case> cases = cases_of(*arguments.suite, arguments.cases);
  if (arguments.list) {
    print(bench::suite_text(cases));
    return 0;
  }
  if (arguments.sweep && !bench::holds_sweep(cases))
    throw UsageError(
        "--sweep draws a product at five or more leading dimensions or bases, which no case is; see "
        "bench/suites/layout-sweep.csv");
  std::vector<std::string> against;
  if (arguments.against) against = words_of("--against", *arguments.against);
  check_peers(against, arguments.target.value_or("cpu"));
  bench::HarnessOptions options;
  options.threads = thread_counts(arguments.threads);
  if (arguments.on_gpu()) options.rounds.seconds = gpu_seconds;
  if (arguments.seconds) options.rounds.seconds = parse_seconds(*arguments.seconds);
  const std::vector<bench::AskedPlan> plans = asked_plans(arguments.plan);
  check_outputs(arguments);
  if (arguments.cache) cuda::set_cache_folder(*arguments.cache);
  if (arguments.first_call) return measure_first_call(arguments, cases, plans[0].request);

  Session session = open_session(arguments, against, plans, options.rounds.seconds);
  const std::vector<bench::Outcome> outcomes = arguments.cold ? measure_first_calls(arguments, cases, against)
                                                              : measure_in_rounds(arguments, cases, session, options);
  write_outputs(arguments, bench::record_json(session.run, outcomes));
  print(arguments.cold ? bench::first_calls_text(outcomes) : bench::report_text(session.run, outcomes));
  const bool right = std::all_of(outcomes.begin(), outcomes.end(), [&](const bench::Outcome& outcome) {
    return arguments.cold ? outcome.first_calls[0].failed.empty() : outcome.entries[0].failed.empty();
  });
  return right ? 0 : 1;
}

}  // namespace

Action add_bench(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("bench", bench_description)->group("Commands");
  const auto arguments = std::make_shared<BenchArguments>();
  constexpr const char *what = "What is measured", *how = "How", *out = "What comes out";
  add_text(command, "--suite", arguments->suite, "FILE.csv", "the cases; bench/suite.hpp describes the columns")
      ->group(what);
  add_text(command, "--case", arguments->cases, "NAMES",
           "only these cases, with commas between; *, ? and [ab] stand for letters as in a shell (default: all)")
      ->group(what);
  add_text(command, "--against", arguments->against, "PEERS",
           "libraries to measure beside this one, with commas between: openblas, onednn, blis; with --target cuda "
           "cublas, cublaslt and pad, which is cublaslt with copies into aligned memory. They are opened if they are "
           "there; absent ones are named and left out")
      ->group(what);
  add_choice(command, "--target", arguments->target, {"cpu", "cuda"},
             "where to run: cpu, or cuda for the first NVIDIA GPU (default: cpu)")
      ->group(how);
  add_text(command, "--threads", arguments->threads, "LIST",
           "numbers of threads, with commas between (default: 1 and all this process may use)")
      ->group(how);
  add_text(command, "--plan", arguments->plan, "TEXT",
           "the plan for all cases, or a part of it, such as 64x32x32; the rest is chosen. Of several with | between, "
           "each case takes the fastest")
      ->group(how);
  add_text(command, "--seconds", arguments->seconds, "S",
           "add rounds for S seconds a case (default: 2, on a GPU 1); there are 6 at least")
      ->group(how);
  command.add_flag("--host", arguments->host, "also measure how long the host takes to enqueue a call on a GPU")
      ->group(how);
  command
      .add_flag("--cold", arguments->cold,
                "measure the first call in a fresh process instead, with an empty and with a filled cache of kernels")
      ->group(how);
  add_text(command, "--first-call", arguments->first_call, "TYPE,CONTENDER", "what --cold starts processes with")
      ->group("");
  add_text(command, "--cache", arguments->cache, "FOLDER", "where compiled kernels for GPUs are kept")->group(how);
  add_text(command, "--json", arguments->json, "FILE", "write the record to this file, whole or not at all")
      ->group(out);
  add_text(command, "--html", arguments->html, "FILE", "write the record as a page for a browser, likewise")
      ->group(out);
  add_text(command, "--sweep", arguments->sweep, "FILE.svg",
           "draw what leading dimensions and base addresses cost, for a suite that sweeps them")
      ->group(out);
  command
      .add_option("--merge", arguments->merge,
                  "measure nothing, and join records: the first with the contenders that the others have in its "
                  "cases, all of one device")
      ->type_name("FILES")
      ->expected(1, 8)
      ->group(out);
  command.add_flag("--list", arguments->list, "print the cases, and measure nothing")->group(out);
  command.footer(bench_examples);
  return [arguments] { return arguments->merge.empty() ? measure_suite(*arguments) : merge_records(*arguments); };
}

}  // namespace tilewright::cli
