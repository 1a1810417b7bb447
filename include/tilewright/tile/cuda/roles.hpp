// The CUDA executor in two roles, for compute capability 9.0: one thread brings the blocks of a pipeline's steps, all
// others multiply them and store. Each goes through the kernel's text by itself, as another type of program: for the
// producer values are nothing and a pipeline is a row of copies, for the consumer a pipeline is a row of products
// whose blocks have come. They meet at two barriers for each stage of the ring, and nowhere else, so the producer is
// up to C.stages steps ahead, also across programs: a block of threads works on one program after the other, and while
// the last ones are stored the next ones' blocks arrive. With two teams of consumers, the programs are theirs in turn:
// while one stores, the other multiplies.
//
// Products are not waited for before the next step's are begun: the tensor cores have work at all times.
// Start at run_roles().
#pragma once

#include <tilewright/tile/cuda/executor.hpp>

namespace tilewright::cuda {

/// The places of a ring of stages, and how often each was passed. Both roles walk through it, from program to program.
///
/// A barrier's phase is told by one bit, so whoever waits must not be two turns of the ring ahead: a team walks on only
/// when it is its turn.
template <Config C, int SlotBytes>
struct Ring {
  u32 stage = 0, parity = 0;
  u32 turns = 0;  // that this team has had

  __device__ u32 slot() const { return ring_address() + stage * SlotBytes; }
  /// Turns when a stage's blocks have come, and when they have been read.
  __device__ u32 full() const { return barriers() + stage * 16; }
  __device__ u32 read() const { return full() + 8; }
  __device__ void advance() {
    if (++stage == C.stages) stage = 0, parity ^= 1;
  }
  __device__ void advance(i64 steps) {
    const u32 passed = stage + static_cast<u32>(steps);
    stage = passed % C.stages;
    parity ^= passed / C.stages & 1;
  }
  /// Turns when it is a team's turn.
  __device__ static u32 turn(u32 team) { return barriers() + 16 * C.stages + 8 * team; }
  /// The first turn is team 0's, which waits for the phase before the first.
  __device__ void take_turn() {
    const u32 team = team_index<C>();
    ptx::barrier_wait(turn(team), (turns++ + (team == 0 ? 1 : 0)) & 1);
  }
  __device__ static void pass_turn() {
    if (lane_index() == 0) ptx::barrier_arrive(turn(team_index<C>() + 1 == C.teams ? 0 : team_index<C>() + 1));
  }
  __device__ static u32 barriers() {
    return ring_address() + static_cast<u32>(C.ring_bytes + C.scratch_bytes * C.teams);
  }
};

/// The producer's value.
template <class T, int M, int N>
class Nothing : public tile::Value {
 public:
  using element = T;
  static constexpr int rows = M, cols = N;

