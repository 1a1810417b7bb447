// What the operating system says about this machine and how much of it this process may use.
//
// Functions that read files take the root of the file system, so that tests can invent a machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include <tilewright/plan.hpp>

namespace tilewright::cpu {

/// Processors that the calling thread may run on.
i64 affinity_cores();

/// Processors' worth of time that control groups (version 1 or 2, the process's own and those above it) allow this
/// process, rounded up: a quota of 1.5 is better used by two threads than by one. Nothing where there is no quota.
std::optional<i64> quota_cores(const std::filesystem::path& root);

/// Description of the machine under root, except its cores. What cannot be read keeps CpuDescription's default.
CpuDescription read_caches(const std::filesystem::path& root);

/// The value of TILEWRIGHT_THREADS as a number from 1 to most_threads. Throws Error plan_value for anything else.
constexpr i64 most_threads = 1024;
i64 parse_thread_count(std::string_view text);

}  // namespace tilewright::cpu
