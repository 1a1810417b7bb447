// Builds the kernel pack: what the target kernel_pack runs. Needs NVRTC and no GPU.
//
//   build_kernel_pack --output FILE --store FOLDER --table FILE [--exceptions FILE] [--processes N] [--only TEXT]
//
// --only TEXT: the kernels whose name and architecture hold the text. --list: their names, and nothing is built.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tilewright/gemm.hpp>
#include "pack/build.hpp"

namespace {

using namespace tilewright;

/// The limits that the pack keeps: the folder of portable binaries, the pack in it, stays under 24 MiB. A kernel counts
/// once, for whatever architectures it is compiled.
constexpr std::size_t most_kernels = 400;
constexpr std::uintmax_t most_bytes = 16 << 20;

[[noreturn]] void wrong_use(std::string_view what) {
  fmt::print(stderr, "build_kernel_pack: {}\n", what);
  std::exit(2);
}

int run(int count, char** words) {
  pack::Job job;
  std::string only;
  bool list = false;
  job.processes = static_cast<int>(available_threads());
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--list") {
      list = true;
      continue;
    }
    if (i + 1 == count) wrong_use(fmt::format("{} is no option, or lacks its value", word));
    const std::string value = words[++i];
    if (word == "--output")
      job.output = value;
    else if (word == "--store")
      job.store = value;
    else if (word == "--table")
      job.table = value;
    else if (word == "--exceptions")
      job.exceptions = value;
    else if (word == "--processes")
      job.processes = std::max(1, std::atoi(value.c_str()));
    else if (word == "--only")
      only = value;
    else
      wrong_use(fmt::format("there is no option {}", word));
  }
  std::vector<pack::Kernel> kernels = pack::default_kernels();
  std::erase_if(kernels, [&](const pack::Kernel& kernel) {
    return fmt::format("{} {}", kernel.name, kernel.architecture).find(only) == std::string::npos;
  });
  if (list) {
    for (const pack::Kernel& kernel : kernels) fmt::print("{} {}\n", kernel.name, kernel.architecture);
    return 0;
  }
  if (job.output.empty() || job.store.empty() || job.table.empty())
    wrong_use("give --output FILE, --store FOLDER and --table FILE");
  if (const std::string* const missing = cuda::compiler_missing()) {
    fmt::print("no kernel pack: {}\n", *missing);
    return 0;
  }
  job.compiler = "NVRTC " + cuda::compiler_version();
  job.compile = cuda::compile;
  std::set<std::string> names;
  for (const pack::Kernel& kernel : kernels) names.insert(kernel.name);
  if (names.size() > most_kernels) {
    fmt::print(stderr, "the pack would hold {} kernels; the limit is {}\n", names.size(), most_kernels);
    return 1;
  }
  const pack::Outcome outcome = pack::build(kernels, job);
  for (const std::string& fault : outcome.faults) fmt::print(stderr, "{}\n", fault);
  if (!outcome.faults.empty()) return 1;
  fmt::print("{}: {} kernels compiled {} times, {} of them now, {} KiB; {}\n", job.output.string(), names.size(),
             outcome.kernels, outcome.compiled, outcome.bytes >> 10, job.table.string());
  if (outcome.bytes > most_bytes) {
    fmt::print(stderr, "the pack has {} bytes; the limit is {}\n", outcome.bytes, most_bytes);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "build_kernel_pack: {}\n", error.what());
    return 1;
  }
}
