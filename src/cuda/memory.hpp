// Memory on a device, for those who bring their data from the host: the command and the tools. The operator allocates
// nothing.
#pragma once

#include <cstddef>
#include <utility>

#include "cuda/device.hpp"

namespace tilewright::cuda {

/// Device memory that this object owns.
class Buffer {
 public:
  /// Throws Error driver where memory does not suffice.
  Buffer(int device, i64 bytes);
  Buffer(Buffer&& other) noexcept
      : device_(other.device_), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }
  i64 bytes() const { return bytes_; }
  /// Copies bytes of the host to an offset, or from it, and waits.
  void upload(i64 offset, const void* from, i64 bytes) const;
  void download(i64 offset, void* to, i64 bytes) const;

 private:
  int device_;
  Address address_ = 0;
  i64 bytes_;
};

/// Waits until all that was enqueued on a device's default stream has ended. Throws Error driver if any of it failed.
void wait_for(int device);

}  // namespace tilewright::cuda
