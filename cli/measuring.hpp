// What the commands share that measure, `bench` and `plans`: cases, files, the clocks of a target.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu_bench.hpp"
#include "bench/harness.hpp"

namespace tilewright::cli {

/// Words with commas between them. Throws UsageError naming the option if one is empty.
std::vector<std::string> words_of(std::string_view option, std::string_view text);

/// --seconds: 0 to 3600. Throws UsageError.
double parse_seconds(const std::string& text);

/// A regular file as it is: a named pipe would wait for its writer, a device might never end, and a folder reads as
/// nothing. Throws Error file_open.
std::string read_text(const std::string& path);

/// The cases of a suite's file that have these names, of all types; all without names. A name may be a shell's pattern.
/// Throws Error, and UsageError for a name that no case has.
std::vector<bench::Case> cases_of(const std::string& suite, const std::optional<std::string>& names);

/// Writes a record whole or not at all; an interruption waits for it.
void write_file(const std::string& path, const std::string& text);

/// Has a target measured: a GPU if there is one, else the host. host: how long it takes to enqueue as well.
void set_clocks(bench::HarnessOptions& options, bench::GpuBench* gpu, bool host);

}  // namespace tilewright::cli
