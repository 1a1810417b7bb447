// The compression of the kernel pack: repetitions at any distance, whole bytes, no entropy code.
//
// Kernels of one pack share most of their machine code, at distances far beyond the 32 KiB window of zlib's format: this
// makes less of a pack than zlib of each kernel does (docs/cuda.md), and is no library that a user's program must link.
//
// The format: a sequence of (literals, repetition), each literal count, length and distance an integer of 7 bits a byte,
// least first; a distance of 0 means the last one again; the last repetition is missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilewright::cuda {

std::string compress(std::string_view bytes);

/// The bytes again, if there are exactly so many and the input is whole; nothing for any other input. needed: stops, and
/// looks no further, once so many are there.
std::optional<std::string> decompress(std::string_view packed, std::size_t size,
                                      std::size_t needed = static_cast<std::size_t>(-1));

}  // namespace tilewright::cuda
