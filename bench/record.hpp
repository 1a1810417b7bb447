// What a run leaves: a record as JSON, and a table that a person reads.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/environment.hpp"
#include "bench/harness.hpp"
#include "bench/peer.hpp"
#include "cuda/device.hpp"

namespace tilewright::bench {

/// What a record says of a GPU.
struct GpuFacts {
  cuda::DeviceDescription description;
  std::string driver;            // its version
  int cuda_version = 0;          // of the driver's interface: 13000
  std::string compiler;          // of the kernels: "NVRTC 13.0"
  double power_limit_watts = 0;  // 0: unknown
  double copy_gbytes = 0;        // a second, read and written, of a large copy on it
};

/// Everything that a record says beside the outcomes.
struct Run {
  std::string suite;        // the file
  std::string date;         // UTC, ISO 8601
  std::string plan;         // that was asked for; empty: the planner's
  double seconds = 0;       // of rounds for each case
  Variables found;          // environment variables that were unset
  std::string own_version;  // of this library
  std::vector<OpenedPeer> peers;
  std::string target = "cpu";
  std::optional<GpuFacts> gpu = {};  // that was measured on; else the host was
  bool whole = true;                 // all cases were measured
};

/// The time now, as Run::date.
std::string date_now();

/// The record. Its keys are never renamed or dropped; docs/bench-method.md lists them.
std::string record_json(const Run& run, std::span<const Outcome> outcomes);

/// The table, of at most 120 columns, with the means and the cases behind a peer at its end.
std::string report_text(const Run& run, std::span<const Outcome> outcomes);

/// The first calls of the outcomes, as a table.
std::string first_calls_text(std::span<const Outcome> outcomes);

/// The cases of a suite, a line each.
std::string suite_text(std::span<const Case> cases);

/// Writes the file whole or not at all. Throws Error file_open.
void write_record(const std::filesystem::path& path, const std::string& text);
/// Refuses a file that could not be written, and one of others, which a run reads or writes besides, before time is
/// spent. Throws Error file_open.
void check_record_path(const std::filesystem::path& path, const std::vector<std::filesystem::path>& others = {});

}  // namespace tilewright::bench
