// The CUDA executor in two roles, for compute capability 9.0: one thread brings the blocks of a pipeline's steps, all
// others multiply them and store. Each goes through the kernel's text by itself, as another type of program: for the
// producer values are nothing and a pipeline is a row of copies, for the consumer a pipeline is a row of products
// whose blocks have come. They meet at two barriers for each stage of the ring, and nowhere else, so the producer is
// up to C.stages steps ahead, also across programs: a block of threads works on one program after the other, and while
// the last ones are stored the next ones' blocks arrive. With two teams of consumers, the programs are theirs in turn:
// while one stores, the other multiplies. A left operand that stays as it lies in memory (rows.hpp) is copied by all
// threads of the producer's four warps. Where programs are few, the blocks of a cluster share the steps of one, and all
// of their threads meet while its sums are added up (shared_sum.hpp).
//
// Products are not waited for before the next step's are begun: the tensor cores have work at all times.
// Start at run_roles().
#pragma once

#include <tilewright/tile/cuda/boxes.hpp>
#include <tilewright/tile/cuda/nothing.hpp>
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

/// Whether some block is brought by all producer threads.
template <Config C>
inline constexpr bool copies_raw = C.settles();
/// One stage's room: what the launch has given to each.
template <Config C>
inline constexpr int slot_bytes = C.ring_bytes / C.stages;
template <Config C>
using RingOf = Ring<C, slot_bytes<C>>;

/// The steps of a pipeline, which begin so many elements early: what lies in front of a sum are zeros.
template <int BK>
__device__ tile::Steps<BK> early(tile::Steps<BK> steps, u32 shift) {
  return {steps.begin_index - static_cast<i64>(shift), steps.end_index};
}

/// A sum as a whole, as a phase.
struct Undivided {};
template <class Step>
__device__ const Step& part_of(const Step& step, const Undivided&) {
  return step;
}
template <class Step>
__device__ Step part_of(const Step& step, const Phase& phase) {
  return phase.part_of(step);
}

/// Calls function(phase, its steps, where its blocks are taken from) for each phase of a pipeline. Without phases the
/// steps are this block's share.
template <Config C, int BK, class F>
__device__ void each_phase(const Site& site, const tile::Steps<BK>& whole, const F& function) {
  if constexpr (!C.in_phases()) {
    function(Undivided{}, site.share.of(early(whole, site.shift)), site);
  } else {
    const tile::Classes& c = *site.phases;
    // A rest of the shift takes a step of zeros, before which the sums move.
    const u32 rest = c.rest(), phases = c.chunks + (rest != 0 ? 1 : 0);
    Site from = site;
#pragma unroll 1
    for (u32 n = 0; n < phases; ++n) {
      const bool behind = n == c.chunks;
      const u32 of = c.of_phase(behind ? n - 1 : n);
      const Phase phase{of, c.log_chunks(), behind ? rest : n == 0 ? 0 : c.phase_columns()};
      const i64 end = phase.indices(whole.end_index);
      from.maps[1] = site.phase_maps + c.map(of);
      function(phase, tile::Steps<BK>{behind ? end : 0, behind ? end + BK : end}, from);
    }
  }
}

