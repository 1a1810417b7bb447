// Conversions between float and the 16-bit types, rounded to nearest even, one function per instruction.
#pragma once

#include <tilewright/tile/traits.hpp>

namespace tilewright::cuda::ptx {

__device__ inline float widen(float value) { return value; }
__device__ inline float widen(bf16 value) { return to_float(value); }
__device__ inline float widen(f16 value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}

template <class E>
__device__ inline E round_to(float value) {
  if constexpr (tile::is_same<E, float>) {
    return value;
  } else {
    E result;
    if constexpr (tile::is_same<E, f16>) {
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    } else {
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    }
    return result;
  }
}

/// The four bytes of high:low from byte `shift` / 8 on; shift is 0 or 16.
__device__ inline u32 funnel(u32 low, u32 high, u32 shift) {
  u32 result;
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift));
  return result;
}

}  // namespace tilewright::cuda::ptx
