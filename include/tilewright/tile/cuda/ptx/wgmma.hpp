// The tensor cores' instructions m64nNk16 of four warps, of compute capability 9.0 alone (sm_90a), one function per
// instruction. They run by themselves: what they read and write is the instruction's until its group was waited for.
#pragma once

#include <tilewright/tile/traits.hpp>

namespace tilewright::cuda::ptx {

/// Makes what this thread wrote to shared memory visible to wgmma, once a barrier has been passed.
__device__ inline void fence_for_wgmma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// Before the first wgmma on registers that something else has written.
__device__ inline void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most Pending groups of this warp are in flight.
template <int Pending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
/// Keeps the compiler from reading a register before what stands in front of this.
__device__ inline void pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }
/// Another lane's value. It stays a float in the compiler's eyes: __shfl_sync makes whole numbers of accumulators, and
/// moves between registers of the two kinds while wgmma adds to them.
__device__ inline float value_of_lane(float value, int lane) {
  float result;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(result) : "f"(value), "r"(lane));
  return result;
}
/// Keeps registers from being given to something else before this. wgmma reads those of its left operand when it comes
/// to them, and the assembler takes them to be free as soon as the instruction is issued. address: a shared address,
/// which is never 2^32 - 1, as nobody but us knows.
__device__ inline void hold(u32 (&words)[4], u32 address) {
  asm volatile(
      "{\n.reg .pred never;\nsetp.eq.u32 never, %0, 0xffffffff;\n@never st.shared.v4.b32 [%0], {%1, %2, %3, %4};\n}" ::
          "r"(address),
      "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
      : "memory");
}

// The registers of 64 x N results, 8 columns after the other: two in row g of the thread's 16 rows, two in row g + 8.
#define TILEWRIGHT_D8(n) "+f"(upper[2 * (n)]), "+f"(upper[2 * (n) + 1]), "+f"(lower[2 * (n)]), "+f"(lower[2 * (n) + 1])
#define TILEWRIGHT_D16(n) TILEWRIGHT_D8(n), TILEWRIGHT_D8((n) + 1)
#define TILEWRIGHT_D32(n) TILEWRIGHT_D16(n), TILEWRIGHT_D16((n) + 2)
#define TILEWRIGHT_D64(n) TILEWRIGHT_D32(n), TILEWRIGHT_D32((n) + 4)
#define TILEWRIGHT_D128(n) TILEWRIGHT_D64(n), TILEWRIGHT_D64((n) + 8)
#define TILEWRIGHT_D256(n) TILEWRIGHT_D128(n), TILEWRIGHT_D128((n) + 16)
#define TILEWRIGHT_R16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define TILEWRIGHT_R32 TILEWRIGHT_R16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define TILEWRIGHT_R64 TILEWRIGHT_R32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TILEWRIGHT_R128                                                                          \
  TILEWRIGHT_R64                                                                                 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TILEWRIGHT_R256                                                                               \
  TILEWRIGHT_R128                                                                                     \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
  "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, " \
  "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, "  \
  "%118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// N columns of elements `type`; A and B: the numbers of their operands, TA and TB: of the flags that say whether a
// block is adjacent along M, or N, and not along K. Behind it, the same with A in registers.
#define TILEWRIGHT_WGMMA(N, type, A, B, TA, TB)                                                                   \
  asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 1, 1;\nwgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type \
               "." type " {" TILEWRIGHT_R##N "}, " A ", " B ", add, 1, 1, " TA ", " TB ";\n}"                     \
               : TILEWRIGHT_D##N(0)                                                                               \
               : "l"(a), "l"(b), "n"(AlongM), "n"(AlongN))
#define TILEWRIGHT_WGMMA_LEFT(N, type, A, B, TB)                                                                  \
  asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 1, 1;\nwgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type \
               "." type " {" TILEWRIGHT_R##N "}, {" A "}, " B ", add, 1, 1, " TB ";\n}"                           \
               : TILEWRIGHT_D##N(0)                                                                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(AlongN))
