// What threads with different tasks need: barriers that count arrivals and bytes, boxes copied by the tensor memory
// accelerator, a share of the registers (compute capability 9.0). One function per instruction.
#pragma once

#include <tilewright/tile/traits.hpp>

namespace tilewright::cuda::ptx {

/// A barrier of so many threads, which all name it by the same number, 1 to 15.
template <int Threads>
__device__ inline void barrier_of(u32 number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(Threads) : "memory");
}

// A barrier in shared memory turns its phase, 0 at first, when so many arrivals and so many bytes as it waits for have
// come. It is named by its shared address.

__device__ inline void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialised barriers visible to the other blocks of a cluster and to copies.
__device__ inline void barrier_init_done() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// The same at the barrier of another block of the cluster, at the same address.
__device__ inline void barrier_arrive_at(u32 barrier, u32 block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(block)
      : "memory");
}
/// One arrival; and bytes will come.
__device__ inline void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// One arrival, when what this thread has copied asynchronously so far is there.
__device__ inline void barrier_arrive_copied(u32 barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
/// Waits until the phase `parity` is over.
__device__ inline void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred over;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n@!over bra again;\n}" ::
          "r"(barrier),
      "r"(parity)
      : "memory");
}

/// Copies the box of a tensor map that begins at (inner, outer); its bytes count for the barrier.
__device__ inline void copy_box(u32 to, const void* map, int inner, int outer, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          to),
      "l"(map), "r"(inner), "r"(outer), "r"(barrier)
      : "memory");
}
/// The same of a map of three axes: the box is one layer thick.
__device__ inline void copy_box(u32 to, const void* map, int inner, int layer, int outer, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(to),
      "l"(map), "r"(inner), "r"(layer), "r"(outer), "r"(barrier)
      : "memory");
}
// The same to both blocks of a cluster, at the same addresses; the bytes count for both's barriers.
constexpr u16 both_blocks = 3;
__device__ inline void copy_box_to_both(u32 to, const void* map, int inner, int outer, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(inner), "r"(outer), "r"(barrier), "h"(both_blocks)
      : "memory");
}
__device__ inline void copy_box_to_both(u32 to, const void* map, int inner, int layer, int outer, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(map), "r"(inner), "r"(layer), "r"(outer), "r"(barrier), "h"(both_blocks)
      : "memory");
}
/// How many blocks a cluster has, and which of them this is.
__device__ inline u32 blocks_in_cluster() {
  u32 count;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
}
__device__ inline u32 block_in_cluster() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Memory of a block of the cluster, at an address of one's own.
__device__ inline float4 load_of_block(u32 from, u32 block) {
  float4 value;
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
      : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
      : "r"(from), "r"(block)
      : "memory");
  return value;
}
__device__ inline void store_to_block(u32 to, u32 block, const float4& value) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};\n}" ::"r"(to),
      "r"(block), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w)
      : "memory");
}
__device__ inline void end_thread() { asm volatile("exit;"); }
/// A barrier of all threads of a cluster. A warp's come together.
__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// The next kernel of the stream may begin, once all of this one's blocks have said so or have ended: its blocks take
/// the places of those that end, make their barriers, and wait where they would touch memory.
__device__ inline void let_next_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
/// Waits until the kernels before this one are complete and what they wrote can be read.
__device__ inline void wait_for_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ inline void prefetch_map(const void* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

/// What this warpgroup's threads need of registers from here on.
template <int Registers>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace tilewright::cuda::ptx
