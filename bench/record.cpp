// The record of a run as JSON, and its file; see record.hpp.
#include "bench/record.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>
#include "bench/commit.hpp"
#include "bench/record_json.hpp"
#include "io/npy_target.hpp"
#include "measure/peak.hpp"

namespace tilewright::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The first line of a file that starts with `start`, without it and what separates the two.
std::string line_of(const char* file, std::string_view start, std::string_view separators) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(start)) continue;
    line.erase(0, std::min(line.size(), line.find_first_not_of(separators, start.size())));
    line.erase(line.find_last_not_of("\" \t") + 1);
    return line;
  }
  return "unknown";
}

std::string device(const Run& run) {
  if (run.gpu) return run.gpu->description.name;
  return fmt::format("{}, {} core{}", line_of("/proc/cpuinfo", "model name", " \t:"), this_cpu().cores,
                     this_cpu().cores == 1 ? "" : "s");
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

Json machine_json() {
  const CpuDescription& cpu = this_cpu();
  utsname system{};
  uname(&system);
  Json units = Json::array();
  for (const measure::Unit unit : measure::units_at_hand()) units.push_back(measure::name_of(unit));
  return {{"processor", line_of("/proc/cpuinfo", "model name", " \t:")},
          {"family", line_of("/proc/cpuinfo", "cpu family", " \t:")},
          {"model", line_of("/proc/cpuinfo", "model\t", " \t:")},
          {"stepping", line_of("/proc/cpuinfo", "stepping", " \t:")},
          {"hypervisor", line_of("/proc/cpuinfo", "flags", " \t:").find(" hypervisor") != std::string::npos},
          {"cores", cpu.cores},
          {"l1_bytes", cpu.l1_bytes},
          {"l2_bytes", cpu.l2_bytes},
          {"l3_bytes", cpu.l3_bytes},
          {"units", units},
          {"system", line_of("/etc/os-release", "PRETTY_NAME", "=\"")},
          {"kernel", fmt::format("{} {}", system.sysname, system.release)}};
}

Json gpu_json(const GpuFacts& gpu) {
  return {{"name", gpu.description.name},
          {"architecture", gpu.description.architecture()},
          {"multiprocessors", gpu.description.multiprocessors},
          {"l2_bytes", gpu.description.l2_bytes},
          {"memory_bytes", gpu.description.memory_bytes},
          {"driver", gpu.driver},
          {"cuda", fmt::format("{}.{}", gpu.cuda_version / 1000, gpu.cuda_version % 1000 / 10)},
          {"compiler", gpu.compiler},
          {"power_limit_watts", gpu.power_limit_watts},
          {"copy_gbytes_per_second", rounded(gpu.copy_gbytes, 4)}};
}

Json variables_json(const Variables& variables) {
  Json json = Json::object();
  for (const auto& [name, value] : variables) json[name] = value;
  return json;
}

Json libraries_json(const Run& run) {
  Json json = {{"tilewright", {{"version", run.own_version}}}};
  for (const OpenedPeer& opened : run.peers) {
    json[opened.name] = opened.peer ? Json{{"version", opened.peer->version()}, {"file", opened.peer->file()}}
                                    : Json{{"missing", opened.missing}};
  }
  return json;
}

Json first_calls_json(const FirstCalls& calls) {
  Json json = {{"contender", calls.contender}};
  if (!calls.cache.empty()) json["cache"] = calls.cache;
  if (!calls.failed.empty()) {
    json["failed"] = calls.failed;
    return json;
  }
  json["context_ms"] = rounded(calls.median.context, 4);
  json["open_ms"] = rounded(calls.median.open, 4);
  json["first_ms"] = rounded(calls.median.first, 4);
  json["again_ms"] = rounded(calls.median.again, 4);
  return json;
}

Json case_json(const Outcome& outcome, bool on_gpu) {
  const Case& which = outcome.which;
  Json contenders = Json::object();
  for (const Entry& entry : outcome.entries)
    contenders[entry.name] = entry_json(outcome, entry, &entry == &outcome.entries[0]);
  Json json = extents_json(which);
  json["threads"] = outcome.threads;
  json["contenders"] = contenders;
  add_strides(json, which);
  json[on_gpu ? "peak_gflops" : "peak_gflops_per_core"] = rounded(outcome.peak_gflops);
  json["peak_unit"] = outcome.peak_unit;
  json["other_load"] = rounded(outcome.other_load, 2);
  if (outcome.below_speed > 0) json["below_speed"] = rounded(outcome.below_speed, 2);
  json["choosing_seconds"] = rounded(outcome.choosing_seconds, 3);
  json["seconds"] = rounded(outcome.seconds, 3);
  if (on_gpu) {
    json["bytes"] = which.bytes();
    json["roofline_us"] = rounded(outcome.roofline_us());
    for (const auto& [name, value] : outcome.conditions) json[name] = rounded(value, 4);
  }
  for (const FirstCalls& calls : outcome.first_calls) json["first_calls"].push_back(first_calls_json(calls));
  add_ratio(json, outcome);
  return json;
}

/// One line, whatever bytes a name holds.
std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

[[noreturn]] void refuse(const fs::path& path, std::string_view reason) {
  throw Error(ErrorCode::file_open, fmt::format("cannot write {}: {}", path.string(), reason));
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace

std::string date_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

double rounded(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, digits - 1 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

Json head_json(const Run& run) {
  Variables set;
  for (const OpenedPeer& opened : run.peers) set.insert(set.end(), opened.told.begin(), opened.told.end());
  Json head = {{"device", device(run)},
               {"commit", built_commit()},
               {"target", run.target},
               {"date", run.date},
               {"method", "docs/bench-method.md"},
               {"suite", fs::path(run.suite).filename().string()},
               {"plan_asked", run.plan},
               {"machine", machine_json()},
               {"compiler", compiler()},
               {"libraries", libraries_json(run)},
               {"environment", {{"found_and_unset", variables_json(run.found)}, {"set", variables_json(set)}}}};
  if (run.gpu) head["gpu"] = gpu_json(*run.gpu);
  if (!run.whole) head["whole"] = false;
  return head;
}

Json entry_json(const Outcome& outcome, const Entry& entry, bool ours) {
  Json json = Json::object();
  if (entry.failed.empty()) {
    const double gflops = outcome.gflops(entry);
    json = {{"us", rounded(entry.us.median)},
            {"spread", rounded(entry.us.spread, 3)},
            {"gflops", rounded(gflops)},
            {ours ? "plan" : "way", entry.way},
            {"us_low", rounded(entry.us.low)},
            {"us_high", rounded(entry.us.high)},
            {"confidence", rounded(entry.us.confidence, 4)},
            {"drift", rounded(entry.us.drift, 3)},
            {"rounds", entry.us.count},
            {"calls", entry.calls},
            {"gbytes_per_second", rounded(outcome.which.bytes() / entry.us.median * 1e-3)}};
    if (outcome.peak_gflops > 0)
      json["of_peak"] = rounded(gflops / (outcome.peak_gflops * static_cast<double>(outcome.threads)), 3);
    json["worst_error"] = rounded(entry.worst_error, 3);
    for (const auto& [name, us] : entry.aspects) {
      json[name + "_us"] = rounded(us.median);
      json[name + "_spread"] = rounded(us.spread, 3);
    }
  } else {
    json["failed"] = entry.failed;
  }
  for (const Entry::Trial& trial : entry.trials) {
    Json one = {{"way", trial.way}, {"us", rounded(trial.us, 3)}};
    if (!trial.failed.empty()) one["failed"] = trial.failed;
    json["trials"].push_back(one);
  }
  return json;
}

Json extents_json(const Case& which) {
  return {{"name", which.name},       {"group", which.group},        {"m", which.m}, {"n", which.n}, {"k", which.k},
          {"layout", which.layout()}, {"types", name_of(which.type)}};
}

void add_strides(Json& case_json, const Case& which) {
  case_json["lda"] = which.lda;
  case_json["ldb"] = which.ldb;
  case_json["ldc"] = which.ldc;
  case_json["offset"] = which.offset;
  case_json["step"] = which.step;
  case_json["stepb"] = which.stepb;
}

std::string record_json(const Run& run, std::span<const Outcome> outcomes) {
  Json record = head_json(run);
  record["seconds_per_case"] = run.seconds;
  record["geometric_means"] = means_json(outcomes);
  record["cases"] = Json::array();
  for (const Outcome& outcome : outcomes) record["cases"].push_back(case_json(outcome, run.gpu.has_value()));
  return record_text(record);
}

Json means_json(std::span<const Outcome> outcomes) {
  Json means = Json::array();
  for (const GroupMean& mean : group_means(outcomes)) {
    Json against = Json::object();
    for (const GroupMean::Against& peer : mean.against) against[peer.name] = rounded(peer.ratio, 4);
    means.push_back({{"group", mean.group},
                     {"types", name_of(mean.type)},
                     {"threads", mean.threads},
                     {"ratio", rounded(mean.ratio, 4)},
                     {"cases", mean.cases},
                     {"against", against}});
  }
  return means;
}

void add_ratio(Json& case_json, const Outcome& outcome) {
  if (const auto ratio = outcome.ratio()) {
    case_json["best_peer"] = outcome.best_peer()->name;
    case_json["ratio"] = rounded(*ratio, 4);
  }
}

std::string record_text(const Json& record) {
  std::string text = "{";
  const char* before_key = "\n";
  for (const auto& [key, value] : record.items()) {
    text += fmt::format("{}{}: ", before_key, line(key));
    before_key = ",\n";
    if (key != "geometric_means" && key != "cases") {
      text += line(value);
      continue;
    }
    text += '[';
    const char* before_one = "\n";
    for (const Json& one : value) {
      text += before_one + line(one);
      before_one = ",\n";
    }
    text += "\n]";
  }
  return text + "\n}\n";
}

void check_record_path(const fs::path& given, const std::vector<fs::path>& others) {
  std::error_code none;
  const fs::path path = io::behind_links(given);
  const auto status = fs::status(path, none);
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse(path, "it is not a regular file");
  if (!path.has_filename()) refuse(path, "give the name of a file");
  // Files that do not exist yet are one if their folders are, whatever links lead there.
  const auto place = [&](const fs::path& file) {
    const fs::path target = io::behind_links(file);
    return fs::weakly_canonical(folder_of(target), none) / target.filename();
  };
  for (const fs::path& other : others) {
    if (fs::equivalent(path, other, none) || place(path) == place(other)) {
      refuse(path, fmt::format("it is {}, which this run needs as well", other.string()));
    }
  }
  if (!fs::is_directory(folder_of(path), none))
    refuse(path, fmt::format("the folder {} does not exist", folder_of(path).string()));
  if (access(folder_of(path).c_str(), W_OK) != 0) refuse(path, "its folder cannot be written to");
}

void write_record(const fs::path& given, const std::string& text) {
  const fs::path path = io::behind_links(given);
  const fs::path temporary = folder_of(path) / fmt::format(".tilewright-{}.tmp", getpid());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const auto words = [] { return std::generic_category().message(errno); };
  if (file < 0) refuse(path, fmt::format("creating a temporary file beside it: {}", words()));
  const auto fail = [&](std::string_view what) {
    const std::string reason = fmt::format("{}: {}", what, words());
    unlink(temporary.c_str());
    refuse(path, reason);
  };
  std::string_view rest = text;
  bool whole = true;
  while (whole && !rest.empty()) {
    const ssize_t written = write(file, rest.data(), rest.size());
    whole = written >= 0 || errno == EINTR;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  whole = whole && (fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP);
  const int error = errno;
  close(file);
  errno = error;
  if (!whole) fail("writing");
  if (rename(temporary.c_str(), path.c_str()) != 0) fail("renaming the temporary file");
}

}  // namespace tilewright::bench
