// `gemm --target cuda`: files to a device, the multiplication, the product back.
#pragma once

#include <string>

#include <tilewright/gemm.hpp>

namespace tilewright::cli {

/// What a multiplication on a GPU took, in seconds, and where it was.
struct GpuRun {
  PlanChoice choice;
  std::string device;                            // its name
  double upload = 0, compute = 0, download = 0;  // copies to the device, the multiplication, the copy back
  double first = 0;                              // the first multiplication, compiling included where it had to be
  i64 upload_bytes = 0, download_bytes = 0;
};

/// Why auto does not take a GPU under these options; empty if it does.
std::string gpu_unsuited(const GemmOptions& options);

/// c = a * b on the first device; the views are of the host. Throws Error: target without a device, driver, and as
/// gemm_into.
GpuRun multiply_on_gpu(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c,
                       const GemmOptions& options);

}  // namespace tilewright::cli
