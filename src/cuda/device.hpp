// Devices: what one offers, its context, and on which device memory lies.
#pragma once

#include <string>

#include "cuda/driver.hpp"

namespace tilewright::cuda {

/// What a device offers to a kernel, read off the driver.
struct DeviceDescription {
  int ordinal = 0;
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int shared_bytes = 0;  // at most for one block of threads
  i64 l2_bytes = 0, memory_bytes = 0;

  /// The architecture that kernels are compiled for: "sm_90a". The `a` admits the instructions of compute capability
  /// 9.0 alone.
  std::string architecture() const;
};

int device_count();
/// Throws Error driver; problem for an ordinal that no device has.
const DeviceDescription& describe(int ordinal);

/// For the length of a scope, the primary context of a device is the calling thread's; before and after, whatever was.
class CurrentDevice {
 public:
  explicit CurrentDevice(int ordinal);
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice();

 private:
  bool pushed_ = false;  // not where it was current already
};

/// The device that memory lies on; nothing for memory of the host.
std::optional<int> device_of(const void* pointer);

}  // namespace tilewright::cuda
