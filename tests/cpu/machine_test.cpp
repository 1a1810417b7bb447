// What the library takes this machine to be: instruction sets, cores, caches, threads. Machines are invented as
// folders.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/tile/cpu/kernels.hpp>

#include "cpu/machine.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// An empty file system, removed at the end.
class Root {
 public:
  Root() {
    std::string name = (fs::temp_directory_path() / "machineXXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + name);
    path = name;
  }
  ~Root() { fs::remove_all(path); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text;
  }
  fs::path path;
};

TEST(InstructionSets, WidestFirstAndPortableLast) {
  const std::span<const Mma> sets = cpu::instruction_sets();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.back(), Mma::portable);
  for (std::size_t i = 1; i < sets.size(); ++i) EXPECT_GT(sets[i - 1], sets[i]);
  for (const Mma mma : sets) EXPECT_EQ(cpu::kernels(mma).mma, mma);
  EXPECT_EQ(this_cpu().mma, sets.front());
  EXPECT_EQ(std::vector<Mma>(sets.begin(), sets.end()), this_cpu().instruction_sets);
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
  EXPECT_EQ(sets.front(), bf16 ? Mma::avx512_bf16 : avx512 ? Mma::avx512 : avx2 ? Mma::avx2 : Mma::portable);
  for (const Mma mma : {Mma::portable, Mma::avx2, Mma::avx512}) {
    EXPECT_EQ(std::ranges::count(sets, mma), mma == Mma::portable || (mma == Mma::avx2 ? avx2 : avx512) ? 1 : 0);
  }
#endif
}

TEST(InstructionSets, OneThatIsMissingIsRefusedWithThoseAtHand) {
  try {
    cpu::kernels(static_cast<Mma>(200));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::plan_unavailable);
    EXPECT_NE(std::string(error.what()).find("portable"), std::string::npos) << error.what();
  }
}

TEST(Quota, NoneWhereNothingIsSaid) {
  const Root root;
  EXPECT_EQ(cpu::quota_cores(root.path), std::nullopt);
  root.write("proc/self/cgroup", "nonsense\n0::/a\n3:cpu:/b\n");
  EXPECT_EQ(cpu::quota_cores(root.path), std::nullopt);
  root.write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu::quota_cores(root.path), std::nullopt);
}

TEST(Quota, VersionTwoTakesTheLeastOnTheWayUp) {
  const Root root;
  root.write("proc/self/cgroup", "0::/user/job\n");
  root.write("sys/fs/cgroup/user/job/cpu.max", "800000 100000\n");
  EXPECT_EQ(cpu::quota_cores(root.path), 8);
  root.write("sys/fs/cgroup/user/cpu.max", "250000 100000\n");
  EXPECT_EQ(cpu::quota_cores(root.path), 3);  // 2.5, rounded up
  root.write("sys/fs/cgroup/cpu.max", "1000 100000\n");
  EXPECT_EQ(cpu::quota_cores(root.path), 1);
}

