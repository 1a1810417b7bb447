// The operator on a GPU: where the operands lie, the plan for that device, the launch.
#pragma once

#include <optional>

#include <tilewright/gemm.hpp>
#include "gemm/cuda_kernel.hpp"

namespace tilewright::gemm_detail {

/// The device that all operands lie on; nothing if they lie on the host. Views without elements lie nowhere. Throws
/// Error device for operands in two places.
std::optional<int> device_of_operands(const MatrixView& a, const MatrixView& b, const MatrixView& c);

/// The plan for a device. Throws as choose_gpu_plan.
PlanChoice cuda_plan(const Problem& problem, const PlanRequest& request, int device, i64 workspace_bytes = 0);

/// Enqueues a checked problem under the plan of cuda_plan. A thread keeps what it launched lately: the same problem
/// again is one call of the driver, with nothing planned, written or allocated; or two where the plan leaves a rest
/// (which is planned anew where its rows begin otherwise than the last time), or, where it packs operands, one more for
/// each and for their memory. An epilogue counts the rows and columns of all of C: with one, no rest is left, whatever
/// the plan says.
void run_cuda(const Problem& problem, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, int device,
              const GemmOptions& options, const Epilogue& epilogue = {});

}  // namespace tilewright::gemm_detail
