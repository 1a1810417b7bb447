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
#include <tilewright/tile/cuda/parts.hpp>

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

/// Where a program is, and what its blocks are taken from.
struct Site {
  u32 number;
  TileCoord tile;
  const TensorMap* maps[2];
  u32 shift = 0, foreign = 0, layer = 0;  // of its class of rows: see Classes
};

/// The threads that bring blocks.
inline constexpr int producer_threads = 128;

/// The loads of a step, the first of them the Which-th of all. A block by tma is a row of panels, each of which is one
/// box. A realigned one is the left operand, which stays as it lies in memory: all producer threads copy it.
template <Config C, int Which, class T>
struct Boxes;
template <Config C, int Which>
struct Boxes<C, Which, tile::Both<>> {
  static constexpr int bytes = 0, copied = 0, fragments = 1;
  __device__ static void fetch(const tile::Both<>&, const Site&, u32, u32) {}
  __device__ static void clear(const tile::Both<>&, u32, const Site&) {}
  template <class Work>
  __device__ static tile::Both<> staged(const tile::Both<>&, u32, Work*) {
    return {};
  }
};
template <Config C, int Which, class First, class... Rest>
struct Boxes<C, Which, tile::Both<First, Rest...>> {
  static constexpr Move move = C.move(Which);
  static constexpr int axis = move.axis;
  static constexpr bool raw = move.via == Via::realign, in_classes = move.via == Via::classes;
  static_assert(Which < 2 && (raw ? is_left<First>(Which, C.team()) : move.via == Via::tma || in_classes),
                "cuda: a step of blocks of which some are neither boxes nor taken from registers");
  using Others = Boxes<C, Which + 1, tile::Both<Rest...>>;
  using B = BlockOf<First, axis>;
  using S = Source<First, axis, true>;
  using Carrier = RowsCopy<First, axis, producer_threads>;
  static_assert(S::Outer::affine && S::Inner::affine, "cuda: a load by indices that are not adjacent is no box");
  static_assert(B::panel % block_alignment == 0 || B::bytes == B::panel, "cuda: boxes begin where swizzles do");
  static constexpr int panels = B::chunks / B::span, width = B::pitch / element_bytes<typename First::element>;
  static constexpr int own = raw ? rows_bytes<First> : block_bytes<First>;
  static constexpr int bytes = own + Others::bytes;                                // set aside
  // Those of a raw block's atoms that are a thread's own, if its warps are one below the other.
  static constexpr int fragments = raw ? B::outer * B::inner / 256 / C.warps : Others::fragments;
  static constexpr int copied = (raw ? 0 : panels * B::panel) + Others::copied;  // that arrive in boxes

  /// One thread has the boxes brought.
  __device__ static void fetch(const tile::Both<First, Rest...>& blocks, const Site& from, u32 at, u32 barrier) {
    if constexpr (!raw) {
      const S source(blocks.first);
      const int inner = static_cast<int>(source.inner().first()), outer = static_cast<int>(source.outer().first());
#pragma unroll
      for (int panel = 0; panel < panels; ++panel) {
        const u32 to = at + static_cast<u32>(panel * B::panel);
        if constexpr (in_classes) {
          ptx::copy_box(to, from.maps[Which], inner + static_cast<int>(from.foreign) + panel * width,
                        static_cast<int>(from.layer), outer, barrier);
        } else {
          ptx::copy_box(to, from.maps[Which], inner + panel * width, outer, barrier);
        }
      }
    }
    Others::fetch(blocks.rest, from, at + own, barrier);
  }
  /// What a producer thread has to copy of each step.
  __device__ static auto copier(const tile::Both<First, Rest...>& blocks) {
    if constexpr (raw) {
      return Carrier(blocks.first, static_cast<int>(threadIdx.x) - (C.teams > 1 ? 0 : C.threads()));
    } else {
      return 0;
    }
  }
  /// All consumer threads write zeros over what shares a chunk with the first element of the sum, in blocks whose rows
  /// run along it. The others have whole rows of zeros there.
  __device__ static void clear(const tile::Both<First, Rest...>& blocks, u32 at, const Site& site) {
    if constexpr (axis == 1 - Which) {
      const int end = static_cast<int>(site.shift), foreign = raw ? 7 : static_cast<int>(site.foreign);
      const auto view = staged_first(blocks, at, static_cast<int*>(nullptr));
      for (int row = static_cast<int>(threadIdx.x); row < B::outer; row += C.threads()) {
#pragma unroll 1
        for (int k = end > foreign ? end - foreign : 0; k < end; ++k) {
          ptx::store_shared(view.address_of(axis == 1 ? row : k, axis == 1 ? k : row), u16{0});
        }
      }
    }
    Others::clear(blocks.rest, at + own, site);
  }
  template <class Work>
  __device__ static auto staged(const tile::Both<First, Rest...>& blocks, u32 at, Work* work) {
    return prepend(staged_first(blocks, at, work), Others::staged(blocks.rest, at + own, work));
  }

