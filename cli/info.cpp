// `tilewright info`: what this build and this machine offer.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tilewright/cuda.hpp>
#include <tilewright/gemm.hpp>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cpu/machine.hpp"
#include "cuda/compiler.hpp"
#include "cuda/device.hpp"
#include "cuda/pack.hpp"
#include "plan/number.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* info_description =
    "Say what this build and this machine offer.\n"
    "\n"
    "Version, processor, instruction sets, caches, threads and targets.";

constexpr const char* info_examples = R"(Examples:
  tilewright info
  tilewright info --json
  TILEWRIGHT_THREADS=1 tilewright info)";

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
  }
  return "unknown";
}

/// CPU features that the instruction sets of the library are made of, and some that it could be asked about.
std::vector<std::string> cpu_features() {
  std::vector<std::string> features;
#if defined(__x86_64__)
#define TILEWRIGHT_FEATURE(name) \
  if (__builtin_cpu_supports(name)) features.emplace_back(name)
  TILEWRIGHT_FEATURE("avx");
  TILEWRIGHT_FEATURE("avx2");
  TILEWRIGHT_FEATURE("fma");
  TILEWRIGHT_FEATURE("avx512f");
  TILEWRIGHT_FEATURE("avx512dq");
  TILEWRIGHT_FEATURE("avx512bw");
  TILEWRIGHT_FEATURE("avx512vl");
  TILEWRIGHT_FEATURE("avx512bf16");
#undef TILEWRIGHT_FEATURE
#endif
  return features;
}

struct Info {
  std::string model = cpu_model();
  std::vector<std::string> features = cpu_features();
  std::vector<std::string> sets;
  std::string chosen = to_string(this_cpu().mma);
  i64 online = sysconf(_SC_NPROCESSORS_ONLN), affinity = cpu::affinity_cores(), threads = available_threads();
  std::optional<i64> quota = cpu::quota_cores("/");
  const char* variable = std::getenv("TILEWRIGHT_THREADS");

  Info() {
    for (const Mma mma : this_cpu().instruction_sets) sets.push_back(to_string(mma));
  }

  /// Why as many threads and not more.
  std::string why() const {
    if (variable != nullptr && *variable != '\0') return "what TILEWRIGHT_THREADS says";
    if (quota && *quota < affinity) return "the CPU quota of this process's control group";
    if (affinity < online) return "the processors of this process's affinity mask";
    return "all processors";
  }
};

std::string kib(i64 bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

/// The GPUs, or why there are none, and whether kernels can be compiled.
std::string cuda_words() {
  if (const std::string why = cuda::unavailable(); !why.empty()) return "unavailable: " + why;
  std::string text;
  for (int device = 0; device < cuda::device_count(); ++device) {
    const cuda::DeviceDescription& d = cuda::describe(device);
    text += fmt::format("{}{}: {}, {} multiprocessors, {} GiB", text.empty() ? "" : "; ", device, d.name,
                        d.multiprocessors, d.memory_bytes >> 30);
  }
  if (const std::string* const missing = cuda::compiler_missing()) {
    return text + "; new kernels cannot be compiled: " + *missing;
  }
  return text + fmt::format("; NVRTC {}", cuda::compiler_version());
}

/// Whether kernels were compiled ahead, and where they are.
std::string pack_words() {
  const std::string file = cuda::pack_file().string();
  if (file.empty()) return "none: kernels of GPUs are compiled when they are first used";
  std::string reason;
  const auto pack = cuda::Pack::open(file, reason);
  return pack ? fmt::format("{} images of kernels in {}", pack->size(), file)
              : fmt::format("none: {} {}", file, reason);
}

std::string info_text(const Info& info) {
  const CpuDescription& cpu = this_cpu();
  std::string text = "tilewright " TILEWRIGHT_VERSION "\n";
  const auto line = [&](std::string_view name, const std::string& value, std::size_t indent = 15) {
    text += fmt::format("{:<14} {}\n", name, plan::wrapped(value, indent));
  };
  line("processor", info.model);
  line("features", info.features.empty() ? "none that matter here" : fmt::format("{}", fmt::join(info.features, " ")));
  line("instructions", fmt::format("{} (at hand: {})", info.chosen, fmt::join(info.sets, ", ")));
  line("caches", fmt::format("L1 {}, L2 {}, L3 {}", kib(cpu.l1_bytes), kib(cpu.l2_bytes), kib(cpu.l3_bytes)));
  line("threads", fmt::format("{}: {}", info.threads, info.why()));
  line("", fmt::format("{} processors online, {} in the affinity mask, CPU quota {}", info.online, info.affinity,
                       info.quota ? fmt::format("{}", *info.quota) : "none"));
  line("targets", "cpu    multiplies");
  line("", "check  proves a kernel's addresses and masks");
  line("", "cuda   " + cuda_words(), 22);
  line("kernel pack", pack_words());
  return text;
}

Json info_json(const Info& info) {
  const CpuDescription& cpu = this_cpu();
  return {{"version", TILEWRIGHT_VERSION},
          {"processor", info.model},
          {"features", info.features},
          {"instruction_sets", info.sets},
          {"instruction_set_chosen", info.chosen},
          {"l1_bytes", cpu.l1_bytes},
          {"l2_bytes", cpu.l2_bytes},
          {"l3_bytes", cpu.l3_bytes},
          {"threads", info.threads},
          {"threads_reason", info.why()},
          {"processors_online", info.online},
          {"processors_in_affinity_mask", info.affinity},
          {"processors_by_quota", info.quota ? Json(*info.quota) : Json()},
          {"targets", cuda::unavailable().empty() ? Json{"cpu", "check", "cuda"} : Json{"cpu", "check"}},
          {"cuda", cuda_words()},
          {"kernel_pack", pack_words()}};
}

}  // namespace

Action add_info(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("info", info_description)->group("Commands");
  const auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "print one JSON object instead of text");
  command.footer(info_examples);
  return [json] {
    print(*json ? json_line(info_json(Info())) : info_text(Info()));
    return 0;
  };
}

}  // namespace tilewright::cli