template <Config C>
class Producer : public Empty {
 public:
  __device__ Producer(const tile::Grid& grid, const Order& order, const Site& from, RingOf<C>& ring, const Pair& pair,
                      bool first)
      : Empty(grid, order, from.number, from.tile), from_(from), ring_(ring), pair_(pair), first_(first) {}

  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> whole, Produce& produce, Consume&) {
    using Step = Boxes<C, 0, tile::plain<decltype(as_blocks(produce(whole.step(0))))>>;
    static_assert(!C.in_parts() || BK >= 64, "cuda: sums begin up to 63 elements early, within their first step");
    static_assert(Step::bytes <= slot_bytes<C>, "cuda: a step takes more shared memory than the launch provides");
    each_phase<C>(from_, whole, [&](const auto& phase, const tile::Steps<BK>& steps, const Site& from) {
      const auto blocks_at = [&](i64 k) {
        return part_of(as_blocks(produce(typename tile::Steps<BK>::Step{k})), phase);
      };
      [[maybe_unused]] auto copier = Step::copier(blocks_at(steps.begin_index));
#pragma unroll 1
      for (i64 k = steps.begin_index; k < steps.end_index; k += BK) {
        const auto blocks = blocks_at(k);
        ptx::barrier_wait(ring_.read(), ring_.parity ^ 1);
        if (first_) {
          ptx::barrier_expect(ring_.full(), Step::copied);
          Step::fetch(blocks, from, pair_, ring_.slot(), ring_.full());
        }
        if constexpr (copies_raw<C>) {
          copier.fetch(blocks.first, ring_.slot());
          ptx::barrier_arrive_copied(ring_.full());
        }
        ring_.advance();
      }
    });
  }

 private:
  const Site& from_;
  RingOf<C>& ring_;
  const Pair& pair_;
  bool first_;  // of the producer's threads
};

/// A program of which only the steps are counted.
template <Config C>
class Counted : public Empty {
 public:
  __device__ Counted(const tile::Grid& grid, const Order& order, const Site& site)
      : Empty(grid, order, site.number, site.tile), site_(site) {}
  i64 steps = 0;
  int pipelines = 0;

  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> own, Produce&, Consume&) {
    each_phase<C>(site_, own, [&](const auto&, const tile::Steps<BK>& part, const Site&) { steps += part.count(); });
    ++pipelines;
  }

 private:
  const Site& site_;
};

