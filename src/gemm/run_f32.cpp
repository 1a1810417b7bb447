// The operator's programs for f32 inputs.

#include "gemm/run.hpp"

namespace tilewright::gemm_detail {

void run_f32(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, i64 threads,
             float* workspace) {
  run_input<float>(plan, a, b, c, threads, workspace);
}

}  // namespace tilewright::gemm_detail
