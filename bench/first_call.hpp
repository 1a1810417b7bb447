// What the first call of a fresh process takes on a GPU: for this library with an empty and with a filled cache of
// compiled kernels, and for peers. Each is measured by this program started anew.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tilewright/plan.hpp>
#include "bench/suite.hpp"

namespace tilewright::bench {

/// Milliseconds of one process.
struct FirstCall {
  double context = 0;  // the driver and the device's context
  double open = 0;     // the contender's library and its handle
  double first = 0;    // the first call, until the device is done
  double again = 0;    // the second
};

/// In the process that is measured: one call on this case. Throws Error, and std::runtime_error for a peer that is
/// missing, has no way or, in the calls that follow, leaves a wrong product.
FirstCall first_call(const Case& which, const std::string& contender, const PlanRequest& plan);

/// "context open first again" on a line, and back. Nothing for a text that is no such line.
std::string to_line(const FirstCall& call);
std::optional<FirstCall> parse_first_call(std::string_view line);

/// The calls of one contender: the median of each column over the processes, or why there is none.
struct FirstCalls {
  std::string contender, cache;  // cache: "empty", "filled", or empty where a contender has none
  FirstCall median;
  std::string failed;
};
/// Of this library and of peers, `processes` times each. start: runs this program for one call of a contender with a
/// folder as its cache and returns what it printed; throws std::runtime_error with its words if it failed.
using Start = std::function<std::string(const std::string& contender, const std::string& cache)>;
std::vector<FirstCalls> first_calls(std::span<const std::string> peers, int processes, const Start& start);

/// Runs this program with these arguments and returns its standard output. Throws std::runtime_error with its standard
/// error unless it ends with 0.
std::string run_this_program(const std::vector<std::string>& arguments);

}  // namespace tilewright::bench
