// What `tilewright gemm` was asked for and what came out, as text for a person and as JSON.
#pragma once

#include <optional>
#include <string>

#include <tilewright/npy.hpp>
#include <tilewright/verify.hpp>

#include "cli/gpu.hpp"
#include "cli/text.hpp"

namespace tilewright::cli {

struct GemmArguments {
  std::optional<std::string> a, b, output;
  std::optional<std::string> slice_a, slice_b;
  bool transpose_a = false, transpose_b = false;
  std::optional<std::string> in_dtype, out_dtype, target, plan, cache;
  std::optional<i64> threads, workspace;
  bool verify = false, explain = false, json = false;
};

/// A file and the view of it that is multiplied.
struct Operand {
  std::string file;
  std::optional<std::string> slices;
  bool transposed;
  NpyMatrix stored;
  MatrixView view;
};

/// All that is known at the end.
struct Outcome {
  const GemmArguments& arguments;
  const Operand &a, &b;
  MatrixView c;
  PlanChoice choice;
  i64 programs = 0, threads = 0;  // on the CPU: how many programs there were, and how many threads ran them
  double seconds = 0;
  std::optional<VerifyResult> verified;
  VerifyOptions verify_options;
  std::optional<i64> file_bytes;  // of the result, once written
  std::optional<GpuRun> gpu;      // where and how it was multiplied, if on a GPU
  std::string why_taken;          // by auto; empty if the target was given

  bool sampled() const { return verified->checked < verified->total; }
  double flops() const {
    return 2.0 * static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(a.view.cols);
  }
  /// As an integer, where the double holds it exactly.
  std::optional<i64> exact_flops() const {
    return flops() <= 0x1p53 ? std::optional(static_cast<i64>(flops())) : std::nullopt;
  }
};

std::string outcome_text(const Outcome& outcome);
Json outcome_json(const Outcome& outcome);

}  // namespace tilewright::cli
