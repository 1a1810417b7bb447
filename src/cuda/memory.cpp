#include "cuda/memory.hpp"

#include <fmt/format.h>

namespace tilewright::cuda {

Buffer::Buffer(int device, i64 bytes) : device_(device), bytes_(bytes) {
  const CurrentDevice current(device);
  check(driver().mem_alloc(&address_, static_cast<std::size_t>(bytes > 0 ? bytes : 1)),
        fmt::format("cuMemAlloc({} bytes)", bytes));
}
Buffer::~Buffer() {
  if (address_ == 0) return;
  const CurrentDevice current(device_);
  static_cast<void>(driver().mem_free(address_));  // fails only after an error that has been told
}
void Buffer::upload(i64 offset, const void* from, i64 bytes) const {
  const CurrentDevice current(device_);
  check(driver().memcpy_htod_async(address_ + static_cast<Address>(offset), from, static_cast<std::size_t>(bytes),
                                   nullptr),
        fmt::format("cuMemcpyHtoDAsync({} bytes)", bytes));
  wait_for(device_);
}
void Buffer::download(i64 offset, void* to, i64 bytes) const {
  const CurrentDevice current(device_);
  check(
      driver().memcpy_dtoh_async(to, address_ + static_cast<Address>(offset), static_cast<std::size_t>(bytes), nullptr),
      fmt::format("cuMemcpyDtoHAsync({} bytes)", bytes));
  wait_for(device_);
}

void wait_for(int device) {
  const CurrentDevice current(device);
  check(driver().stream_synchronize(nullptr), "cuStreamSynchronize");
}

}  // namespace tilewright::cuda
