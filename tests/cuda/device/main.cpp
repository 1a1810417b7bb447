// The check of the target cuda on a device: started by tools/gpu_check.sh, a plain program that needs the driver and
// NVRTC alone. Cases run on several threads, each with a stream of its own, so that calls meet.
//
//   gpu_check [--filter TEXT] [--without TEXT] [--threads N] [--reduced]
//   gpu_check --random N [--seed S] [--from I] [--filter TEXT] [--threads N]
//
// The second multiplies N random problems instead; of one that fails, the line names the call that repeats it.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "tests/cuda/device/cases.hpp"

namespace {

struct Options {
  std::string filter;
  std::vector<std::string> without;  // names, and operators' plans, that contain one of these are left out
  int threads = 8;
  bool reduced = false;
  long long random = 0, seed = 1, from = 0;
};

constexpr const char* usage =
    "gpu_check [--filter TEXT] [--without TEXT] [--threads N] [--reduced]\n"
    "gpu_check --random N [--seed S] [--from I] [--filter TEXT] [--threads N]\n";

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool more = i + 1 < count;
    if (word == "--filter" && more) {
      options.filter = words[++i];
    } else if (word == "--without" && more) {
      options.without.emplace_back(words[++i]);
    } else if (word == "--threads" && more) {
      options.threads = std::atoi(words[++i]);
    } else if (word == "--random" && more) {
      options.random = std::atoll(words[++i]);
    } else if (word == "--seed" && more) {
      options.seed = std::atoll(words[++i]);
    } else if (word == "--from" && more) {
      options.from = std::atoll(words[++i]);
    } else if (word == "--reduced") {
      options.reduced = true;
    } else {
      fmt::print(stderr, "{}", usage);
      std::exit(2);
    }
  }
  if (options.threads < 1) options.threads = 1;
  return options;
}

}  // namespace

int main(int count, char** words) {
  using namespace device_check;
  const Options options = parse(count, words);
  if (const std::string why = tilewright::cuda::unavailable(); !why.empty()) {
    fmt::print(stderr, "gpu_check: {}\n", why);
    return 2;
  }
  std::vector<Case> all, cases;
  if (options.random > 0) {
    add_random_cases(all, options.random, static_cast<std::uint64_t>(options.seed), options.from);
  } else {
    add_gemm_cases(all, options.reduced);
    add_kernel_cases(all, options.reduced);
    add_operator_cases(all, options.reduced);
    add_epilogue_cases(all, options.reduced);
    add_runtime_cases(all, options.reduced);
  }
  for (Case& candidate : all) {
    const auto has = [&](const std::string& text) { return candidate.name.find(text) != std::string::npos; };
    if (has(options.filter) && std::ranges::none_of(options.without, has)) cases.push_back(std::move(candidate));
  }
  std::atomic<std::size_t> next = 0;
  std::atomic<int> passed = 0, failed = 0, left_out = 0;
  std::mutex printing;
  const auto work = [&] {
    try {
      Worker worker(case_bytes);
      worker.without = options.without;
      for (std::size_t i = next++; i < cases.size(); i = next++) {
        std::string wrong;
        try {
          wrong = cases[i].run(worker);
        } catch (const LeftOut&) {
          ++left_out;
          continue;
        } catch (const std::exception& error) {
          wrong = error.what();
        }
        if (wrong.empty()) {
          ++passed;
          continue;
        }
        constexpr int most_told = 12, most_named = 200;
        const int count = ++failed;
        if (count > (options.random > 0 ? most_named : most_told)) continue;
        const std::lock_guard lock(printing);
        fmt::print("FAILED {}\n", cases[i].name);
        if (count <= most_told) fmt::print("{}\n", wrong);
        std::fflush(stdout);
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(printing);
      fmt::print("FAILED to set up a worker: {}\n", error.what());
      ++failed;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < options.threads; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (left_out > 0) fmt::print("{} left out by their plans\n", left_out.load());
  fmt::print("{} passed, {} failed\n", passed.load(), failed.load());
  return failed == 0 && passed > 0 ? 0 : 1;
}
