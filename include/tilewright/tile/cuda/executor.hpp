// The CUDA executor of the tile language: a program is a block of threads, a value is distributed over their registers.
//
// Device code alone, compiled by NVRTC or nvcc; it needs no header but the language's own. Loads of a pipeline's steps
// and operands of dot travel through shared memory (mover.hpp), everything else stays in registers (distributed.hpp)
// until it is stored (store.hpp). Start at run(), then Program; footprint.hpp says how much shared memory a kernel needs.
#pragma once

#include <tilewright/tile/cuda/distributed.hpp>
#include <tilewright/tile/grid.hpp>

namespace tilewright::cuda {

/// The program object of the CUDA target.
template <Config C>
class Program {
 public:
  /// A launch has fewer than 2^31 programs, so their numbers take divisions of 32 bits.
  __device__ Program(const tile::Grid& grid, const Order& order, u32 number)
      : grid_{static_cast<u32>(grid.x), static_cast<u32>(grid.y), static_cast<u32>(grid.z)}, order_(order) {
    const u32 rest = number / grid_[0];
    id_[0] = number - rest * grid_[0];
    id_[1] = rest % grid_[1];
    id_[2] = rest / grid_[1];
  }
  __device__ i64 id(int axis) const { return id_[axis]; }
  __device__ i64 grid(int axis) const { return grid_[axis]; }
  __device__ i64 number() const { return id_[0] + grid_[0] * (id_[1] + grid_[1] * id_[2]); }
  __device__ TileCoord output_tile(TileGrid tiles) const {
    // The tiles of axis 0 are its programs, so their number fits as well.
    return tilewright::detail::tile_in<u32>(order_, static_cast<u32>(tiles.rows), static_cast<u32>(tiles.cols), id_[0]);
  }

  template <class T, int M, int N>
  __device__ auto full(float value) {
    const float rounded = ptx::widen(ptx::round_to<T>(value));
    return Tile<T, M, N, Fragments<M, N, C.warps>, C>::filled([&](int, int) { return rounded; }, rounded);
  }

  /// Reads a load now.
  template <class P, class Mask>
  __device__ auto load(const tile::Load<P, Mask>& load) {
    return Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols, Fragments<P::rows, P::cols, C.warps>, C>::read(
        load);
  }

  /// A ring of C.stages slots: while one step is consumed, the reads of the next ones are in flight. A slot is filled
  /// again one step after it was consumed, so one barrier a step is enough. Blocks that must be settled are settled one
  /// step ahead, beside the arithmetic, into one of two places; that takes three stages to overlap.
  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> steps, Produce& produce, Consume& consume) {
    using Step = Blocks<0, tile::plain<decltype(as_blocks(produce(steps.step(0))))>>;
    constexpr int stages = C.stages, ahead = Step::settles ? 1 : 0;
    static_assert(stages * Step::bytes + (C.settles() ? settled_blocks * Step::settled_bytes : 0) <= C.ring_bytes,
                  "cuda: the pipeline's stages need more shared memory than the launch provides");
    const i64 count = steps.count();
    const auto slot = [](int stage) { return ring_address() + static_cast<u32>(stage * Step::bytes); };
    const auto settled = [](i64 q) {
      return ring_address() + static_cast<u32>(stages * Step::bytes + static_cast<int>(q & 1) * Step::settled_bytes);
    };
    const auto blocks = [&](i64 q) { return as_blocks(produce(steps.step(q))); };
    __syncthreads();  // a pipeline before this one may still be read
    if constexpr (stages < 2 + ahead) {
#pragma unroll 1
      for (i64 q = 0; q < count; ++q) {
        Step::put(Step::fetch(blocks(q), slot(0)), slot(0));
        ptx::async_commit();
        ptx::async_wait<0>();
        __syncthreads();
        if constexpr (Step::settles) {
          Step::settle(blocks(q), slot(0), settled(0));
          __syncthreads();
        }
        Step::staged(slot(0), settled(0)).apply(consume);
        __syncthreads();
      }
    } else {
#pragma unroll
      for (int stage = 0; stage < stages - 1; ++stage) {
        if (stage < count) Step::put(Step::fetch(blocks(stage), slot(stage)), slot(stage));
        ptx::async_commit();
      }
      if constexpr (Step::settles) {
        ptx::async_wait<stages - 2>();
        __syncthreads();
        if (count > 0) Step::settle(blocks(0), slot(0), settled(0));
      }
      int read = 0, write = stages - 1;
#pragma unroll 1
      for (i64 q = 0; q < count; ++q) {
        ptx::async_wait<stages - 2 - ahead>();
        __syncthreads();
        const i64 next = q + stages - 1;
        typename Step::Registers held;
        if (next < count) held = Step::fetch(blocks(next), slot(write));
        const int after = read + 1 == stages ? 0 : read + 1;
        if constexpr (Step::settles) {
          if (q + 1 < count) Step::settle(blocks(q + 1), slot(after), settled(q + 1));
        }
        Step::staged(slot(read), settled(q)).apply(consume);
        if (next < count) Step::put(held, slot(write));
        ptx::async_commit();
        read = after;
        write = write + 1 == stages ? 0 : write + 1;
      }
      ptx::async_wait<0>();
    }
  }

