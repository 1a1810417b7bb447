// The sums of a program that the blocks of threads of a cluster share. Each has summed consecutive steps of its
// pipeline; the first, which stores the output, gets the whole: part 0, plus part 1, and so on, in the shared memory of
// all. A block adds up every so many-th chunk of each thread's sums, so that none waits for the first alone.
#pragma once

#include <tilewright/tile/cuda/distributed.hpp>

namespace tilewright::cuda {

/// Which part of each program's steps a block of threads takes, of how many.
struct Share {
  u32 part = 0, parts = 1;

  template <int BK>
  __device__ tile::Steps<BK> of(const tile::Steps<BK>& all) const {
    if (parts == 1) return all;
    const StepRange own = steps_of_part(all.count(), parts, part);
    const auto index = [&](i64 step) { return tile::smaller(all.begin_index + step * BK, all.end_index); };
    return {index(own.begin), index(own.end)};
  }
};

/// What all threads of a cluster do while those that hold sums add them up.
__device__ inline void meet_sharers() {
  ptx::cluster_barrier();  // the parts are there
  ptx::cluster_barrier();  // the whole is there
}

/// The parts' sums to the whole, in the first block; the others' threads end here. The pipeline's ring has been read,
/// and takes the sums.
template <Config C, class T>
__device__ void add_parts(T& sums, const Share& share) {
  constexpr int chunks = T::row_slots * T::col_slots / 4, apart = C.threads() * 16;
  static_assert(T::col_slots % 4 == 0 && chunks * apart <= C.ring_bytes, "cuda: sums that fill the ring at most");
  const u32 own = ring_address() + threadIdx.x * 16;
  const auto value = [&](int chunk, int i) -> float& {
    return sums.values[chunk * 4 / T::col_slots][chunk * 4 % T::col_slots + i];
  };
  sums.complete();
  barrier<C>();  // the team's other warps have multiplied what lies there
#pragma unroll
  for (int chunk = 0; chunk < chunks; ++chunk) {
    ptx::store_shared(own + static_cast<u32>(chunk * apart),
                      float4{value(chunk, 0), value(chunk, 1), value(chunk, 2), value(chunk, 3)});
  }
  ptx::cluster_barrier();
  // This block's chunks side by side, for each read takes as long as hundreds of instructions.
  float4 whole[chunks / 2] = {};
#pragma unroll 4
  for (u32 part = 0; part < share.parts; ++part) {
#pragma unroll
    for (u32 i = 0; i < chunks / 2; ++i) {
      const u32 chunk = share.part + i * share.parts;
      if (chunk < chunks) {
        const float4 more = ptx::load_of_block(own + chunk * apart, part);
        whole[i].x += more.x, whole[i].y += more.y, whole[i].z += more.z, whole[i].w += more.w;
      }
    }
  }
#pragma unroll
  for (u32 i = 0; i < chunks / 2; ++i) {
    const u32 chunk = share.part + i * share.parts;
    if (chunk < chunks) ptx::store_to_block(own + chunk * apart, 0, whole[i]);
  }
  ptx::cluster_barrier();
  if (share.part != 0) ptx::end_thread();
#pragma unroll
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const float4 sum = ptx::load_of_block(own + static_cast<u32>(chunk * apart), 0);
    value(chunk, 0) = sum.x, value(chunk, 1) = sum.y, value(chunk, 2) = sum.z, value(chunk, 3) = sum.w;
  }
}

}  // namespace tilewright::cuda
