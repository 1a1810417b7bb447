// The operator: C = A * B.
//
// Inputs f16, bf16 or f32 (both the same), FP32 accumulation, output f16, bf16 or f32, rounded once. Any extents, zero
// included; any strides of the inputs, negative and zero included. The contract below is checked before anything is
// written; below it nothing is checked again.
#pragma once

#include <optional>

#include <tilewright/error.hpp>
#include <tilewright/matrix.hpp>
#include <tilewright/plan.hpp>

namespace tilewright {

struct GemmOptions {
  PlanRequest plan;             // fields left open are chosen by the planner
  i64 threads = 0;              // at most so many, 1024 or fewer; 0: as many as this process may use
  i64 workspace_bytes = 0;      // budget for partial sums of a split K, and for copies of operands on a GPU, which are
                                // allocated and freed in the order of the stream; a plan that needs more is refused
  void* stream = nullptr;       // of operands on a GPU: a CUstream of their device's primary context; null: the default
  std::optional<DType> output;  // of gemm: element type of the result; the inputs' type if not given
};

/// C (m x n) = a (m x k) * b (k x n) in a new contiguous matrix. K = 0 gives zeros.
/// The operands lie on the host, as the new matrix does.
/// Throws Error: inner_extents, input_types, unsupported_type, null_data, address_range, too_large, plan_*, workspace,
/// device.
Matrix gemm(const MatrixView& a, const MatrixView& b, const GemmOptions& options = {});

/// The same into c, through c's own strides; what c held is never read. c may not overlap itself, nor share a byte with
/// a or b: decided exactly for regular strides, else conservatively (docs/errors.md), and refused before anything is
/// written. Where all operands lie on one GPU, the work is enqueued there and not waited for; nothing is
/// allocated under a budget of zero.
/// Throws as gemm, and driver, kernel, output_extents, output_overlaps_itself, output_overlaps_input.
void gemm_into(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const GemmOptions& options = {});

/// The problem that these views state, and the plan gemm_into would use for it, with its reasons. Throws as gemm_into.
Problem problem_of(const MatrixView& a, const MatrixView& b, const MatrixView& c);
PlanChoice plan_for(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c,
                    const GemmOptions& options = {});

/// How many threads options.threads = 0 means here.
i64 available_threads();

/// At most how many threads multiply a problem on the CPU under options.threads = asked: 1 for a product so small that
/// waking a second one would cost more than it gives. Throws Error plan_value if it is not from 0 to 1024.
i64 threads_for(const Problem& problem, i64 asked);

}  // namespace tilewright
