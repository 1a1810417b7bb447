// The operator on a GPU: where the operands lie, the plan for that device, the launch.
#pragma once

#include <optional>

#include <tilewright/plan.hpp>

namespace tilewright::gemm_detail {

/// The device that all operands lie on; nothing if they lie on the host. Views without elements lie nowhere. Throws
/// Error device for operands in two places.
std::optional<int> device_of_operands(const MatrixView& a, const MatrixView& b, const MatrixView& c);

/// The plan for a device. Throws as choose_gpu_plan.
PlanChoice cuda_plan(const Problem& problem, const PlanRequest& request, int device);

/// Enqueues a checked problem under a plan of cuda_plan.
void run_cuda(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, int device,
              void* stream);

}  // namespace tilewright::gemm_detail