  template <class Load>
  __device__ Nothing<typename Load::element, Load::rows, Load::cols> materialize(const Load&) const {
    return {};
  }
  template <class A, class B>
  __device__ void accumulate(const tile::Product<A, B>&) {}
  template <class P, class Mask>
  __device__ void store(const P&, const Mask&) const {}
  template <class P, class Mask>
  __device__ void atomic_add(const P&, const Mask&) const {}
  template <class Op>
  __device__ Nothing<float, M, N> map() const {
    return {};
  }
  template <class F>
  __device__ Nothing<float, M, N> map_function(const F&) const {
    return {};
  }
  template <class Op, bool NumberFirst>
  __device__ Nothing<float, M, N> zip_number(float) const {
    return {};
  }
  template <class E>
  __device__ Nothing<E, M, N> cast() const {
    return {};
  }
  template <class Op, class U>
  __device__ Nothing<float, (M > U::rows ? M : U::rows), (N > U::cols ? N : U::cols)> zip(const U&) const {
    return {};
  }
  template <class Mask, class Y>
  __device__ auto select(const Mask&, const Y& other) const {
    if constexpr (tile::TileValue<Y>) {
      return zip<void>(other);
    } else {
      return Nothing<float, M, N>{};
    }
  }
  __device__ Nothing<T, N, M> transposed() const { return {}; }
  template <class Op, int Along>
  __device__ Nothing<float, (Along == 1 ? M : 1), (Along == 1 ? 1 : N)> reduce() const {
    return {};
  }
};

/// The loads of a step, the first of them the Which-th of all, as boxes: a block is a row of panels, each of which is
/// one.
template <Config C, int Which, class T>
struct Boxes;
template <Config C, int Which>
struct Boxes<C, Which, tile::Both<>> {
  static constexpr int bytes = 0, copied = 0;
  __device__ static void fetch(const tile::Both<>&, const TensorMaps&, u32, u32) {}
  template <class Work>
  __device__ static tile::Both<> staged(u32, Work*) {
    return {};
  }
};
template <Config C, int Which, class First, class... Rest>
struct Boxes<C, Which, tile::Both<First, Rest...>> {
  static_assert(Which < 2 && C.move(Which).via == Via::tma, "cuda: a step of blocks of which not all are boxes");
  static constexpr int axis = C.move(Which).axis;
  using Others = Boxes<C, Which + 1, tile::Both<Rest...>>;
  using B = BlockOf<First, axis>;
  using S = Source<First, axis, true>;
  static_assert(S::Outer::affine && S::Inner::affine, "cuda: a load by indices that are not adjacent is no box");
  static_assert(B::panel % block_alignment == 0 || B::bytes == B::panel, "cuda: boxes begin where swizzles do");
  static constexpr int panels = B::chunks / B::span, width = B::pitch / element_bytes<typename First::element>;
  static constexpr int bytes = block_bytes<First> + Others::bytes;   // set aside
  static constexpr int copied = panels * B::panel + Others::copied;  // that arrive

  __device__ static void fetch(const tile::Both<First, Rest...>& blocks, const TensorMaps& maps, u32 at, u32 barrier) {
    const S source(blocks.first);
    const int inner = static_cast<int>(source.inner().first()), outer = static_cast<int>(source.outer().first());
#pragma unroll
    for (int panel = 0; panel < panels; ++panel) {
      ptx::copy_box(at + static_cast<u32>(panel * B::panel), &maps.of[Which], inner + panel * width, outer, barrier);
    }
    Others::fetch(blocks.rest, maps, at + block_bytes<First>, barrier);
  }
  template <class Work>
  __device__ static auto staged(u32 at, Work* work) {
    using Block = Staged<typename First::element, First::rows, First::cols, axis, Work>;
    return prepend(Block{at, work}, Others::staged(at + block_bytes<First>, work));
  }
};
/// One stage's room: what the launch has given to each.
template <Config C>
inline constexpr int slot_bytes = C.ring_bytes / C.stages;
template <Config C>
using RingOf = Ring<C, slot_bytes<C>>;

/// A program without values.
class Empty : public Numbered {
 public:
  using Numbered::Numbered;

  template <class T, int M, int N>
  __device__ Nothing<T, M, N> full(float) {
    return {};
  }
  template <class P, class Mask>
  __device__ Nothing<typename tile::Load<P, Mask>::element, P::rows, P::cols> load(const tile::Load<P, Mask>&) {
    return {};
  }
};

template <Config C>
class Producer : public Empty {
 public:
  __device__ Producer(const tile::Grid& grid, const Order& order, u32 number, const TensorMaps& maps, RingOf<C>& ring)
      : Empty(grid, order, number), maps_(maps), ring_(ring) {}

  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> steps, Produce& produce, Consume&) {
    using Step = Boxes<C, 0, tile::plain<decltype(as_blocks(produce(steps.step(0))))>>;
    static_assert(Step::bytes <= slot_bytes<C>, "cuda: a step takes more shared memory than the launch provides");
#pragma unroll 1
    for (i64 k = steps.begin_index; k < steps.end_index; k += BK) {
      ptx::barrier_wait(ring_.read(), ring_.parity ^ 1);
      ptx::barrier_expect(ring_.full(), Step::copied);
      Step::fetch(as_blocks(produce(typename tile::Steps<BK>::Step{k})), maps_, ring_.slot(), ring_.full());
      ring_.advance();
    }
  }

 private:
  const TensorMaps& maps_;
  RingOf<C>& ring_;
};

