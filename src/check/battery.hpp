// The battery: every built-in kernel, the operator's programs and the teaching ones, over many shapes and layouts in
// the exact checker, and the worked examples of blocked matrix multiplication. It is what `tilewright check` runs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/failures.hpp"

namespace tilewright::exact {

/// A kernel that can be checked on any shape and layout.
struct BuiltinKernel {
  std::string_view name;
  std::string_view what;  // one line
  Report (*check)(const Shape& shape, const LayoutChoice& layout, u64 seed);
};
std::span<const BuiltinKernel> builtin_kernels();

/// The shapes of the battery: around tiles' boundaries, ones, primes, and the article's 130 x 70 x 65.
std::span<const Shape> battery_shapes();

constexpr std::size_t most_failures_told = 5;

struct BatteryResult {
  i64 kernels = 0, shapes = 0, layouts = 0, checks = 0;
  i64 programs = 0, outputs = 0, partial_sums = 0;
  i64 failed = 0, different_failures = 0;
  std::vector<BatteryFailure> failures;  // the first few of the different ones
};
/// Every operand takes each layout on every shape.
BatteryResult run_battery(std::span<const BuiltinKernel> kernels, u64 seed, i64 threads,
                          const std::function<void(double done)>& progress = {});
/// The built-in kernel of that name, or all of them if it is empty.
BatteryResult run_battery(std::string_view kernel, u64 seed, i64 threads,
                          const std::function<void(double done)>& progress = {});

/// One hand-checked example: what is claimed, what came out.
struct WorkedExample {
  std::string claim, got;
  bool passed;
};
std::vector<WorkedExample> worked_examples();

}  // namespace tilewright::exact
