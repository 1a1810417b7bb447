// How the blocks of a step come to shared memory in kernels in roles (roles.hpp), and what those who multiply find
// there.
#pragma once

#include <tilewright/tile/classes.hpp>
#include <tilewright/tile/cuda/executor.hpp>
#include <tilewright/tile/cuda/shared_sum.hpp>

namespace tilewright::cuda {

/// Where a program is, and what its blocks are taken from.
struct Site {
  u32 number;
  TileCoord tile;
  const TensorMap* maps[2];
  u32 shift = 0, foreign = 0, layer = 0;  // of its class of rows: see Classes
  const tile::Classes* phases = nullptr;  // of rows of K, and their maps
  const TensorMap* phase_maps = nullptr;
  Share share = {};  // this block's of the program
};

/// A part of a sum: the indices of K whose rows of the right operand begin alike (tile/classes.hpp), one in every
/// 2^log of all.
struct Phase {
  i64 of;
  int log;
  u32 columns;  // by which the sums move to the left before

  /// Of all indices below `end`, those of this phase.
  __device__ i64 indices(i64 end) const { return (end - of + (i64{1} << log) - 1) >> log; }
  /// A load of this phase's K, along the left operand's columns or the right one's rows.
  template <int Axis, class P, class M>
  __device__ tile::Load<P, M> part_of(tile::Load<P, M> load) const {
    const auto narrow = [&](auto& term, auto& bound) {
      load.pointers.offset += of * term.stride;
      term.stride <<= log;
      bound.high = indices(bound.high);
    };
    if constexpr (Axis == 1) {
      narrow(load.pointers.col_term, load.mask.cols);
    } else {
      narrow(load.pointers.row_term, load.mask.rows);
    }
    return load;
  }
  template <class Left, class Right>
  __device__ tile::Both<Left, Right> part_of(const tile::Both<Left, Right>& step) const {
    return tile::both(part_of<1>(step.first), part_of<0>(step.rest.first));
  }
  /// What makes the sums move, in the place of a step.
  template <class Left, class Right>
  __device__ auto moving(const tile::Both<Left, Right>&) const {
    return tile::both(Moving<typename Left::element, Left::rows, Left::cols>{columns},
                      Moving<typename Right::element, Right::rows, Right::cols>{columns});
  }
};

/// This block of threads among those of its cluster that have programs of their own, one or two. Two work on tiles one
/// below the other, which have the right operand in common: each brings a half of it to both.
struct Pair {
  u32 blocks, own;
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
  __device__ static void fetch(const tile::Both<>&, const Site&, const Pair&, u32, u32) {}
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
  using Carrier = RowsCopy<First, axis, move.step, producer_threads>;
  static_assert(S::Outer::affine && S::Inner::affine, "cuda: a load by indices that are not adjacent is no box");
  static_assert(B::panel % block_alignment == 0 || B::bytes == B::panel, "cuda: boxes begin where swizzles do");
  static constexpr int panels = B::chunks / B::span, width = B::pitch / element_bytes<typename First::element>;
  static constexpr int own = raw ? rows_bytes<First, move.step>() : block_bytes<First>;
  static constexpr int bytes = own + Others::bytes;  // set aside
  // Those of a raw block's atoms that are a thread's own, if its warps are one below the other.
  static_assert(!raw || B::outer * B::inner / 256 % C.warps == 0, "cuda: raw rows want 16 for each warp");
  static constexpr int fragments = raw ? B::outer * B::inner / 256 / C.warps : Others::fragments;
  static constexpr int copied = (raw ? 0 : panels * B::panel) + Others::copied;  // that arrive in boxes

  /// One thread has the boxes brought.
  __device__ static void fetch(const tile::Both<First, Rest...>& blocks, const Site& from, const Pair& pair, u32 at,
                               u32 barrier) {
    if constexpr (!raw) {
      const S source(blocks.first);
      const int inner = static_cast<int>(source.inner().first()), outer = static_cast<int>(source.outer().first());
      const bool shared = Which == 1 && pair.blocks > 1;
      const int half = shared ? static_cast<int>(pair.own) * (B::outer / 2) : 0;
#pragma unroll
      for (int panel = 0; panel < panels; ++panel) {
        const u32 to = at + static_cast<u32>(panel * B::panel + half * B::pitch);
        const int column = inner + panel * width;
        if constexpr (in_classes) {
          const int of_class = column + static_cast<int>(from.foreign), layer = static_cast<int>(from.layer);
          if (shared) {
            ptx::copy_box_to_both(to, from.maps[Which], of_class, layer, outer + half, barrier);
          } else {
            ptx::copy_box(to, from.maps[Which], of_class, layer, outer, barrier);
          }
        } else if (shared) {
          ptx::copy_box_to_both(to, from.maps[Which], column, outer + half, barrier);
        } else {
          ptx::copy_box(to, from.maps[Which], column, outer, barrier);
        }
      }
    }
    Others::fetch(blocks.rest, from, pair, at + own, barrier);
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

}  // namespace tilewright::cuda
