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

/// Whether vectors of an operand are best read along its lines' axis rather than along k: the axis of the smaller
/// stride, whose elements share the most cache lines; never one with a table.
template <class V>
bool read_across(const Axis& line, const Axis& along, int lines) {
  if (line.offsets != nullptr || along.offsets != nullptr) return line.offsets == nullptr;
  const auto magnitude = [](i64 stride) {
    return stride < 0 ? -static_cast<__UINT64_TYPE__>(stride) : static_cast<__UINT64_TYPE__>(stride);
  };
  return lines > 1 && magnitude(line.stride) <= magnitude(along.stride);
}

/// The element at an offset from the base. The base alone may lie outside of any object, hence the arithmetic on
/// integers.
template <class V, class E>
[[gnu::always_inline]] inline E* element_at(E* base, i64 offset) {
  return reinterpret_cast<E*>(reinterpret_cast<__UINTPTR_TYPE__>(base) +
                              static_cast<__UINTPTR_TYPE__>(offset) * sizeof(E));
}

/// The first `count` of a vector of elements that lie `step` apart, as floats; the rest are 0. No other element is
/// looked at, though memory between two of them may be read.
template <class V, class E>
[[gnu::always_inline]] inline auto read_apart(const E* p, i64 step, int count) {
  if (step == 1) return count == V::lanes ? V::read(p) : V::read_first(p, count);
  if (count == V::lanes) return V::read_step(p, step);
  E elements[V::lanes] = {};
  for (int i = 0; i < count; ++i) elements[i] = *element_at<V>(p, i * step);
  return V::read(elements);
}

/// V::read_step for steps without a shortcut.
template <class V, class E>
auto read_one_by_one(const E* p, i64 step) {
  E elements[V::lanes];
  for (int i = 0; i < V::lanes; ++i) elements[i] = *element_at<V>(p, i * step);
  return V::read(elements);
}

/// count * stride + more, wrapped: where a prefetch goes, which is no access and may lie anywhere.
template <class V>
[[gnu::always_inline]] inline i64 ahead(int count, i64 stride, int more = 0) {
  using Wrapped = __UINT64_TYPE__;
  return static_cast<i64>(static_cast<Wrapped>(count) * static_cast<Wrapped>(stride) + static_cast<Wrapped>(more));
}

template <class V>
[[gnu::always_inline]] inline int lower(int a, int b) {
  return a < b ? a : b;
}

}  // namespace tilewright::cpu
