// Programs: which part of the work one instance does, and the loop along K.
//
// A kernel is a call operator `template <class P, class X> void operator()(P& p, const X& x) const`: p is the program
// object of a target, x the arguments (plain data). p hands out the output ranges and runs the pipeline, so that a plan
// decides the order of tiles, when a block is fetched and by whom, without a word of that in the kernel.
#pragma once

#include <tilewright/tile/order.hpp>
#include <tilewright/tile/value.hpp>

namespace tilewright::tile {

struct RowTag {};
struct ColTag {};
struct StepTag {};

/// A program's rows and columns of the output.
template <int BM, int BN>
struct OutputRanges {
  Range<BM, RowTag> rows;
  Range<BN, ColTag> cols;
};

/// The output tile that this program owns, in the plan's order, of a result of m x n.
template <int BM, int BN, class P>
constexpr OutputRanges<BM, BN> output_ranges(P& p, i64 m, i64 n) {
  const TileCoord tile = p.output_tile(TileGrid{cdiv(m, BM), cdiv(n, BN)});
  return {{tile.row * BM}, {tile.col * BN}};
}

/// The K steps of a program: [begin, end) in blocks of BK. The last block may reach past the end; the loads' masks say
/// what exists.
template <int BK>
struct Steps {
  using Step = Range<BK, StepTag>;
  i64 begin_index, end_index;

  constexpr i64 count() const { return cdiv(end_index - begin_index, BK); }
  constexpr Step step(i64 q) const { return {begin_index + q * BK}; }

  struct Iterator {
    i64 origin;
    constexpr Step operator*() const { return {origin}; }
    constexpr Iterator& operator++() {
      origin += BK;
      return *this;
    }
    constexpr bool operator!=(Iterator other) const { return origin < other.origin; }
  };
  constexpr Iterator begin() const { return {begin_index}; }
  constexpr Iterator end() const { return {end_index}; }
};

template <int BK>
constexpr Steps<BK> steps(i64 k) {
  static_assert(BK > 0, "tile::steps: the step must be positive");
  return {0, k};
}

/// The steps of part `part` of `parts`: consecutive, whole blocks of BK, so that the matrix's own bound on K is the
/// only tail.
template <int BK>
constexpr Steps<BK> split_steps(i64 k, i64 part, i64 parts) {
  const StepRange own = steps_of_part(cdiv(k, BK), parts, part);
  return {smaller(own.begin * BK, k), smaller(own.end * BK, k)};
}

/// Several loads of one K step.
template <class... L>
struct Both;
template <>
struct Both<> {
  template <class F, class... Done>
  constexpr void apply(F& function, const Done&... done) const {
    function(done...);
  }
};
template <class First, class... Rest>
struct Both<First, Rest...> {
  First first;
  Both<Rest...> rest;
  template <class F, class... Done>
  constexpr void apply(F& function, const Done&... done) const {
    rest.apply(function, done..., first);
  }
};
constexpr Both<> both() { return {}; }
template <class First, class... Rest>
constexpr Both<First, Rest...> both(First first, Rest... rest) {
  static_assert(LoadValue<First>, "tile::both: takes loads");
  return {first, both(rest...)};
}

/// For every step: `produce(rk)` says what to load (one load, or `both(...)`); `consume(a, b, ...)` says what to do
/// with it. When a block is fetched, how many are in flight and by which threads is the plan's business. Steps are
/// consumed in order.
template <class P, int BK, class Produce, class Consume>
constexpr void pipeline(P& p, Steps<BK> steps, Produce produce, Consume consume) {
  p.pipeline(steps, produce, consume);
}

/// What a program's pipelines have summed over all their steps. Where a plan shares a program's steps among several
/// blocks of threads, each has summed its own: here they are added, in order; everywhere else the sums are whole. A
/// program whose steps may be shared calls it once, before anything else is made of the sums.
template <class P, class V>
constexpr decltype(auto) whole_sum(P& p, const V& sums) {
  if constexpr (requires { p.whole_sum(sums); }) {
    return p.whole_sum(sums);
  } else {
    return (sums);
  }
}

namespace detail {
/// A pipeline without overlap: what executors without asynchronous copies do.
template <int BK, class Produce, class Consume>
constexpr void run_in_turn(Steps<BK> steps, Produce& produce, Consume& consume) {
  for (const auto rk : steps) {
    const auto blocks = produce(rk);
    if constexpr (LoadValue<decltype(blocks)>) {
      consume(blocks);
    } else {
      blocks.apply(consume);
    }
  }
}
}  // namespace detail

}  // namespace tilewright::tile
