// What the device check runs: cases by name, each given a worker, each giving the empty string or what is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tilewright/cuda.hpp>
#include <tilewright/plan.hpp>
#include "tests/cuda/device/memory.hpp"

namespace device_check {

struct Case {
  std::string name;
  std::function<std::string(Worker&)> run;
};

/// Thrown by a case whose plan is one of those that are left out: it has not run.
struct LeftOut {};

/// reduced: for a run under a sanitizer, which is some hundred times slower.
void add_gemm_cases(std::vector<Case>& cases, bool reduced);
void add_kernel_cases(std::vector<Case>& cases, bool reduced);
void add_operator_cases(std::vector<Case>& cases, bool reduced);
void add_epilogue_cases(std::vector<Case>& cases, bool reduced);
/// `count` problems that a seed draws, from the `first`-th on; the name of each reproduces it.
void add_random_cases(std::vector<Case>& cases, i64 count, std::uint64_t seed, i64 first);
void add_runtime_cases(std::vector<Case>& cases, bool reduced);

}  // namespace device_check
