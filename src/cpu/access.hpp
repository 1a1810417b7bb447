// How packing, loading and storing reach the elements of a strided block, in one place.
//
// Everything takes the instruction set V, although nothing here depends on it: see vector.hpp.
#pragma once

#include <tilewright/tile/cpu/kernels.hpp>

namespace tilewright::cpu {

/// One axis of a block. begin <= end, both within the block.
struct Axis {
  i64 stride;          // elements
  const i64* offsets;  // elements, replaces i * stride; may be null
  int begin, end;      // positions whose memory may be touched
};

/// An axis with its bounds clipped to the block's extent.
template <class V>
Axis axis_of(i64 stride, const i64* offsets, int begin, int end, int extent) {
  const int first = begin < 0 ? 0 : begin < extent ? begin : extent;
  const int last = end < first ? first : end < extent ? end : extent;
  return {stride, offsets, first, last};
}

/// Where position i is, in elements from the base; Operand::masked where its memory may not be touched.
template <class V>
[[gnu::always_inline]] inline i64 offset_of(const Axis& axis, int i) {
  if (i < axis.begin || i >= axis.end) return Operand::masked;
  return axis.offsets != nullptr ? axis.offsets[i] : i * axis.stride;
}

/// Whether consecutive positions are consecutive in memory.
template <class V>
bool contiguous(const Axis& axis) {
  return axis.offsets == nullptr && axis.stride == 1;
}

/// The element at an offset from the base. The base alone may lie outside of any object, hence the arithmetic on
/// integers.
template <class V, class E>
[[gnu::always_inline]] inline E* element_at(E* base, i64 offset) {
  return reinterpret_cast<E*>(reinterpret_cast<__UINTPTR_TYPE__>(base) +
                              static_cast<__UINTPTR_TYPE__>(offset) * sizeof(E));
}

/// count * stride, wrapped: where a prefetch goes, which is no access and may lie anywhere.
template <class V>
[[gnu::always_inline]] inline i64 ahead(int count, i64 stride) {
  return static_cast<i64>(static_cast<__UINT64_TYPE__>(count) * static_cast<__UINT64_TYPE__>(stride));
}

template <class V>
[[gnu::always_inline]] inline int lower(int a, int b) {
  return a < b ? a : b;
}

}  // namespace tilewright::cpu
