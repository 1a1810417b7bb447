// `explain --target cuda`: what a GPU would do with a problem. Works without one, for a device that is then assumed.
#pragma once

#include <tilewright/explain.hpp>

namespace tilewright::cli {

/// Prints the plan, its kernel, the grid and the candidates, as text or as one JSON object. Throws Error as the planner.
void explain_gpu(const MatrixView& a, const MatrixView& b, const MatrixView& c, const PlanRequest& request,
                 i64 workspace_bytes, bool json);

}  // namespace tilewright::cli
