// The CUDA executor of the tile language: a program is a block of threads, a value is distributed over their registers.
//
// Device code alone, compiled by NVRTC or nvcc; it needs no header but the language's own. Loads of a pipeline's steps
// and operands of dot travel through shared memory (mover.hpp), everything else stays in registers (distributed.hpp)
// until it is stored (store.hpp). Start at run(), then Program; footprint.hpp says how much shared memory a kernel
// needs.
#pragma once

#include <tilewright/tile/cuda/distributed.hpp>
#include <tilewright/tile/grid.hpp>

namespace tilewright::cuda {

/// Which program this is. A launch has fewer than 2^31 of them, so their numbers take divisions of 32 bits.
class Numbered {
 public:
  /// placed: its output tile, if not the order decides.
  __device__ Numbered(const tile::Grid& grid, const Order& order, u32 number, const TileCoord& placed = {-1, -1})
      : grid_{static_cast<u32>(grid.x), static_cast<u32>(grid.y), static_cast<u32>(grid.z)},
        order_(order),
        placed_(placed) {
    if (number < grid_[0]) {  // a division takes a while, and most grids have one axis
      id_[0] = number, id_[1] = id_[2] = 0;
      return;
    }
    const u32 rest = number / grid_[0];
    id_[0] = number - rest * grid_[0];
    id_[1] = rest % grid_[1];
    id_[2] = rest / grid_[1];
  }
  __device__ i64 id(int axis) const { return id_[axis]; }
  __device__ i64 grid(int axis) const { return grid_[axis]; }
  __device__ i64 number() const { return id_[0] + grid_[0] * (id_[1] + grid_[1] * id_[2]); }
  __device__ TileCoord output_tile(TileGrid tiles) const {
    if (placed_.row >= 0) return placed_;
    // The tiles of axis 0 are its programs, so their number fits as well.
    return tilewright::detail::tile_in<u32>(order_, static_cast<u32>(tiles.rows), static_cast<u32>(tiles.cols), id_[0]);
  }

 private:
  u32 id_[3];
  u32 grid_[3];
  Order order_;
  TileCoord placed_;
};

/// One load is a step of one.
template <class... L>
__device__ const tile::Both<L...>& as_blocks(const tile::Both<L...>& blocks) {
  return blocks;
}
template <class P, class Mask>
__device__ auto as_blocks(const tile::Load<P, Mask>& load) {
  return tile::both(load);
}
template <class First, class... Rest>
__device__ tile::Both<First, Rest...> prepend(First first, const tile::Both<Rest...>& rest) {
  return {first, rest};
}

/// The program object of the CUDA target.
template <Config C>
class Program : public Numbered {
 public:
  using Numbered::Numbered;

  template <class T, int M, int N>
  __device__ auto full(float value) {
    const float rounded = ptx::widen(ptx::round_to<T>(value));
    return Tile<T, M, N, Fragments<M, N, C.team()>, C>::filled([&](int, int) { return rounded; }, rounded);
  }

  /// Reads a load now.
  template <class P, class Mask>
  __device__ auto load(const tile::Load<P, Mask>& load) {
    return Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols, Fragments<P::rows, P::cols, C.team()>,
                C>::read(load);
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
    const u32 ring = ring_address(), end = ring + static_cast<u32>(stages * Step::bytes);
    const auto after = [&](u32 slot) {
      const u32 next = slot + static_cast<u32>(Step::bytes);
      return next == end ? ring : next;
    };
    const auto other = [&](u32 place) { return 2 * end + static_cast<u32>(Step::settled_bytes) - place; };
    // The blocks of the step that begins at index k.
    const auto blocks = [&](i64 k) { return as_blocks(produce(typename tile::Steps<BK>::Step{k})); };
    typename Step::Places places(blocks(steps.begin_index));
    i64 k = steps.begin_index;
    __syncthreads();  // a pipeline before this one may still be read
    if constexpr (stages < 2 + ahead) {
#pragma unroll 1
      for (i64 left = count; left > 0; --left, k += BK) {
        Step::fetch(blocks(k), places, ring);
        ptx::async_commit();
        ptx::async_wait<0>();
        publish<C>();
        if constexpr (Step::settles) {
          Step::settle(blocks(k), ring, end);
          publish<C>();
        }
        const auto nothing = [] {};
        Step::staged(blocks(k), ring, end, &nothing).apply(consume);
        __syncthreads();
      }
    } else {
      u32 read = ring, write = ring, settled = end;
#pragma unroll 1
      for (int stage = 0; stage < stages - 1; ++stage, write = after(write)) {
        if (stage < count) Step::fetch(blocks(k + stage * BK), places, write);
        ptx::async_commit();
      }
      if constexpr (Step::settles) {
        ptx::async_wait<stages - 2>();
        __syncthreads();
        if (count > 0) Step::settle(blocks(k), read, settled);
      }
#pragma unroll 1
      for (i64 left = count; left > 0; --left, k += BK) {
        ptx::async_wait<stages - 2 - ahead>();
        publish<C>();
        bool done = false;
        auto work = [&] {
          if (done) return;
          done = true;
          if (left >= stages) Step::fetch(blocks(k + (stages - 1) * BK), places, write);
          ptx::async_commit();
          if constexpr (Step::settles) {
            if (left > 1) Step::settle(blocks(k + BK), after(read), other(settled));
          }
        };
        Step::staged(blocks(k), read, settled, &work).apply(consume);
        work();
        read = after(read);
        write = after(write);
        settled = other(settled);
      }
      ptx::async_wait<0>();
    }
  }

