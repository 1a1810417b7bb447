// What the fake driver writes into a tensor map: the numbers that it was asked for.
#pragma once

namespace fake_driver {

inline constexpr unsigned most_axes = 3;

/// The first axis' elements are adjacent; strides, in bytes, are those of the others.
struct EncodedMap {
  const unsigned char* address;
  unsigned axes;
  unsigned long long extents[most_axes], strides[most_axes - 1];
  unsigned box[most_axes];
  int swizzle;
};
static_assert(sizeof(EncodedMap) <= 128, "a tensor map has 128 bytes");

}  // namespace fake_driver