#define TILEWRIGHT_WGMMA_LEFT_TYPES(N, A, B, TB) \
  if constexpr (tile::is_same<E, f16>) {         \
    TILEWRIGHT_WGMMA_LEFT(N, "f16", A, B, TB);   \
  } else {                                       \
    TILEWRIGHT_WGMMA_LEFT(N, "bf16", A, B, TB);  \
  }
#define TILEWRIGHT_WGMMA_TYPES(N, A, B, TA, TB) \
  if constexpr (tile::is_same<E, f16>) {        \
    TILEWRIGHT_WGMMA(N, "f16", A, B, TA, TB);   \
  } else {                                      \
    TILEWRIGHT_WGMMA(N, "bf16", A, B, TA, TB);  \
  }

/// The widths that there are functions for.
constexpr int wgmma_width(int columns) {
  return columns >= 256 ? 256 : columns >= 128 ? 128 : columns >= 64 ? 64 : columns >= 32 ? 32 : 16;
}

/// results (64 x N, distributed over four warps) += a (64 x 16) * b (16 x N), which descriptors of blocks in shared
/// memory name. upper, lower: this thread's registers in its rows g and g + 8.
template <class E, int N, int AlongM, int AlongN>
__device__ inline void wgmma(float* upper, float* lower, unsigned long long a, unsigned long long b) {
  if constexpr (N == 16) {
    TILEWRIGHT_WGMMA_TYPES(16, "%8", "%9", "%10", "%11")
  } else if constexpr (N == 32) {
    TILEWRIGHT_WGMMA_TYPES(32, "%16", "%17", "%18", "%19")
  } else if constexpr (N == 64) {
    TILEWRIGHT_WGMMA_TYPES(64, "%32", "%33", "%34", "%35")
  } else if constexpr (N == 128) {
    TILEWRIGHT_WGMMA_TYPES(128, "%64", "%65", "%66", "%67")
  } else {
    static_assert(N == 256);
    TILEWRIGHT_WGMMA_TYPES(256, "%128", "%129", "%130", "%131")
  }
}

/// The same with a in registers, distributed as mma.sync has it: four warps hold 16 rows each.
template <class E, int N, int AlongN>
__device__ inline void wgmma(float* upper, float* lower, const u32 (&a)[4], unsigned long long b) {
  if constexpr (N == 16) {
    TILEWRIGHT_WGMMA_LEFT_TYPES(16, "%8, %9, %10, %11", "%12", "%13")
  } else if constexpr (N == 32) {
    TILEWRIGHT_WGMMA_LEFT_TYPES(32, "%16, %17, %18, %19", "%20", "%21")
  } else if constexpr (N == 64) {
    TILEWRIGHT_WGMMA_LEFT_TYPES(64, "%32, %33, %34, %35", "%36", "%37")
  } else if constexpr (N == 128) {
    TILEWRIGHT_WGMMA_LEFT_TYPES(128, "%64, %65, %66, %67", "%68", "%69")
  } else {
    static_assert(N == 256);
    TILEWRIGHT_WGMMA_LEFT_TYPES(256, "%128, %129, %130, %131", "%132", "%133")
  }
}

#undef TILEWRIGHT_WGMMA_LEFT_TYPES
#undef TILEWRIGHT_WGMMA_LEFT
#undef TILEWRIGHT_WGMMA_TYPES
#undef TILEWRIGHT_WGMMA
#undef TILEWRIGHT_D8
#undef TILEWRIGHT_D16
#undef TILEWRIGHT_D32
#undef TILEWRIGHT_D64
#undef TILEWRIGHT_D128
#undef TILEWRIGHT_D256
#undef TILEWRIGHT_R16
#undef TILEWRIGHT_R32
#undef TILEWRIGHT_R64
#undef TILEWRIGHT_R128
#undef TILEWRIGHT_R256

}  // namespace tilewright::cuda::ptx
