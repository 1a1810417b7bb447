// Copies between global and shared memory, one function per instruction. Shared addresses are 32-bit, as the
// instructions take them.
#pragma once

#include <tilewright/tile/traits.hpp>

namespace tilewright::cuda::ptx {

/// The shared-memory address of a pointer into shared memory.
__device__ inline u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

/// Keeps a number in a register. The compiler computes it again in every turn of a loop if it can, to save registers;
/// what comes from another lane it cannot compute, and each lane is its own neighbour here. All lanes of a warp must be
/// there.
__device__ inline void keep(u32& value) {
  asm volatile("{\n.reg .u32 lane;\nmov.u32 lane, %%laneid;\nshfl.sync.idx.b32 %0, %0, lane, 31, 0xffffffff;\n}"
               : "+r"(value));
}
__device__ inline void keep(unsigned long long& value) {
  u32 low = static_cast<u32>(value), high = static_cast<u32>(value >> 32);
  keep(low);
  keep(high);
  value = static_cast<unsigned long long>(high) << 32 | low;
}
/// Adds, in the register where the sum stands.
__device__ inline void advance(u32& sum, u32 by) { asm volatile("add.u32 %0, %0, %1;" : "+r"(sum) : "r"(by)); }
/// Hides from the compiler that a number is a constant.
__device__ inline void hide(int& value) { asm volatile("" : "+r"(value)); }

// Copies of Bytes (16, 8 or 4) bytes. The rest of the 128 bytes around them is likely to be wanted soon, by the next
// step or by a neighbour, and may come to the L2 with them.

template <int Bytes>
__device__ inline void async_copy(u32 to, const void* from) {
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(Bytes) : "memory");
  }
}
/// Copies 16 bytes, or does nothing.
__device__ inline void async_copy_needed(bool needed, u32 to, const void* from) {
  asm volatile(
      "{\n.reg .pred needed;\nsetp.ne.s32 needed, %2, 0;\n@needed cp.async.cg.shared.global.L2::128B [%0], [%1], "
      "16;\n}" ::"r"(to),
      "l"(from), "r"(static_cast<int>(needed))
      : "memory");
}
/// Copies Bytes bytes, or writes as many zeros and reads nothing.
template <int Bytes>
__device__ inline void async_copy_if(bool exists, u32 to, const void* from) {
  if constexpr (Bytes == 16) {
    asm volatile(
        "{\n.reg .pred none;\nsetp.eq.s32 none, %2, 0;\n"
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, none;\n}" ::"r"(to),
        "l"(from), "r"(static_cast<int>(exists))
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred none;\nsetp.eq.s32 none, %3, 0;\n"
        "cp.async.ca.shared.global.L2::128B [%0], [%1], %2, none;\n}" ::"r"(to),
        "l"(from), "n"(Bytes), "r"(static_cast<int>(exists))
        : "memory");
  }
}
/// Copies the first `count` of Bytes bytes, reads no more, and fills the rest with zeros.
template <int Bytes>
__device__ inline void async_copy_part(u32 to, const void* from, int count) {
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(count) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(Bytes), "r"(count)
                 : "memory");
  }
}
__device__ inline void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most Pending groups of this thread are in flight.
template <int Pending>
__device__ inline void async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

__device__ inline void store_shared(u32 to, u32 value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(value) : "memory");
}
__device__ inline void store_shared(u32 to, uint2 value) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(value.x), "r"(value.y) : "memory");
}
__device__ inline void store_shared(u32 to, uint4 value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}
__device__ inline void store_shared(u32 to, const float4& value) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(value.x), "f"(value.y), "f"(value.z),
               "f"(value.w)
               : "memory");
}
__device__ inline void store_shared(u32 to, u16 value) {
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"(value) : "memory");
}
__device__ inline void store_shared(u32 to, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}
__device__ inline u16 load_shared_half(u32 from) {
  u16 value;
  asm volatile("ld.shared.b16 %0, [%1];" : "=h"(value) : "r"(from) : "memory");
  return value;
}
__device__ inline u32 load_shared_word(u32 from) {
  u32 value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}
__device__ inline float load_shared_float(u32 from) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(from) : "memory");
  return value;
}
__device__ inline uint4 load_shared_chunk(u32 from) {
  uint4 value;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(from)
               : "memory");
  return value;
}

}  // namespace tilewright::cuda::ptx