 private:
  /// One load is a step of one.
  template <class... L>
  __device__ static const tile::Both<L...>& as_blocks(const tile::Both<L...>& blocks) {
    return blocks;
  }
  template <class P, class Mask>
  __device__ static auto as_blocks(const tile::Load<P, Mask>& load) {
    return tile::both(load);
  }

  /// The loads of a step, the first of them the Which-th of all: their movers and their places in a slot and among the
  /// settled blocks.
  template <int Which, class T>
  struct Blocks;
  template <int Which>
  struct Blocks<Which, tile::Both<>> {
    static constexpr int bytes = 0, settled_bytes = 0;
    static constexpr bool settles = false;
    struct Registers {};
    __device__ static Registers fetch(const tile::Both<>&, u32) { return {}; }
    __device__ static void put(const Registers&, u32) {}
    __device__ static void settle(const tile::Both<>&, u32, u32) {}
    __device__ static tile::Both<> staged(u32, u32) { return {}; }
  };
  template <int Which, class First, class... Rest>
  struct Blocks<Which, tile::Both<First, Rest...>> {
    using Carrier = Mover<First, C.move(Which), C.threads()>;
    using Others = Blocks<Which + 1, tile::Both<Rest...>>;
    using Block = Staged<typename First::element, First::rows, First::cols, C.move(Which).axis>;
    static constexpr int own = C.settles() ? raw_bytes<First> : block_bytes<First>, own_settled = block_bytes<First>;
    static constexpr int bytes = own + Others::bytes, settled_bytes = own_settled + Others::settled_bytes;
    static constexpr bool settles = Carrier::settles || Others::settles;
    struct Registers {
      typename Carrier::Registers first;
      typename Others::Registers rest;
    };
    __device__ static Registers fetch(const tile::Both<First, Rest...>& blocks, u32 at) {
      return {Carrier::fetch(blocks.first, at), Others::fetch(blocks.rest, at + own)};
    }
    __device__ static void put(const Registers& held, u32 at) {
      Carrier::put(held.first, at);
      Others::put(held.rest, at + own);
    }
    __device__ static void settle(const tile::Both<First, Rest...>& blocks, u32 at, u32 to) {
      Carrier::settle(blocks.first, at, to);
      Others::settle(blocks.rest, at + own, to + own_settled);
    }
    __device__ static auto staged(u32 at, u32 settled) {
      return prepend(Block{Carrier::settles ? settled : at}, Others::staged(at + own, settled + own_settled));
    }
  };
  template <class First, class... Rest>
  __device__ static tile::Both<First, Rest...> prepend(First first, const tile::Both<Rest...>& rest) {
    return {first, rest};
  }

  u32 id_[3];
  u32 grid_[3];
  Order order_;
};

/// One program of a kernel: what an entry point calls.
template <Config C, class Kernel, class Args>
__device__ void run(const Kernel& kernel, const tile::Grid& grid, const Order& order, const Args& args) {
  Program<C> p(grid, order, blockIdx.x);
  kernel(p, args);
}

}  // namespace tilewright::cuda