template <Config C>
class Consumer : public Program<C> {
 public:
  /// pipelines: of this program. Its team's turn ends when the last one's products have been begun.
  __device__ Consumer(const tile::Grid& grid, const Order& order, const Site& site, RingOf<C>& ring, const Pair& pair,
                      int pipelines)
      : Program<C>(grid, order, site.number, site.tile), ring_(ring), site_(site), pair_(pair), pipelines_(pipelines) {
    if (C.teams > 1) ring.take_turn();
    if (C.teams > 1 && pipelines == 0) ring.pass_turn();
  }

  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> whole, Produce& produce, Consume& consume) {
    using Step = Boxes<C, 0, tile::plain<decltype(as_blocks(produce(whole.step(0))))>>;
    const auto pass_turn = [&] {
      if (C.teams > 1 && --pipelines_ == 0) ring_.pass_turn();
    };
    each_phase<C>(site_, whole, [&](const auto& phase, const tile::Steps<BK>& steps, const Site&) {
      // Steps take turns with the registers for fragments: a step's are free when the next one's products have begun
      // and its own are done.
      u32 even[Step::fragments][4] = {}, odd[Step::fragments][4] = {};
      u32 before = 0;  // the barrier of the step before, if it is still read
      const auto blocks = produce(steps.step(0));
      if constexpr (C.in_phases()) phase.moving(blocks).apply(consume);
      multiply_steps<Step>(part_of(as_blocks(blocks), phase), steps.count(), even, odd, before, consume);
      if constexpr (!C.in_phases()) pass_turn();
      ptx::wgmma_wait<0>();
      hold<Step>(even);
      hold<Step>(odd);
      give_back(before);
    });
    if constexpr (C.in_phases()) pass_turn();
  }
  template <class T>
  __device__ T whole_sum(T sums) const requires(C.shares) {
    if (site_.share.parts > 1) add_parts<C>(sums, site_.share);
    return sums;
  }

 private:
  /// A stage is given back when the products that read it are done: those of the step before, once this step's have
  /// been begun. Blocks are all alike but for where they lie: rows keep their place in sectors.
  template <class Step, class Blocks, class Consume>
  __device__ void multiply_steps(const Blocks& first, i64 left, u32 (*even)[4], u32 (*odd)[4], u32& before,
                                 Consume& consume) {
    bool fresh = true;
    if (left > 0) {
      ptx::barrier_wait(ring_.full(), ring_.parity);
      if constexpr (C.in_parts() && !C.in_phases()) {
        if (site_.shift != 0 && site_.share.part == 0) {
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
  }
  /// To all who bring something to the stage. A warp's other threads have read before the one that tells.
  __device__ void give_back(u32 barrier) const {
    if (barrier == 0) return;
    if constexpr (copies_raw<C>) __syncwarp();
    if (lane_index() == 0) ptx::barrier_arrive(barrier);
    if (pair_.blocks > 1 && lane_index() == 1) ptx::barrier_arrive_at(barrier, pair_.own ^ 1);
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
  const Pair& pair_;
  int pipelines_;
};

/// A launch's problem as a whole.
template <class Args>
class Whole {
 public:
  __device__ Whole(const Args& args, const TensorMaps& maps, const tile::Grid& grid, const Order&)
      : programs(static_cast<u32>(grid.x)), args_(args), maps_(maps) {}
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
      : programs(static_cast<u32>(grid.x)), parts_(parts), maps_(maps), order_(order) {}
  const u32 programs;
  __device__ Site site(u32 number) {
    const tile::Classes& c = parts_.classes;
    const u32 all = c.tiles(), others = programs / all;
    TileCoord tile = tilewright::detail::tile_in<u32>(order_, Left ? all : others, Left ? others : all, number);
    const tile::Classes::Place place = c.place(static_cast<u32>(Left ? tile.row : tile.col));
    (Left ? tile.row : tile.col) = place.tile;
    of_ = place.of;
    const TensorMap* const own = &parts_.maps[c.map(of_)];
    return {number,       tile,           {Left ? own : &maps_.of[0], Left ? &maps_.of[1] : own},
            c.shift(of_), c.foreign(of_), c.layer(of_)};
  }
  __device__ auto args(const Site&) const {
    const i64 count = parts_.classes.count();
    if constexpr (Left) {
      return parts_.args.of_rows(of_, count);
    } else {
      return parts_.args.of_cols(of_, count);
    }
  }

 private:
  const Parts<Args>& parts_;
  const TensorMaps& maps_;
  const Order& order_;
  u32 of_ = 0;
};
/// A problem of which every program takes all classes of rows of the right operand, in phases.
template <class Args>
class InPhases {
 public:
  __device__ InPhases(const Parts<Args>& parts, const TensorMaps& maps, const tile::Grid& grid, const Order& order)
      : programs(static_cast<u32>(grid.x)), parts_(parts), maps_(maps), order_(order) {}
  const u32 programs;
  __device__ Site site(u32 number) {
    const u32 across = static_cast<u32>(cdiv(parts_.args.n, static_cast<i64>(parts_.columns)));
    const TileCoord tile = tilewright::detail::tile_in<u32>(order_, programs / across, across, number);
    first_ = static_cast<u32>(tile.col) * parts_.columns;
    Site site{number, {tile.row, 0}, {&maps_.of[0], nullptr}, 0, first_};
    site.phases = &parts_.classes, site.phase_maps = parts_.maps;
    return site;
  }
  __device__ auto args(const Site&) const { return parts_.args.columns(first_, parts_.columns); }

 private:
  const Parts<Args>& parts_;
  const TensorMaps& maps_;
  const Order& order_;
  u32 first_ = 0;
};
template <Config C, class Args>
__device__ auto problem_of(const Args& args, const TensorMaps& maps, const tile::Grid& grid, const Order& order) {
  return Whole<Args>(args, maps, grid, order);
}
template <Config C, class Args>
__device__ auto problem_of(const Parts<Args>& parts, const TensorMaps& maps, const tile::Grid& grid,
                           const Order& order) {
  if constexpr (C.in_phases()) {
    return InPhases<Args>(parts, maps, grid, order);
  } else {
    return InClasses<Args, C.move(0).via == Via::classes>(parts, maps, grid, order);
  }
}

/// All programs of a kernel, shared out among the blocks of threads that are at work at once. args: the kernel's, or
/// Parts of it. grid: programs along x; along y the parts of each one's sum, each for a block of a cluster. Then a
/// block has one program.
template <Config C, class Kernel, class Args>
__device__ void run_roles(const Kernel& kernel, const tile::Grid& grid, const Order& order, const Args& args,
                          const TensorMaps& maps) {
  // Two groups of four warps that hold 128 sums a thread want the registers that the producers do not: one thread few,
  // those that copy more.
  constexpr bool unequal = C.warps * C.teams == 8;
  constexpr int few = copies_raw<C> ? 56 : 40, many = copies_raw<C> ? 224 : 232;
  static_assert(C.stages >= (copies_raw<C> ? 3 : 2), "cuda: a ring with fewer stages than are held at once");
  auto problem = problem_of<C>(args, maps, grid, order);
  RingOf<C> ring;
  const u32 parts = C.shares ? static_cast<u32>(grid.y) : 1;
  const Share share{parts > 1 ? ptx::block_in_cluster() : 0, parts};
  const Pair pair{parts > 1 ? 1 : ptx::blocks_in_cluster(), parts > 1 ? 0 : ptx::block_in_cluster()};
  const u32 team = team_index<C>();
  const bool first = threadIdx.x == (C.teams > 1 || team == 0 ? 0 : C.threads());  // of its team
  ptx::let_next_begin();
  if (team == C.teams && first) {  // the launch's own, whatever the kernel before still writes
    if (C.move(0).via == Via::tma) ptx::prefetch_map(&maps.of[0]);
    if (C.move(1).via == Via::tma) ptx::prefetch_map(&maps.of[1]);
  }
  if (team == 0 && first) {
#pragma unroll 1
    for (; ring.stage < C.stages; ++ring.stage) {
      ptx::barrier_init(ring.full(), 1 + (copies_raw<C> ? producer_threads : 0));
      ptx::barrier_init(ring.read(), C.warps * pair.blocks);
    }
    ring.stage = 0;
    for (u32 each = 0; each < C.teams; ++each) ptx::barrier_init(ring.turn(each), C.warps);
    ptx::barrier_init_done();
  }
  __syncwarp();
  ptx::cluster_barrier();
  ptx::wait_for_previous();
  if (team == C.teams) {
    if constexpr (unequal) ptx::give_registers<few>();
    if (first || copies_raw<C>) {
#pragma unroll 1
      for (u32 number = blockIdx.x / parts; number < problem.programs; number += gridDim.x / parts) {
        Site site = problem.site(number);
        site.share = share;
        Producer<C> p(grid, order, site, ring, pair, first);
        kernel(p, problem.args(site));
      }
    }
  } else {
    if constexpr (unequal) ptx::take_registers<many>();
#pragma unroll 1
    for (u32 number = blockIdx.x / parts, turn = 0; number < problem.programs; number += gridDim.x / parts) {
      Site site = problem.site(number);
      site.share = share;
      Counted<C> steps(grid, order, site);
      if (C.teams > 1) kernel(steps, problem.args(site));
      if (turn == team) {
        Consumer<C> p(grid, order, site, ring, pair, steps.pipelines);
        kernel(p, problem.args(site));
      } else {
        ring.advance(steps.steps);
      }
      turn = turn + 1 == C.teams ? 0 : turn + 1;
    }
  }
  // A block's shared memory is there as long as others bring something to it or read it. Those that hold no sums wait
  // where team 0's are added up.
  __syncwarp();
  if (parts > 1 && team != 0) meet_sharers();
  ptx::cluster_barrier();
}

}  // namespace tilewright::cuda
