// Shared memory and the barriers of those who share it, and the blocks of a pipeline's step that lie there.
//
// Shared memory is one piece: a pipeline's ring of stages, and behind it scratch memory for what warps must tell each
// other, of each team its own. Every use of scratch memory begins with a barrier, so that the one before has been read.
#pragma once

#include <tilewright/tile/cuda/layout.hpp>
#include <tilewright/tile/cuda/ptx/convert.hpp>
#include <tilewright/tile/cuda/ptx/copy.hpp>
#include <tilewright/tile/cuda/ptx/roles.hpp>
#include <tilewright/tile/cuda/ptx/wgmma.hpp>

namespace tilewright::cuda {

extern __shared__ __align__(1024) unsigned char shared_memory[];

/// Which of a block's teams a thread belongs to: one behind the last are those that bring blocks. With several, a
/// thread's index is its place in its team.
template <Config C>
__device__ u32 team_index() {
  return C.teams > 1 ? threadIdx.y : threadIdx.x / C.threads();
}

/// The shared addresses of a pipeline's ring and of scratch memory.
__device__ inline u32 ring_address() { return ptx::shared_address(shared_memory); }
template <Config C, int Bytes>
__device__ u32 scratch_address() {
  static_assert(Bytes <= C.scratch_bytes, "cuda: more scratch memory is needed than the launch provides");
  const u32 team = C.teams > 1 ? team_index<C>() : 0;
  return ring_address() + static_cast<u32>(C.ring_bytes) + team * static_cast<u32>(C.scratch_bytes);
}

/// A barrier of the threads that share a program's values.
template <Config C>
__device__ void barrier() {
  if constexpr (C.roles()) {
    ptx::barrier_of<C.threads()>(1 + team_index<C>());
  } else {
    __syncthreads();
  }
}

/// A barrier behind which what threads have written to shared memory is there for whatever multiplies.
template <Config C>
__device__ void publish() {
  if constexpr (C.tensor == Tensor::wgmma) ptx::fence_for_wgmma();
  barrier<C>();
}

/// A block of a pipeline's step, in shared memory. A load in the eyes of the language: dot takes it as it is,
/// arithmetic reads it. Work: what the pipeline has to do during the step, (*work)(), once; it is best done while
/// tensor cores multiply. If it is a Chain, it waits for the products of the step before, and this step's go on.
template <class E, int R, int N, int Axis, class Work>
struct Staged {
  using load_tag = void;
  using element = E;
  static constexpr int rows = R, cols = N;
  using Block = cuda::Block<R, N, element_bytes<E>, Axis>;
  u32 address;
  Work* work;

  __device__ u32 address_of(int row, int col) const {
    return address + static_cast<u32>(Axis == 1 ? Block::offset(row, col) : Block::offset(col, row));
  }
  __device__ float at(int row, int col) const {
    const u32 from = address_of(row, col);
    if constexpr (tile::is_same<E, float>) {
      return ptx::load_shared_float(from);
    } else {
      return ptx::widen(E{ptx::load_shared_half(from)});
    }
  }
};

/// A block as it lies in memory: of each row, the aligned chunks that hold it, where a Layout has them. Step: elements
/// from one neighbour to the next. What Raw (mover.hpp) and Rows (rows.hpp) have in common.
template <class E, int R, int N, int Axis, class Work, class Places, int Step = 1>
struct Unshifted {
  using load_tag = void;
  using element = E;
  static constexpr int rows = R, cols = N, axis = Axis;
  static constexpr int next = Step * element_bytes<E>;  // bytes from a neighbour to the next
  using Block = cuda::Block<R, N, element_bytes<E>, Axis>;
  using Layout = Places;
  static constexpr int sixteen = Layout::sixteen;
  u32 address;
  Layout layout;
  Work* work;

  /// Where a row begins. Those of rows sixteen apart are a constant apart.
  __device__ u32 row_address(int row) const { return address + layout.start(row); }
  __device__ u32 address_of(int row, int col) const {
    return row_address(Axis == 1 ? row : col) + static_cast<u32>((Axis == 1 ? col : row) * next);
  }
  __device__ u16 bits(int row, int col) const { return ptx::load_shared_half(address_of(row, col)); }
  __device__ float at(int row, int col) const { return ptx::widen(E{bits(row, col)}); }
};

/// What there is to be done ahead with a Raw block. Its fragments stand in registers, which were filled in the step
/// before unless they are fresh, and which are in use until the next step's work is called for: only then may the next
/// block's, at an address, fill others.
struct Ahead {
  bool fresh;
  u32 address;
  u32 (*fragments)[4];
  u32 (*next)[4];
};
template <class F>
struct Chain {
  F function;
  Ahead ahead;
  __device__ void operator()() { function(); }
};

/// In the place of a step's block: nothing is multiplied, but the sums move so many columns to the left.
template <class E, int R, int N>
struct Moving {
  using load_tag = void;
  using element = E;
  static constexpr int rows = R, cols = N;
  u32 columns;
};

namespace detail {
template <class X>
inline constexpr bool moving = false;
template <class E, int R, int N>
inline constexpr bool moving<Moving<E, R, N>> = true;
template <class Work>
inline constexpr bool chain = false;
template <class F>
inline constexpr bool chain<Chain<F>> = true;
/// Whether a block's products go on beside the next step's.
template <class X>
inline constexpr bool chained = false;
template <class X>
requires requires(X x) { x.work; }
inline constexpr bool chained<X> = chain<tile::plain<decltype(*X::work)>>;
}  // namespace detail

}  // namespace tilewright::cuda