/// A program of which only the steps are counted.
class Counted : public Empty {
 public:
  using Empty::Empty;
  i64 steps = 0;
  int pipelines = 0;

  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> own, Produce&, Consume&) {
    steps += own.count();
    ++pipelines;
  }
};

template <Config C>
class Consumer : public Program<C> {
 public:
  /// pipelines: of this program. Its team's turn ends when the last one's products have been begun.
  __device__ Consumer(const tile::Grid& grid, const Order& order, u32 number, RingOf<C>& ring, int pipelines)
      : Program<C>(grid, order, number), ring_(ring), pipelines_(pipelines) {
    if (C.teams > 1) ring.take_turn();
    if (C.teams > 1 && pipelines == 0) ring.pass_turn();
  }

  /// A stage is given back when the products that read it are done: those of the step before, once this step's have
  /// been begun.
  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> steps, Produce& produce, Consume& consume) {
    using Step = Boxes<C, 0, tile::plain<decltype(as_blocks(produce(steps.step(0))))>>;
    u32 before = 0;  // the barrier of the step before, if it is still read
#pragma unroll 1
    for (i64 left = steps.count(); left > 0; --left) {
      ptx::barrier_wait(ring_.full(), ring_.parity);
      bool goes_on = false;
      const auto begun = [&] {
        if (goes_on) return;
        goes_on = true;
        ptx::wgmma_wait<1>();
        give_back(before);
      };
      Chain<decltype(begun)> work{begun};
      Step::staged(ring_.slot(), &work).apply(consume);
      if (goes_on) {
        before = ring_.read();
      } else {  // nothing that runs by itself
        ptx::wgmma_wait<0>();
        give_back(before);
        give_back(ring_.read());
        before = 0;
      }
      ring_.advance();
    }
    if (C.teams > 1 && --pipelines_ == 0) ring_.pass_turn();
    ptx::wgmma_wait<0>();
    give_back(before);
  }

 private:
  __device__ static void give_back(u32 barrier) {
    if (barrier != 0 && lane_index() == 0) ptx::barrier_arrive(barrier);
  }
  RingOf<C>& ring_;
  int pipelines_;
};

/// All programs of a kernel, shared out among the blocks of threads that are at work at once.
template <Config C, class Kernel, class Args>
__device__ void run_roles(const Kernel& kernel, const tile::Grid& grid, const Order& order, const Args& args,
                          const TensorMaps& maps) {
  // Two groups of four warps that hold 128 sums a thread want the registers that the one thread does not.
  constexpr bool unequal = C.warps * C.teams == 8;
  const u32 programs = static_cast<u32>(grid.programs());
  RingOf<C> ring;
  const u32 team = team_index<C>();
  const bool first = threadIdx.x == (C.teams > 1 || team == 0 ? 0 : C.threads());  // of its team
  if (team == 0 && first) {
#pragma unroll 1
    for (; ring.stage < C.stages; ++ring.stage) {
      ptx::barrier_init(ring.full(), 1);
      ptx::barrier_init(ring.read(), C.warps);
    }
    ring.stage = 0;
    for (u32 each = 0; each < C.teams; ++each) ptx::barrier_init(ring.turn(each), C.warps);
    ptx::barrier_init_done();
  }
  __syncthreads();
  if (team == C.teams) {
    if constexpr (unequal) ptx::give_registers<40>();
    if (first) {
      ptx::prefetch_map(&maps.of[0]);
      ptx::prefetch_map(&maps.of[1]);
#pragma unroll 1
      for (u32 number = blockIdx.x; number < programs; number += gridDim.x) {
        Producer<C> p(grid, order, number, maps, ring);
        kernel(p, args);
      }
    }
  } else {
    if constexpr (unequal) ptx::take_registers<232>();
#pragma unroll 1
    for (u32 number = blockIdx.x, turn = 0; number < programs; number += gridDim.x) {
      Counted steps(grid, order, number);
      if (C.teams > 1) kernel(steps, args);
      if (turn == team) {
        Consumer<C> p(grid, order, number, ring, steps.pipelines);
        kernel(p, args);
      } else {
        ring.advance(steps.steps);
      }
      turn = turn + 1 == C.teams ? 0 : turn + 1;
    }
  }
}

}  // namespace tilewright::cuda
