// See measuring.hpp.
#include "cli/measuring.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include "bench/record.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "core/shown.hpp"
#include "measure/processors.hpp"

namespace tilewright::cli {

std::vector<std::string> words_of(std::string_view option, std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    if (words.back().empty()) throw UsageError(fmt::format("{} has an empty part", option));
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

double parse_seconds(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= 3600))
    throw UsageError(fmt::format("--seconds is '{}': give a number from 0 to 3600", text));
  return value;
}

std::string read_text(const std::string& path) {
  const auto refuse = [&](std::string_view reason) {
    throw Error(ErrorCode::file_open, fmt::format("cannot read {}: {}", core::shown_file(path), reason));
  };
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  using std::filesystem::file_type;
  if (unknown) refuse(unknown.message());
  if (status.type() == file_type::not_found) refuse(std::generic_category().message(ENOENT));
  if (status.type() != file_type::regular)
    refuse(fmt::format("it is {} and not a regular file: give the name of a file",
                       status.type() == file_type::directory ? "a folder"
                       : status.type() == file_type::fifo    ? "a named pipe"
                       : status.type() == file_type::socket  ? "a socket"
                                                             : "a device"));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (file.bad() || !file.is_open()) refuse(std::generic_category().message(errno));
  return text.str();
}

std::vector<bench::Case> cases_of(const std::string& suite, const std::optional<std::string>& names) {
  std::vector<bench::Case> cases = bench::parse_suite(read_text(suite), suite);
  if (!names) return cases;
  const std::vector<std::string> wanted = words_of("--case", *names);
  const auto meant_by = [](const std::string& pattern, const std::string& name) {
    return pattern == name || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  };
  for (const std::string& pattern : wanted) {
    std::vector<std::string> known;
    for (const bench::Case& one : cases) known.push_back(one.name);
    if (std::ranges::any_of(known, [&](const std::string& name) { return meant_by(pattern, name); })) continue;
    const auto meant = nearest(pattern, known);
    throw UsageError(fmt::format("the suite has no case '{}'{}; 'tilewright bench --list' names them", pattern,
                                 meant ? fmt::format(" (did you mean {}?)", *meant) : ""));
  }
  std::erase_if(cases, [&](const bench::Case& one) {
    return std::ranges::none_of(wanted, [&](const std::string& pattern) { return meant_by(pattern, one.name); });
  });
  return cases;
}

void write_file(const std::string& path, const std::string& text) {
  const UninterruptedSection section;
  bench::write_record(path, text);
}

void set_clocks(bench::HarnessOptions& options, bench::GpuBench* gpu, bool host) {
  constexpr double longest_spin_us = 5e5, longest_sharing_us = 2e5;
  options.settle = [processors = std::make_shared<measure::Processors>()](i64 threads) {
    measure::wait_until_idle(longest_spin_us);
    return processors->come_to_speed(threads, longest_sharing_us);
  };
  if (gpu != nullptr) gpu->take_over(options, host);
}

}  // namespace tilewright::cli
