// Digests of bytes: names of cache entries, keys of the kernel pack, checksums of both. Not cryptographic: they tell
// apart what this project makes, and find damage.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include <tilewright/mix.hpp>

namespace tilewright::cuda {

using u64 = unsigned long long;

inline u64 hash(std::string_view bytes, u64 seed) {
  u64 state = mix(seed ^ bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    u64 word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    state = mix(state ^ word) + 0x9e3779b97f4a7c15u * word;
  }
  return mix(state);
}

/// 128 bits.
struct Digest {
  u64 low = 0, high = 0;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};
inline Digest digest_of(std::string_view bytes) { return {hash(bytes, 1), hash(bytes, 2)}; }

}  // namespace tilewright::cuda