 private:
  template <class Work>
  __device__ static auto staged_first(const tile::Both<First, Rest...>& blocks, u32 at, Work* work) {
    if constexpr (raw) {
      return Carrier::view(blocks.first, at, work);
    } else {
      return Staged<typename First::element, First::rows, First::cols, axis, Work>{at, work};
    }
  }
};
/// Whether some block is brought by all producer threads.
template <Config C>
inline constexpr bool copies_raw = C.settles();
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

/// The steps of a pipeline, which begin so many elements early: what lies in front of a sum are zeros.
template <int BK>
__device__ tile::Steps<BK> early(tile::Steps<BK> steps, u32 shift) {
  return {steps.begin_index - static_cast<i64>(shift), steps.end_index};
}

template <Config C>
class Producer : public Empty {
 public:
  __device__ Producer(const tile::Grid& grid, const Order& order, const Site& from, RingOf<C>& ring, bool first)
      : Empty(grid, order, from.number, from.tile), from_(from), ring_(ring), first_(first) {}

  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> whole, Produce& produce, Consume&) {
    using Step = Boxes<C, 0, tile::plain<decltype(as_blocks(produce(whole.step(0))))>>;
    static_assert(Step::bytes <= slot_bytes<C>, "cuda: a step takes more shared memory than the launch provides");
    const tile::Steps<BK> steps = early(whole, from_.shift);
    [[maybe_unused]] auto copier = Step::copier(as_blocks(produce(steps.step(0))));
#pragma unroll 1
    for (i64 k = steps.begin_index; k < steps.end_index; k += BK) {
      const auto blocks = as_blocks(produce(typename tile::Steps<BK>::Step{k}));
      ptx::barrier_wait(ring_.read(), ring_.parity ^ 1);
      if (first_) {
        ptx::barrier_expect(ring_.full(), Step::copied);
        Step::fetch(blocks, from_, ring_.slot(), ring_.full());
      }
      if constexpr (copies_raw<C>) {
        copier.fetch(blocks.first, ring_.slot());
        ptx::barrier_arrive_copied(ring_.full());
      }
      ring_.advance();
    }
  }

 private:
  const Site& from_;
  RingOf<C>& ring_;
  bool first_;  // of the producer's threads
};

/// A program of which only the steps are counted.
class Counted : public Empty {
 public:
  __device__ Counted(const tile::Grid& grid, const Order& order, const Site& site)
      : Empty(grid, order, site.number, site.tile), shift_(site.shift) {}
  i64 steps = 0;
  int pipelines = 0;

  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> own, Produce&, Consume&) {
    steps += early(own, shift_).count();
    ++pipelines;
  }

 private:
  u32 shift_;
};

template <Config C>
class Consumer : public Program<C> {
 public:
  /// pipelines: of this program. Its team's turn ends when the last one's products have been begun.
  __device__ Consumer(const tile::Grid& grid, const Order& order, const Site& site, RingOf<C>& ring, int pipelines)
      : Program<C>(grid, order, site.number, site.tile), ring_(ring), site_(site), pipelines_(pipelines) {
    if (C.teams > 1) ring.take_turn();
    if (C.teams > 1 && pipelines == 0) ring.pass_turn();
  }

