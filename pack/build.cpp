#include "pack/build.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <map>
#include <new>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include "cuda/cache.hpp"
#include "cuda/pack.hpp"

namespace tilewright::pack {
namespace {

namespace fs = std::filesystem;

constexpr const char* ptx_architecture = "compute_80";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::file_open, fmt::format("cannot read {}", path.string()));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Replaces a file as a whole; one that holds these bytes already is left alone.
void write_file(const fs::path& path, const std::string& bytes) {
  std::error_code none;
  if (fs::exists(path, none) && read_file(path) == bytes) return;
  fs::create_directories(fs::absolute(path).parent_path());
  const fs::path temporary = fs::path(path).concat(fmt::format(".{}.tmp", ::getpid()));
  std::ofstream file(temporary, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) throw Error(ErrorCode::file_open, fmt::format("cannot write {}", temporary.string()));
  fs::rename(temporary, path);
}

/// The kernels that may be slower than their text says: "name | what | what it costs", one a line, # begins a comment.
std::map<std::string, std::string> read_exceptions(const fs::path& path) {
  std::map<std::string, std::string> allowed;
  if (path.empty()) return allowed;
  std::string text = read_file(path);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t first = line.find(" | "), second = line.find(" | ", first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      throw Error(ErrorCode::file_open, fmt::format("{}: '{}' is not a line of the form: kernel | what | measured cost",
                                                    path.string(), line));
    }
    allowed[line.substr(0, first)] = line.substr(second + 3);
  }
  return allowed;
}

std::string full_name(const Kernel& kernel) { return fmt::format("{} {}", kernel.name, kernel.architecture); }

std::string identity_of(const Kernel& kernel, const Job& job, const std::string& architecture) {
  return cuda::identity_of(kernel.unit, architecture, job.compiler);
}

bool is_stored(const Kernel& kernel, const Job& job) {
  const auto has = [&](const std::string& architecture) {
    return cuda::find_cubin(job.store, identity_of(kernel, job, architecture)).has_value();
  };
  return has(kernel.architecture) && (!kernel.with_ptx || has(ptx_architecture));
}

void compile_and_store(const Kernel& kernel, const Job& job) {
  cuda::Cubin cubin = job.compile(kernel.unit, kernel.architecture);
  if (kernel.with_ptx) {
    cuda::Cubin ptx;
    ptx.image.assign(cubin.ptx.begin(), cubin.ptx.end());
    cuda::keep_cubin(job.store, identity_of(kernel, job, ptx_architecture), ptx);
  }
  cuda::keep_cubin(job.store, identity_of(kernel, job, kernel.architecture), cubin);
}

/// One process's share: the next kernel that nobody took, until there is none. The exit status.
int work(const std::vector<const Kernel*>& missing, const Job& job, std::atomic<std::size_t>& next) {
  for (std::size_t i = next++; i < missing.size(); i = next++) {
    try {
      compile_and_store(*missing[i], job);
      if ((i + 1) % 20 == 0) fmt::print(stderr, "{} of {} kernels compiled\n", i + 1, missing.size());
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", full_name(*missing[i]), error.what());
      next = missing.size();  // nobody begins another one
      return 1;
    }
  }
  return 0;
}

/// Compiles kernels in several processes, which share a counter.
void compile_all(const std::vector<const Kernel*>& missing, const Job& job) {
  if (missing.empty()) return;
  void* const shared =
      ::mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  auto& next = *new (shared) std::atomic<std::size_t>(0);
  std::vector<pid_t> workers;
  const std::size_t count = std::min(missing.size(), static_cast<std::size_t>(job.processes));
  for (std::size_t w = 0; w < count; ++w) {
    const pid_t child = ::fork();
    if (child < 0) break;  // the others do its work
    if (child == 0) ::_exit(work(missing, job, next));
    workers.push_back(child);
  }
  bool right = !workers.empty();
  for (const pid_t worker : workers) {
    int status = 0;
    ::waitpid(worker, &status, 0);
    right = right && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  ::munmap(shared, sizeof(std::atomic<std::size_t>));
  if (!right) throw Error(ErrorCode::kernel, "kernels of the pack do not compile; the messages are above");
}

/// What is wrong with a compiled kernel that no exception allows; empty if nothing is.
std::string fault_of(const Kernel& kernel, const cuda::Cubin& cubin,
                     const std::map<std::string, std::string>& allowed) {
  std::string what;
  if (cubin.spilled_bytes > 0) what = fmt::format("spills {} bytes of registers", cubin.spilled_bytes);
  if (cubin.serialised)
    what.append(what.empty() ? "" : " and ").append("serialises wgmma (ptxas C7510, C7514 or C7517)");
  if (what.empty() || allowed.contains(full_name(kernel))) return {};
  return fmt::format("{} {}: change its plan, or list it among the exceptions with its measured cost",
                     full_name(kernel), what);
}

}  // namespace

Outcome build(const std::vector<Kernel>& kernels, const Job& job) {
  const std::map<std::string, std::string> allowed = read_exceptions(job.exceptions);
  std::vector<const Kernel*> missing;
  for (const Kernel& kernel : kernels) {
    if (!is_stored(kernel, job)) missing.push_back(&kernel);
  }
  compile_all(missing, job);

  Outcome outcome{static_cast<int>(kernels.size()), static_cast<int>(missing.size()), 0, {}};
  std::vector<cuda::PackEntry> entries;
  std::vector<std::string> lines;
  const auto stored = [&](const Kernel& kernel, const std::string& architecture) {
    std::optional<cuda::Cubin> cubin = cuda::find_cubin(job.store, identity_of(kernel, job, architecture));
    if (!cubin) {
      throw Error(ErrorCode::file_open,
                  fmt::format("{} is compiled and not to be found in {}", full_name(kernel), job.store.string()));
    }
    return *std::move(cubin);
  };
  for (const Kernel& kernel : kernels) {
    cuda::Cubin cubin = stored(kernel, kernel.architecture);
    if (std::string fault = fault_of(kernel, cubin, allowed); !fault.empty())
      outcome.faults.push_back(std::move(fault));
    const auto exception = allowed.find(full_name(kernel));
    lines.push_back(fmt::format("{:<76} {:<7} {:>9} {:>13} {:>11}{}\n", kernel.name, kernel.architecture,
                                cubin.registers, kernel.shared_bytes, cubin.spilled_bytes,
                                exception == allowed.end() ? "" : "  " + exception->second));
    entries.push_back({kernel.group, kernel.unit, kernel.architecture, std::move(cubin)});
    if (kernel.with_ptx) {
      entries.push_back({kernel.group + " ptx", kernel.unit, ptx_architecture, stored(kernel, ptx_architecture)});
    }
  }
  std::ranges::sort(lines);
  std::string table =
      fmt::format("{:<76} {:<7} {:>9} {:>13} {:>11}\n", "kernel", "for", "registers", "shared bytes", "spill bytes");
  for (const std::string& line : lines) table += line;
  write_file(job.table, table);
  if (!outcome.faults.empty()) return outcome;
  const std::string bytes = cuda::pack_bytes(std::move(entries));
  write_file(job.output, bytes);
  outcome.bytes = bytes.size();
  return outcome;
}

}  // namespace tilewright::pack
