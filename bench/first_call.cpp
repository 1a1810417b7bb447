// See first_call.hpp.
#include "bench/first_call.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "bench/gpu.hpp"
#include "bench/harness.hpp"
#include "bench/peer.hpp"
#include "measure/estimator.hpp"

namespace tilewright::bench {
namespace {

namespace fs = std::filesystem;

double ms_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// A folder that is gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "tilewright-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error(fmt::format("cannot make {}: {}", name, std::generic_category().message(errno)));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Takes the medians of the processes' columns.
FirstCall median_of(const std::vector<FirstCall>& calls) {
  const auto median = [&](double FirstCall::*column) {
    std::vector<double> values;
    for (const FirstCall& call : calls) values.push_back(call.*column);
    return measure::quantile(values, 0.5);
  };
  return {median(&FirstCall::context), median(&FirstCall::open), median(&FirstCall::first), median(&FirstCall::again)};
}

FirstCalls repeated(const std::string& contender, const std::string& cache, int processes,
                    const std::function<std::string()>& start) {
  FirstCalls result{contender, cache, {}, {}};
  std::vector<FirstCall> calls;
  try {
    for (int i = 0; i < processes; ++i) {
      const std::string line = start();
      const auto call = parse_first_call(line);
      if (!call) throw std::runtime_error(fmt::format("it printed '{}'", line));
      calls.push_back(*call);
    }
    result.median = median_of(calls);
  } catch (const std::runtime_error& error) {
    result.failed = error.what();
  }
  return result;
}

std::string read_all(int file) {
  std::string text;
  char part[4096];
  for (ssize_t got = 1; got != 0;) {
    got = read(file, part, sizeof part);
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  return text;
}

}  // namespace

FirstCall first_call(const Case& which, const std::string& contender, const PlanRequest& plan) {
  FirstCall call;
  std::unique_ptr<Gpu> gpu;
  call.context = ms_of([&] { gpu = std::make_unique<Gpu>(); });
  const std::unique_ptr<Operands> operands = gpu->operands(which);
  const Job job = operands->job(1);
  std::unique_ptr<Peer> peer;
  call.open = ms_of([&] {
    if (contender == "tilewright") {
      peer = this_library(plan);
      return;
    }
    OpenedPeer opened = open_peer(contender);
    if (!opened.peer) throw std::runtime_error(opened.missing);
    peer = std::move(opened.peer);
  });
  const auto wait = [&] { cuda::check(cuda::driver().stream_synchronize(job.turns->stream()), "cuStreamSynchronize"); };
  std::vector<Way> ways;
  call.first = ms_of([&] {
    ways = peer->ways(job);
    if (ways.empty()) throw std::runtime_error(peer->no_way());
    ways.front().run();
    wait();
  });
  call.again = ms_of([&] {
    ways.front().run();
    wait();
  });
  operands->poison_output();
  job.turns->begin(job.turns->sets());
  for (i64 set = 0; set < job.turns->sets(); ++set) ways.front().run();
  wait();
  double worst = 0;
  constexpr i64 most_products = i64{1} << 24;
  if (const std::string fault = fault_of(job, *operands, most_products, worst); !fault.empty())
    throw std::runtime_error(fault);
  return call;
}

std::string to_line(const FirstCall& call) {
  return fmt::format("{:.4f} {:.4f} {:.4f} {:.4f}\n", call.context, call.open, call.first, call.again);
}

std::optional<FirstCall> parse_first_call(std::string_view line) {
  FirstCall call;
  const char *at = line.data(), *const end = line.data() + line.size();
  for (double* const column : {&call.context, &call.open, &call.first, &call.again}) {
    while (at != end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, *column);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  if (at == end || *at != '\n' || at + 1 != end) return std::nullopt;
  return call;
}

std::vector<FirstCalls> first_calls(std::span<const std::string> peers, int processes, const Start& start) {
  const std::string ours = "tilewright";
  std::vector<FirstCalls> results;
  results.push_back(repeated(ours, "empty", processes, [&] {
    const TemporaryFolder cache;
    return start(ours, cache.path());
  }));
  const TemporaryFolder cache;
  if (results.front().failed.empty()) start(ours, cache.path());  // fills it
  results.push_back(repeated(ours, "filled", processes, [&] { return start(ours, cache.path()); }));
  for (const std::string& peer : peers)
    results.push_back(repeated(peer, "", processes, [&] { return start(peer, cache.path()); }));
  return results;
}

std::string run_this_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"tilewright"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  const TemporaryFolder folder;
  const std::string errors = folder.path() + "/errors";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe: " + std::generic_category().message(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  int status = 0;
  if (failed == 0) {
    text = read_all(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  if (failed != 0) throw std::runtime_error("starting a process: " + std::generic_category().message(failed));
  if (status == 0) return text;
  const int file = open(errors.c_str(), O_RDONLY | O_CLOEXEC);
  std::string words_of_child = file >= 0 ? read_all(file) : "";
  if (file >= 0) close(file);
  while (words_of_child.ends_with('\n')) words_of_child.pop_back();
  throw std::runtime_error(words_of_child.empty() ? fmt::format("it ended with status {}", status) : words_of_child);
}

}  // namespace tilewright::bench
