// Memory on a device, for those who bring their data from the host: the command and the tools. The operator allocates
// nothing.
#pragma once

#include <array>
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

 private:
  int device_;
  Address address_ = 0;
  i64 bytes_;
};

/// Copies between the host and a device, in pieces: while one piece travels, the processor copies the next between the
/// caller's memory, which may be a mapped file, and memory that the device reaches by itself. Each call ends when the
/// bytes have arrived.
class Copier {
 public:
  explicit Copier(int device);
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;
  ~Copier();
  void upload(std::byte* to, const std::byte* from, i64 bytes);
  void download(std::byte* to, const std::byte* from, i64 bytes);

 private:
  /// Two take turns.
  struct Lane {
    void* pinned = nullptr;
    Stream stream = nullptr;
  };
  void release();

  CurrentDevice current_;
  std::array<Lane, 2> lanes_;
};

/// Waits until all that was enqueued on a device's default stream has ended. Throws Error driver if any of it failed.
void wait_for(int device);

}  // namespace tilewright::cuda