TEST(Quota, VersionOneInsideAContainer) {
  const Root root;  // the path is the host's; the mount is the container's own group
  root.write("proc/self/cgroup", "11:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n2:cpuset:/docker/x\n");
  root.write("sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "1\n");  // another hierarchy's file does not count
  root.write("sys/fs/cgroup/cpuset/cpu.cfs_period_us", "1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu::quota_cores(root.path), 4);
}

TEST(Quota, UnreadableNumbersAreNone) {
  const Root root;
  root.write("proc/self/cgroup", "0::/\n");
  for (const char* text :
       {"", "100000", "abc 100000", "100000 0", "-5 100000", "99999999999999999999 1", "1e5 100000"}) {
    root.write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cpu::quota_cores(root.path), std::nullopt) << text;
  }
}

TEST(Caches, DataCachesByLevelOrTheDefaults) {
  const Root root;
  const CpuDescription none = cpu::read_caches(root.path), defaults;
  EXPECT_EQ(none.l1_bytes, defaults.l1_bytes);
  EXPECT_EQ(none.l3_bytes, defaults.l3_bytes);
  const auto cache = [&](int index, const char* level, const char* type, const char* size) {
    const fs::path folder = "sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    root.write(folder / "level", level);
    root.write(folder / "type", type);
    root.write(folder / "size", size);
  };
  cache(0, "1\n", "Data\n", "48K\n");
  cache(1, "1\n", "Instruction\n", "64K\n");
  cache(2, "2\n", "Unified\n", "2M\n");
  cache(3, "3\n", "Unified\n", "rubbish\n");
  const CpuDescription found = cpu::read_caches(root.path);
  EXPECT_EQ(found.l1_bytes, 48 << 10);
  EXPECT_EQ(found.l2_bytes, 2 << 20);
  EXPECT_EQ(found.l3_bytes, defaults.l3_bytes);
}

TEST(Threads, AffinityIsHonoured) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(cpu::affinity_cores(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &before)) continue;
    CPU_SET(i, &one);
    break;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(cpu::affinity_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(this_cpu().cores, 1);
  EXPECT_LE(this_cpu().cores, CPU_COUNT(&before));
}

TEST(Threads, TheVariableIsParsedWhole) {
  EXPECT_EQ(cpu::parse_thread_count("1"), 1);
  EXPECT_EQ(cpu::parse_thread_count("1024"), 1024);
  for (const char* text :
       {"0", "-1", "1025", "2x", " 2", "2 ", "+2", "0x2", "two", "99999999999999999999", "1.5", ""}) {
    try {
      cpu::parse_thread_count(text);
      ADD_FAILURE() << "accepted \"" << text << "\"";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::plan_value);
      EXPECT_NE(std::string(error.what()).find("\"" + std::string(text) + "\""), std::string::npos) << error.what();
    }
  }
}

TEST(Threads, TheVariableOverridesTheMachine) {
  const char* const set = std::getenv("TILEWRIGHT_THREADS");
  const std::optional<std::string> before = set != nullptr ? std::optional<std::string>(set) : std::nullopt;
  ::unsetenv("TILEWRIGHT_THREADS");
  EXPECT_EQ(available_threads(), this_cpu().cores);
  ::setenv("TILEWRIGHT_THREADS", "", 1);
  EXPECT_EQ(available_threads(), this_cpu().cores);
  ::setenv("TILEWRIGHT_THREADS", "37", 1);
  EXPECT_EQ(available_threads(), 37);
  ::setenv("TILEWRIGHT_THREADS", "many", 1);
  EXPECT_THROW(available_threads(), Error);
  if (before) {
    ::setenv("TILEWRIGHT_THREADS", before->c_str(), 1);
  } else {
    ::unsetenv("TILEWRIGHT_THREADS");
  }
}

/// The output of a command, its errors included.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string text;
  std::array<char, 4096> part;
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), got);
  ::pclose(pipe);
  return text;
}

#if defined(__x86_64__)
// A function that the linker could pick from an object of a wider instruction set would run on every machine. Without
// optimisation nothing is inlined away: whatever these objects share with others is in their symbol tables.
TEST(InstructionSets, ObjectsShareNothing) {
  const Root root;
  const std::pair<const char*, const char*> objects[] = {
      {"portable", ""},
      {"avx2", "-mavx2 -mfma -mf16c"},
      {"avx512", "-mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c"},
      {"avx512_bf16", "-mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16 -mfma -mf16c"}};
  for (const auto& [set, flags] : objects) {
    const std::string source = TILEWRIGHT_SOURCE_DIR, object = (root.path / set).string() + ".o";
    const std::string compiled = output_of("c++ -std=c++20 -O0 " + std::string(flags) + " -I" + source + "/include -I" +
                                           source + "/src -c " + source + "/src/cpu/" + set + ".cpp -o " + object);
    ASSERT_EQ(compiled, "");
    std::istringstream symbols(output_of("nm --defined-only " + object));
    int tables = 0;
    for (std::string address, kind, symbol; symbols >> address >> kind >> symbol;) {
      if (kind.size() == 1 && std::islower(static_cast<unsigned char>(kind[0])) != 0 && kind != "w" && kind != "v" &&
          kind != "u") {
        continue;  // local
      }
      EXPECT_NE(symbol.find(std::string(set) + "_kernels"), std::string::npos)
          << set << " shares " << kind << " " << symbol;
      ++tables;
    }
    EXPECT_EQ(tables, 1) << set;
  }
}
#endif

}  // namespace
}  // namespace tilewright