  /// A stage is given back when the products that read it are done: those of the step before, once this step's have
  /// been begun.
  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> whole, Produce& produce, Consume& consume) {
    using Step = Boxes<C, 0, tile::plain<decltype(as_blocks(produce(whole.step(0))))>>;
    const tile::Steps<BK> steps = early(whole, site_.shift);
    // Steps take turns with the registers for fragments: a step's are free when the next one's products have begun and
    // its own are done. Blocks are all alike but for where they lie: rows keep their place in sectors.
    u32 even[Step::fragments][4] = {}, odd[Step::fragments][4] = {};
    u32 before = 0;  // the barrier of the step before, if it is still read
    i64 left = steps.count();
    bool fresh = true;
    const auto first = as_blocks(produce(steps.step(0)));
    if (left > 0) {
      ptx::barrier_wait(ring_.full(), ring_.parity);
      if constexpr (C.in_parts()) {
        if (site_.shift != 0) {
          Step::clear(first, ring_.slot(), site_);
          publish<C>();
        }
      }
    }
    const auto step = [&](u32(*fragments)[4], u32(*others)[4]) {
      RingOf<C> next = ring_;
      if (copies_raw<C> && left > 1) {
        next.advance();
        ptx::barrier_wait(next.full(), next.parity);
      }
      bool goes_on = false;
      const auto begun = [&] {
        if (goes_on) return;
        goes_on = true;
        ptx::wgmma_wait<1>();
        hold<Step>(others);
        give_back(before);
      };
      Chain<decltype(begun)> work{begun, {fresh, next.slot(), fragments, others}};
      Step::staged(first, ring_.slot(), &work).apply(consume);
      if (goes_on) {
        before = ring_.read();
      } else {  // nothing that runs by itself
        ptx::wgmma_wait<0>();
        give_back(before);
        give_back(ring_.read());
        before = 0;
      }
      fresh = false;
      ring_.advance();
      if (!copies_raw<C> && left > 1) ptx::barrier_wait(ring_.full(), ring_.parity);
      --left;
    };
#pragma unroll 1
    while (left > 0) {
      step(even, odd);
      if constexpr (copies_raw<C>) {
        if (left > 0) step(odd, even);
      }
    }
    if (C.teams > 1 && --pipelines_ == 0) ring_.pass_turn();
    ptx::wgmma_wait<0>();
    hold<Step>(even);
    hold<Step>(odd);
    give_back(before);
  }

 private:
  __device__ static void give_back(u32 barrier) {
    if (barrier != 0 && lane_index() == 0) ptx::barrier_arrive(barrier);
  }
  template <class Step>
  __device__ void hold(u32 (*fragments)[4]) const {
    if constexpr (copies_raw<C>) {
#pragma unroll
      for (int i = 0; i < Step::fragments; ++i) ptx::hold(fragments[i], ring_.slot());
    }
  }
  RingOf<C>& ring_;
  const Site& site_;
  int pipelines_;
};

/// A launch's problem as a whole.
template <class Args>
class Whole {
 public:
  __device__ Whole(const Args& args, const TensorMaps& maps, const tile::Grid& grid, const Order&)
      : programs(static_cast<u32>(grid.programs())), args_(args), maps_(maps) {}
  const u32 programs;
  __device__ Site site(u32 number) const { return {number, {-1, -1}, {&maps_.of[0], &maps_.of[1]}}; }
  __device__ const Args& args(const Site&) const { return args_; }

