// The operator's programs for bf16 inputs.

#include "gemm/run.hpp"

namespace tilewright::gemm_detail {

void run_bf16(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, i64 threads,
              float* workspace) {
  run_input<bf16>(plan, a, b, c, threads, workspace);
}

}  // namespace tilewright::gemm_detail
