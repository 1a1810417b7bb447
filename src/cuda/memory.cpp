#include "cuda/memory.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilewright::cuda {
namespace {

/// Long enough that starting a copy costs nothing beside it, short enough that pinning two of them costs little.
constexpr i64 piece_bytes = i64{4} << 20;

void wait(Stream stream) { check(driver().stream_synchronize(stream), "cuStreamSynchronize"); }

}  // namespace

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

Copier::Copier(int device) : current_(device) {
  constexpr unsigned apart_from_default = 1;  // CU_STREAM_NON_BLOCKING
  try {
    for (Lane& lane : lanes_) {
      check(driver().mem_host_alloc(&lane.pinned, static_cast<std::size_t>(piece_bytes), 0),
            fmt::format("cuMemHostAlloc({} bytes)", piece_bytes));
      check(driver().stream_create(&lane.stream, apart_from_default), "cuStreamCreate");
    }
  } catch (...) {
    release();
    throw;
  }
}
Copier::~Copier() { release(); }

void Copier::release() {
  for (Lane& lane : lanes_) {
    if (lane.stream != nullptr) static_cast<void>(driver().stream_destroy(lane.stream));
    if (lane.pinned != nullptr) static_cast<void>(driver().mem_free_host(lane.pinned));
  }
}

void Copier::upload(std::byte* to, const std::byte* from, i64 bytes) {
  for (i64 at = 0, piece = 0; at < bytes; at += piece_bytes, ++piece) {
    const Lane& lane = lanes_[static_cast<std::size_t>(piece % 2)];
    const auto size = static_cast<std::size_t>(std::min(piece_bytes, bytes - at));
    wait(lane.stream);  // its last piece may still be read
    std::memcpy(lane.pinned, from + at, size);
    check(driver().memcpy_htod_async(reinterpret_cast<Address>(to + at), lane.pinned, size, lane.stream),
          fmt::format("cuMemcpyHtoDAsync({} bytes)", size));
  }
  for (const Lane& lane : lanes_) wait(lane.stream);
}

void Copier::download(std::byte* to, const std::byte* from, i64 bytes) {
  const i64 pieces = (bytes + piece_bytes - 1) / piece_bytes;
  const auto size_of_piece = [&](i64 piece) {
    return static_cast<std::size_t>(std::min(piece_bytes, bytes - piece * piece_bytes));
  };
  // One round more than pieces: in each, a piece begins to travel, and the one before it is taken out.
  for (i64 piece = 0; piece <= pieces; ++piece) {
    if (piece < pieces) {
      const Lane& lane = lanes_[static_cast<std::size_t>(piece % 2)];
      check(driver().memcpy_dtoh_async(lane.pinned, reinterpret_cast<Address>(from + piece * piece_bytes),
                                       size_of_piece(piece), lane.stream),
            fmt::format("cuMemcpyDtoHAsync({} bytes)", size_of_piece(piece)));
    }
    if (piece > 0) {
      const Lane& lane = lanes_[static_cast<std::size_t>((piece - 1) % 2)];
      wait(lane.stream);
      std::memcpy(to + (piece - 1) * piece_bytes, lane.pinned, size_of_piece(piece - 1));
    }
  }
}

void wait_for(int device) {
  const CurrentDevice current(device);
  check(driver().stream_synchronize(nullptr), "cuStreamSynchronize");
}

}  // namespace tilewright::cuda