 private:
  /// The loads of a step, the first of them the Which-th of all: their movers and their places in a slot and among the
  /// settled blocks.
  template <int Which, class T>
  struct Blocks;
  template <int Which>
  struct Blocks<Which, tile::Both<>> {
    static constexpr int bytes = 0, settled_bytes = 0;
    static constexpr bool settles = false;
    struct Places {
      __device__ explicit Places(const tile::Both<>&) {}
    };
    __device__ static void fetch(const tile::Both<>&, Places&, u32) {}
    __device__ static void settle(const tile::Both<>&, u32, u32) {}
    template <class Work>
    __device__ static tile::Both<> staged(const tile::Both<>&, u32, u32, Work*) {
      return {};
    }
  };
  template <int Which, class First, class... Rest>
  struct Blocks<Which, tile::Both<First, Rest...>> {
    using Carrier = Mover<First, C.move(Which), C.threads()>;
    using Others = Blocks<Which + 1, tile::Both<Rest...>>;
    template <class Work>
    using Block = Staged<typename First::element, First::rows, First::cols, C.move(Which).axis, Work>;
    static constexpr int own = C.settles() ? raw_bytes<First> : block_bytes<First>;
    static constexpr int own_settled = cuda::settled_bytes<First>(Which, C.team());
    static constexpr int bytes = own + Others::bytes, settled_bytes = own_settled + Others::settled_bytes;
    static constexpr bool is_left = Carrier::settles && cuda::is_left<First>(Which, C.team());
    static constexpr bool settles = (Carrier::settles && !is_left) || Others::settles;
    struct Places {
      typename Carrier::Places first;
      typename Others::Places rest;
      __device__ explicit Places(const tile::Both<First, Rest...>& blocks) : first(blocks.first), rest(blocks.rest) {}
    };
    __device__ static void fetch(const tile::Both<First, Rest...>& blocks, Places& places, u32 at) {
      places.first.follow(blocks.first);
      Carrier::fetch(blocks.first, places.first, at);
      Others::fetch(blocks.rest, places.rest, at + own);
    }
    __device__ static void settle(const tile::Both<First, Rest...>& blocks, u32 at, u32 to) {
      if constexpr (!is_left) Carrier::settle(blocks.first, at, to);
      Others::settle(blocks.rest, at + own, to + own_settled);
    }
    template <class Work>
    __device__ static auto staged(const tile::Both<First, Rest...>& blocks, u32 at, u32 settled, Work* work) {
      const auto rest = Others::staged(blocks.rest, at + own, settled + own_settled, work);
      if constexpr (is_left) {
        return prepend(Carrier::left_raw(blocks.first, at, work), rest);
      } else {
        return prepend(Block<Work>{Carrier::settles ? settled : at, work}, rest);
      }
    }
  };
};

/// One program of a kernel: what an entry point calls.
template <Config C, class Kernel, class Args>
__device__ void run(const Kernel& kernel, const tile::Grid& grid, const Order& order, const Args& args) {
  Program<C> p(grid, order, blockIdx.x);
  kernel(p, args);
}

}  // namespace tilewright::cuda
