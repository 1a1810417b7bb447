// See machine.hpp. Control groups are looked up where they are mounted by convention, and along the whole path from the
// process's own group to the mount: in a container the path is often the host's and does not exist, and the mount is
// the container's group.
#include "cpu/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <tilewright/error.hpp>

namespace tilewright::cpu {
namespace {

namespace fs = std::filesystem;

/// The whole of `text` as a number.
std::optional<i64> number(std::string_view text) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The first words of a file, none if it cannot be read.
std::vector<std::string> words(const fs::path& file, std::size_t most) {
  std::vector<std::string> found;
  std::ifstream in(file);
  for (std::string word; found.size() < most && in >> word;) found.push_back(word);
  return found;
}

/// quota / period in whole processors, rounded up. A quota of "max" (version 2) or -1 (version 1) is none.
std::optional<i64> cores(std::string_view quota_text, std::string_view period_text) {
  const std::optional<i64> quota = number(quota_text), period = number(period_text);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return cdiv(*quota, *period);
}

std::optional<i64> group_cores(const fs::path& group) {
  if (const auto v2 = words(group / "cpu.max", 2); v2.size() == 2) return cores(v2[0], v2[1]);
  const auto quota = words(group / "cpu.cfs_quota_us", 1), period = words(group / "cpu.cfs_period_us", 1);
  if (quota.empty() || period.empty()) return std::nullopt;
  return cores(quota[0], period[0]);
}

/// Whether a comma-separated list of controllers names `cpu`; version 2's list is empty.
bool concerns_cpu(std::string_view controllers) {
  return controllers.empty() || ("," + std::string(controllers) + ",").find(",cpu,") != std::string::npos;
}

std::optional<i64> cache_size(std::string_view text) {
  i64 unit = 1;
  if (!text.empty() && (text.back() == 'K' || text.back() == 'M')) {
    unit = text.back() == 'K' ? i64{1} << 10 : i64{1} << 20;
    text.remove_suffix(1);
  }
  const std::optional<i64> value = number(text);
  if (!value || *value <= 0 || *value > i64{1} << 40) return std::nullopt;
  return *value * unit;
}

}  // namespace

i64 affinity_cores() {
  for (int processors = 1024; processors <= 1 << 20; processors *= 2) {  // a set smaller than the kernel's is refused
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(processors));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(processors));
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const i64 count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max<i64>(count, 1);
  }
  return std::max<i64>(std::thread::hardware_concurrency(), 1);
}

std::optional<i64> quota_cores(const fs::path& root) {
  std::optional<i64> least;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // hierarchy:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!concerns_cpu(controllers)) continue;
    const fs::path path = fs::path(line.substr(second + 1)).relative_path();
    const std::string_view mounts_v2[] = {"", "unified"}, mounts_v1[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu"};
    for (const std::string_view mount :
         controllers.empty() ? std::span<const std::string_view>(mounts_v2) : mounts_v1) {
      const fs::path top = root / "sys/fs/cgroup" / mount;
      for (fs::path group = path;; group = group.parent_path()) {
        if (const auto found = group_cores(top / group)) least = std::min(least.value_or(*found), *found);
        if (group.empty()) break;
      }
    }
  }
  return least;
}

CpuDescription read_caches(const fs::path& root) {
  CpuDescription machine;
  for (int index = 0; index < 16; ++index) {
    const fs::path cache = root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(index));
    const auto level = words(cache / "level", 1), type = words(cache / "type", 1), size = words(cache / "size", 1);
    if (level.empty() || type.empty() || size.empty() || type[0] == "Instruction") continue;
    const std::optional<i64> bytes = cache_size(size[0]);
    if (!bytes) continue;
    if (level[0] == "1") machine.l1_bytes = *bytes;
    if (level[0] == "2") machine.l2_bytes = *bytes;
    if (level[0] == "3") machine.l3_bytes = *bytes;
  }
  return machine;
}

i64 parse_thread_count(std::string_view text) {
  const std::optional<i64> count = number(text);
  if (!count || *count < 1 || *count > most_threads) {
    throw Error(ErrorCode::plan_value, "TILEWRIGHT_THREADS is \"" + std::string(text) +
                                           "\": set it to a whole number from 1 to " + std::to_string(most_threads) +
                                           ", or unset it to use every core at hand");
  }
  return *count;
}

}  // namespace tilewright::cpu