 private:
  const Args& args_;
  const TensorMaps& maps_;
};
/// A problem of which programs take rows of the left operand by classes, or columns of the right one. The order is one
/// of all classes' tiles, one class behind the other.
template <class Args, bool Left>
class InClasses {
 public:
  __device__ InClasses(const Parts<Args>& parts, const TensorMaps& maps, const tile::Grid& grid, const Order& order)
      : programs(static_cast<u32>(grid.programs())), parts_(parts), maps_(maps), order_(order) {}
  const u32 programs;
  __device__ Site site(u32 number) {
    const Classes& c = parts_.classes;
    const u32 all = c.tiles(), others = programs / all;
    TileCoord tile = tilewright::detail::tile_in<u32>(order_, Left ? all : others, Left ? others : all, number);
    const Classes::Place place = c.place(static_cast<u32>(Left ? tile.row : tile.col));
    (Left ? tile.row : tile.col) = place.tile;
    of_ = place.of;
    const TensorMap* const own = &parts_.maps[c.map(of_)];
    return {number,        tile,
            {Left ? own : &maps_.of[0], Left ? &maps_.of[1] : own},
            c.shift(of_),  c.foreign(of_),
            c.layer(of_)};
  }
  __device__ Args args(const Site&) const {
    const Classes& c = parts_.classes;
    return Left ? parts_.args.of_rows(of_, c.count()) : parts_.args.of_cols(of_, c.count());
  }

 private:
  const Parts<Args>& parts_;
  const TensorMaps& maps_;
  const Order& order_;
  u32 of_ = 0;
};
template <Config C, class Args>
__device__ auto problem_of(const Args& args, const TensorMaps& maps, const tile::Grid& grid, const Order& order) {
  return Whole<Args>(args, maps, grid, order);
}
template <Config C, class Args>
__device__ auto problem_of(const Parts<Args>& parts, const TensorMaps& maps, const tile::Grid& grid,
                           const Order& order) {
  return InClasses<Args, C.move(0).via == Via::classes>(parts, maps, grid, order);
}

/// All programs of a kernel, shared out among the blocks of threads that are at work at once. args: the kernel's, or
/// Parts of it.
template <Config C, class Kernel, class Args>
__device__ void run_roles(const Kernel& kernel, const tile::Grid& grid, const Order& order, const Args& args,
                          const TensorMaps& maps) {
  // Two groups of four warps that hold 128 sums a thread want the registers that the producers do not: one thread few,
  // those that copy more.
  constexpr bool unequal = C.warps * C.teams == 8;
  constexpr int few = copies_raw<C> ? 72 : 40, many = copies_raw<C> ? 216 : 232;
  auto problem = problem_of<C>(args, maps, grid, order);
  RingOf<C> ring;
  const u32 team = team_index<C>();
  const bool first = threadIdx.x == (C.teams > 1 || team == 0 ? 0 : C.threads());  // of its team
  if (team == 0 && first) {
#pragma unroll 1
    for (; ring.stage < C.stages; ++ring.stage) {
      ptx::barrier_init(ring.full(), 1 + (copies_raw<C> ? producer_threads : 0));
      ptx::barrier_init(ring.read(), C.warps);
    }
    ring.stage = 0;
    for (u32 each = 0; each < C.teams; ++each) ptx::barrier_init(ring.turn(each), C.warps);
    ptx::barrier_init_done();
  }
  __syncthreads();
  if (team == C.teams) {
    if constexpr (unequal) ptx::give_registers<few>();
    if (first || copies_raw<C>) {
      if (!C.in_parts()) {
        ptx::prefetch_map(&maps.of[0]);
        ptx::prefetch_map(&maps.of[1]);
      }
#pragma unroll 1
      for (u32 number = blockIdx.x; number < problem.programs; number += gridDim.x) {
        const Site site = problem.site(number);
        Producer<C> p(grid, order, site, ring, first);
        kernel(p, problem.args(site));
      }
    }
  } else {
    if constexpr (unequal) ptx::take_registers<many>();
#pragma unroll 1
    for (u32 number = blockIdx.x, turn = 0; number < problem.programs; number += gridDim.x) {
      const Site site = problem.site(number);
      Counted steps(grid, order, site);
      if (C.teams > 1) kernel(steps, problem.args(site));
      if (turn == team) {
        Consumer<C> p(grid, order, site, ring, steps.pipelines);
        kernel(p, problem.args(site));
      } else {
        ring.advance(steps.steps);
      }
      turn = turn + 1 == C.teams ? 0 : turn + 1;
    }
  }
}

}  // namespace tilewright::cuda
