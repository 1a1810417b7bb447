#include "cli/gpu.hpp"

#include <chrono>
#include <cstdint>

#include <tilewright/cuda.hpp>
#include "core/pages.hpp"
#include "cuda/memory.hpp"

namespace tilewright::cli {
namespace {

constexpr int device = 0;

/// The bytes of a view of the host on the device, at the same alignment, so that the device's view is in the same
/// layout class.
class Twin {
 public:
  explicit Twin(const MatrixView& view)
      : range_(byte_range(view)),
        shift_(static_cast<i64>(reinterpret_cast<std::uintptr_t>(range_.begin) & 255u)),
        buffer_(device, range_.end - range_.begin + shift_) {}
  i64 bytes() const { return range_.end - range_.begin; }
  void upload(cuda::Copier& copier) const { copier.upload(buffer_.data() + shift_, range_.begin, bytes()); }
  /// To where the view's bytes are on the host.
  void download(cuda::Copier& copier, std::byte* to) const { copier.download(to, buffer_.data() + shift_, bytes()); }

  template <class View>
  View on_device(View view) const {
    view.data = buffer_.data() + shift_ + (static_cast<const std::byte*>(view.data) - range_.begin);
    return view;
  }

 private:
  ByteRange range_;
  i64 shift_;
  cuda::Buffer buffer_;
};

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::string gpu_unsuited(const GemmOptions& options) {
  if (std::string why = cuda::unavailable(); !why.empty()) return why;
  if (options.threads != 0) return "--threads speaks of the cpu";
  return {};
}

GpuRun multiply_on_gpu(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c,
                       const GemmOptions& options) {
  GpuRun run;
  run.device = cuda::describe(device).name;
  const Twin a_twin(a), b_twin(b), c_twin(c);
  const MatrixView a_view = a_twin.on_device(a), b_view = b_twin.on_device(b);
  const MutableMatrixView c_view = c_twin.on_device(c);
  run.choice = plan_for(a_view, b_view, c_view, options);
  // The product's memory is fresh. Written to page by page, it would take what comes from the device at 2 GB/s or less.
  const core::PagesAhead pages(static_cast<std::byte*>(c.data), c_twin.bytes());
  cuda::Copier copier(device);
  run.upload = seconds_of([&] {
    a_twin.upload(copier);
    b_twin.upload(copier);
  });
  const auto multiply = [&] {
    gemm_into(a_view, b_view, c_view, options);
    cuda::wait_for(device);
  };
  run.first = seconds_of(multiply);
  run.compute = seconds_of(multiply);
  run.download = seconds_of([&] { c_twin.download(copier, static_cast<std::byte*>(c.data)); });
  run.upload_bytes = a_twin.bytes() + b_twin.bytes();
  run.download_bytes = c_twin.bytes();
  return run;
}

}  // namespace tilewright::cli
