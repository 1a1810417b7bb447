// A load, or a store, seen from its block: along each axis, which positions exist and how far apart they are in memory.
// Addresses are 64-bit integers, since some of those that are computed lie outside of any object.
#pragma once

#include <tilewright/tile/cuda/layout.hpp>
#include <tilewright/tile/cuda/ptx/convert.hpp>
#include <tilewright/tile/cuda/ptx/copy.hpp>
#include <tilewright/tile/program.hpp>

namespace tilewright::cuda {

__device__ inline int warp_index() { return static_cast<int>(threadIdx.x) / 32; }
__device__ inline int lane_index() { return static_cast<int>(threadIdx.x) % 32; }

/// What an axis' span follows from.
struct Limits {
  i64 first, low, high;
  __device__ bool operator==(const Limits& other) const {
    return first == other.first && low == other.low && high == other.high;
  }
};

/// One axis of a load: which positions exist, and where they are.
template <class T, class B>
struct AxisOf {
  static constexpr bool affine = true;
  const B& bound;
  __device__ AxisOf(const T&, const B& b) : bound(b) {}
  __device__ i64 first() const { return 0; }
  __device__ i64 origin() const { return 0; }
  __device__ i64 offset(int) const { return 0; }
  __device__ bool admits(int) const { return true; }
  __device__ tile::Span span() const { return {0, 1}; }
  __device__ Limits limits() const { return {}; }
  __device__ i64 stride() const { return 1; }
  __device__ bool covers(int) const { return true; }
};
template <int A, class I, class B>
struct AxisOf<tile::Term<A, I>, B> {
  static constexpr bool affine = I::affine;
  const tile::Term<A, I>& term;
  const B& bound;
  __device__ AxisOf(const tile::Term<A, I>& t, const B& b) : term(t), bound(b) {}
  /// The index at position 0 of an affine axis, the elements to it, and from there to a position.
  __device__ i64 first() const {
    if constexpr (affine) {
      return term.index.at(0);
    } else {
      return 0;
    }
  }
  __device__ i64 origin() const { return first() * term.stride; }
  __device__ i64 offset(int position) const {
    if constexpr (affine) {
      return position * term.stride;
    } else {
      return term.index.at(position) * term.stride;
    }
  }
  __device__ bool admits(int position) const { return tile::detail::admits(bound, position); }
  __device__ tile::Span span() const {
    if constexpr (B::present) {
      return bound.span();
    } else {
      return {0, I::size};
    }
  }
  __device__ Limits limits() const {
    if constexpr (affine && tile::detail::has_limits<B>) {
      return {bound.index.at(0), bound.low, bound.high};
    } else {
      return {};
    }
  }
  __device__ i64 stride() const { return term.stride; }
  /// Whether the bound admits every position, and `more` past the last.
  __device__ bool covers(int more) const {
    if constexpr (!affine || !tile::detail::has_limits<B>) {
      return B::present && affine;  // a promise
    } else {
      const i64 first = bound.index.at(0);
      return bound.low <= first && first + I::size + more <= bound.high;
    }
  }
};

/// Whether an axis is the one that the steps of a pipeline walk along.
template <class A>
inline constexpr bool walks_along = false;
template <int A, int N, class B>
inline constexpr bool walks_along<AxisOf<tile::Term<A, tile::Range<N, tile::StepTag>>, B>> = true;

template <bool First, class A, class B>
struct Pick {
  using type = A;
};
template <class A, class B>
struct Pick<false, A, B> {
  using type = B;
};

/// A load seen from its block: rows of adjacent positions. Unit: they are adjacent in memory as well.
template <class L, int Axis, bool Unit = false>
struct Source {
  using E = typename L::element;
  using P = decltype(L::pointers);
  using M = decltype(L::mask);
  using Rows = AxisOf<tile::plain<decltype(P::row_term)>, tile::plain<decltype(M::rows)>>;
  using Cols = AxisOf<tile::plain<decltype(P::col_term)>, tile::plain<decltype(M::cols)>>;
  using Inner = typename Pick<Axis == 1, Cols, Rows>::type;
  using Outer = typename Pick<Axis == 1, Rows, Cols>::type;
  Rows rows;
  Cols cols;
  // The addresses of position (0, 0), without the outer axis' origin and with it.
  unsigned long long row_base, base;

  __device__ explicit Source(const L& load)
      : rows(load.pointers.row_term, load.mask.rows),
        cols(load.pointers.col_term, load.mask.cols),
        row_base(reinterpret_cast<unsigned long long>(load.pointers.root) +
                 static_cast<unsigned long long>(load.pointers.offset + inner_origin()) * sizeof(E)),
        base(row_base + static_cast<unsigned long long>(outer().origin()) * sizeof(E)) {}

  __device__ i64 inner_origin() const {
    if constexpr (Unit) {
      return inner().term.index.at(0);
    } else {
      return inner().origin();
    }
  }
  __device__ const Outer& outer() const {
    if constexpr (Axis == 1) {
      return rows;
    } else {
      return cols;
    }
  }
  __device__ const Inner& inner() const {
    if constexpr (Axis == 1) {
      return cols;
    } else {
      return rows;
    }
  }
  /// Bytes from row 0 of the block to another one.
  __device__ unsigned long long row_bytes(int row) const {
    return static_cast<unsigned long long>(outer().offset(row)) * sizeof(E);
  }
  __device__ unsigned long long row_address(int row) const { return base + row_bytes(row); }
  __device__ static E read(unsigned long long address) { return *reinterpret_cast<const E*>(address); }
};

}  // namespace tilewright::cuda
