// How much shared memory a kernel needs on a GPU, found by running it on the host without data: every tile is a shape,
// and each operation adds what executor.hpp would take for it. The executor asserts the result at compile time, so the
// two cannot drift apart.
#pragma once

#include <tilewright/tile/cuda/layout.hpp>
#include <tilewright/tile/grid.hpp>
#include <tilewright/tile/tile.hpp>

namespace tilewright::cuda::footprint {

/// Bytes of shared memory: of one stage of the largest pipeline, and of the operation that needs the most besides.
struct Need {
  int stage = 0, scratch = 0;
  constexpr void add_stage(int bytes) { stage = stage > bytes ? stage : bytes; }
  constexpr void add_scratch(int bytes) { scratch = scratch > bytes ? scratch : bytes; }
};

/// W: the warps of a program.
template <class T, int M, int N, class L, int W>
class Tile : public tile::Value {
 public:
  using element = T;
  using Layout = L;
  static constexpr int rows = M;
  static constexpr int cols = N;

  constexpr explicit Tile(Need& need) : need_(&need) {}

  template <class Load>
  constexpr auto materialize(const Load&) const {
    constexpr int r = Load::rows, c = Load::cols;
    if constexpr ((r == 1 || r == L::m) && (c == 1 || c == L::n)) {
      return Tile<typename Load::element, r, c, L, W>(*need_);
    } else {
      return Tile<typename Load::element, r, c, Fragments<r, c, W>, W>(*need_);
    }
  }
  template <class A, class B>
  constexpr void accumulate(const tile::Product<A, B>&) {
    need_->add_scratch(operand_bytes<tile::plain<A>>() + operand_bytes<tile::plain<B>>());
  }
  template <class P, class Mask>
  constexpr void store(const P&, const Mask&) const {
    if constexpr (M > 1 && N > 1) need_->add_scratch(stored_bytes<L, element_bytes<typename P::element>>());
  }
  template <class P, class Mask>
  constexpr void atomic_add(const P&, const Mask&) const {}
  template <class Op>
  constexpr auto map() const {
    return Tile<float, M, N, L, W>(*need_);
  }
  template <class F>
  constexpr auto map_function(const F&) const {
    return Tile<float, M, N, L, W>(*need_);
  }
  template <class Op, bool NumberFirst>
  constexpr auto zip_number(float) const {
    return Tile<float, M, N, L, W>(*need_);
  }
  template <class E>
  constexpr auto cast() const {
    return Tile<E, M, N, L, W>(*need_);
  }
  template <class Op, class U>
  constexpr auto zip(const U&) const {
    return combine<U>();
  }
  template <class Mask, class Y>
  constexpr auto select(const Mask&, const Y&) const {
    if constexpr (tile::TileValue<Y>) {
      return combine<Y>();
    } else {
      return Tile<float, M, N, L, W>(*need_);
    }
  }
  constexpr auto transposed() const { return Tile<T, N, M, flipped<L>, W>(*need_); }
  template <class Op, int Along>
  constexpr auto reduce() const {
    if constexpr ((Along == 1 ? N : M) > 1) need_->add_scratch(reduction_bytes<L, Along>());
    return Tile<float, Along == 1 ? M : 1, Along == 1 ? 1 : N, L, W>(*need_);
  }

 private:
  template <class, int, int, class, int>
  friend class Tile;

  template <class D>
  constexpr void distribute() const {
    if constexpr (!tile::is_same<L, D>) need_->add_scratch(exchange_bytes<M, N>);
  }
  template <class U>
  constexpr auto combine() const {
    constexpr int m = M > U::rows ? M : U::rows, n = N > U::cols ? N : U::cols;
    using D = CombinedLayout<L, M, N, typename U::Layout, U::rows, U::cols, W>;
    distribute<D>();
    U(*need_).template distribute<D>();
    return Tile<float, m, n, D, W>(*need_);
  }
  template <class D, int ES>
  static constexpr int stored_bytes() {
    if constexpr (D::transposed) {
      return staging_bytes<typename D::straight, ES>;
    } else {
      return staging_bytes<D, ES>;
    }
  }
  template <class X>
  static constexpr int operand_bytes() {
    if constexpr (requires { X::staged; }) {
      return 0;
    } else {
      return block_bytes<X>;
    }
  }

  Need* need_;
};

/// A load that a pipeline has fetched.
template <class L>
struct Staged {
  using load_tag = void;
  using element = typename L::element;
  static constexpr int rows = L::rows, cols = L::cols;
  static constexpr bool staged = true;
};

template <int W>
class Program : public tile::ProgramIds {
 public:
  constexpr Program(const tile::ProgramIds& ids, Need& need) : ProgramIds(ids), need_(need) {}

  template <class T, int M, int N>
  constexpr auto full(float) {
    return Tile<T, M, N, Fragments<M, N, W>, W>(need_);
  }
  template <class P, class Mask>
  constexpr auto load(const tile::Load<P, Mask>&) {
    return Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols, Fragments<P::rows, P::cols, W>, W>(
        need_);
  }
  /// One step stands for all: their shapes are the same.
  template <int BK, class Produce, class Consume>
  constexpr void pipeline(tile::Steps<BK> steps, Produce& produce, Consume& consume) {
    run(produce(steps.step(0)), consume);
  }

 private:
  template <class P, class Mask, class Consume>
  constexpr void run(const tile::Load<P, Mask>& load, Consume& consume) {
    run(tile::both(load), consume);
  }
  template <class... L, class Consume>
  constexpr void run(const tile::Both<L...>&, Consume& consume) {
    need_.add_stage((block_bytes<L> + ...));
    consume(Staged<L>{}...);
  }

  Need& need_;
};

/// What the first program of a grid needs; the others are of the same types.
template <int W, class Kernel, class Args>
constexpr Need of(const Kernel& kernel, tile::Grid grid, const Args& args) {
  Need need;
  Program<W> p(tile::ProgramIds(grid, {}, 0), need);
  kernel(p, args);
  return need;
}

}  // namespace tilewright::cuda::footprint
