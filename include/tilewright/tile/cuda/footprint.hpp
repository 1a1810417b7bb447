// How much shared memory a kernel needs on a GPU, found on the host from the kernel's types alone: every tile is a
// shape, and each operation that the kernel's text holds registers what executor.hpp would take for it. Nothing is run:
// what counts is that the operation is instantiated, so that a loop which happens to take no step is counted as well.
// The executor asserts the result at compile time, so the two cannot drift apart.
#pragma once

#include <tilewright/tile/cuda/layout.hpp>
#include <tilewright/tile/grid.hpp>
#include <tilewright/tile/tile.hpp>

namespace tilewright::cuda::footprint {

/// Bytes of shared memory under movers of one kind: of one stage of the largest pipeline, of its blocks when they are
/// settled, and of the operation that needs the most besides.
struct Bytes {
  int stage = 0, settled = 0, scratch = 0;
  void add(const Bytes& other) {
    stage = stage > other.stage ? stage : other.stage;
    settled = settled > other.settled ? settled : other.settled;
    scratch = scratch > other.scratch ? scratch : other.scratch;
  }
};
/// Under movers that bring blocks straight to their place, under some that must settle them, and where the first block
/// alone arrives as it lies in memory and stays so; the same where every second element of its rows is wanted.
struct Need {
  Bytes direct, settling, left, left_second;
  int sums = 0;  // a thread's, that are whole_sum's: blocks of threads may share them
};

/// What the operations of one kernel have registered. For: a type that names the kernel, its arguments and its warps.
template <class For>
struct Registry {
  static constinit inline Need need{};

  template <Bytes Direct, Bytes Settling, Bytes Left, Bytes Second>
  struct Entry {
    // Initialised before main where anything refers to it.
    static inline const bool registered = [] {
      need.direct.add(Direct);
      need.settling.add(Settling);
      need.left.add(Left);
      need.left_second.add(Second);
      return true;
    }();
  };
  template <int Count>
  struct Sums {
    static inline const bool registered = [] {
      need.sums = need.sums > Count ? need.sums : Count;
      return true;
    }();
  };
  template <Bytes Direct, Bytes Settling = Direct, Bytes Left = Settling, Bytes Second = Left>
  static void add() {
    static_cast<void>(Entry<Direct, Settling, Left, Second>::registered);
  }
};

/// W: the warps of a program and what they multiply with.
template <class T, int M, int N, class L, Team W, class For>
class Tile : public tile::Value {
 public:
  using element = T;
  using Layout = L;
  static constexpr int rows = M;
  static constexpr int cols = N;

  template <class Load>
  auto materialize(const Load&) const {
    constexpr int r = Load::rows, c = Load::cols;
    if constexpr (slice_of<L, r, c>) {
      return Tile<typename Load::element, r, c, L, W, For>();
    } else {
      return Tile<typename Load::element, r, c, Fragments<r, c, W>, W, For>();
    }
  }
  template <class A, class B>
  void accumulate(const tile::Product<A, B>&) {
    Registry<For>::template add<
        Bytes{0, 0, operand_bytes<tile::plain<A>, 0>(false) + operand_bytes<tile::plain<B>, 1>(false)},
        Bytes{0, 0, operand_bytes<tile::plain<A>, 0>(true) + operand_bytes<tile::plain<B>, 1>(true)}>();
  }
  template <class P, class Mask>
  void store(const P&, const Mask&) const {
    if constexpr (M > 1 && N > 1)
      Registry<For>::template add<Bytes{0, 0, stored_bytes<L, element_bytes<typename P::element>>()}>();
  }
  template <class P, class Mask>
  void atomic_add(const P&, const Mask&) const {}
  template <class Op>
  auto map() const {
    return Tile<float, M, N, L, W, For>();
  }
  template <class F>
  auto map_function(const F&) const {
    return Tile<float, M, N, L, W, For>();
  }
  template <class Op, bool NumberFirst>
  auto zip_number(float) const {
    return Tile<float, M, N, L, W, For>();
  }
  template <class E>
  auto cast() const {
    return Tile<E, M, N, L, W, For>();
  }
  template <class Op, class U>
  auto zip(const U&) const {
    return combine<U>();
  }
  template <class Mask, class Y>
  auto select(const Mask&, const Y&) const {
    if constexpr (tile::TileValue<Y>) {
      return combine<Y>();
    } else {
      return Tile<float, M, N, L, W, For>();
    }
  }
  auto transposed() const { return Tile<T, N, M, flipped<L>, W, For>(); }
  template <class Op, int Along>
  auto reduce() const {
    if constexpr ((Along == 1 ? N : M) > 1) Registry<For>::template add<Bytes{0, 0, reduction_bytes<L, Along>()}>();
    return Tile < float, Along == 1 ? M : 1, Along == 1 ? 1 : N, L, W, For > ();
  }

 private:
  template <class, int, int, class, Team, class>
  friend class Tile;

  template <class D>
  void distribute() const {
    if constexpr (!tile::is_same<L, D>) Registry<For>::template add<Bytes{0, 0, exchange_bytes<M, N>}>();
  }
  template <class U>
  auto combine() const {
    constexpr int m = M > U::rows ? M : U::rows, n = N > U::cols ? N : U::cols;
    using D = CombinedLayout<L, M, N, typename U::Layout, U::rows, U::cols, W>;
    distribute<D>();
    U().template distribute<D>();
    return Tile<float, m, n, D, W, For>();
  }
  template <class D, int ES>
  static constexpr int stored_bytes() {
    if constexpr (D::transposed) {
      return staging_bytes<typename D::straight, ES>;
    } else {
      return staging_bytes<D, ES>;
    }
  }
  template <class X, int Which>
  static constexpr int operand_bytes([[maybe_unused]] bool settles) {
    if constexpr (requires { X::left; }) {
      return settles && X::left ? left_need<X, L>(Which) : 0;
    } else {
      return operand_need<X>(settles);
    }
  }
};

/// A load that a pipeline has fetched. left: whether it stays raw if it is realigned.
template <class L, bool Left>
struct Staged {
  using load_tag = void;
  using element = typename L::element;
  static constexpr int rows = L::rows, cols = L::cols;
  static constexpr bool left = Left;
};

template <Team W, class For>
class Program : public tile::ProgramIds {
 public:
  using ProgramIds::ProgramIds;

  template <class T, int M, int N>
  auto full(float) {
    return Tile<T, M, N, Fragments<M, N, W>, W, For>();
  }
  template <class P, class Mask>
  auto load(const tile::Load<P, Mask>&) {
    return Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols, Fragments<P::rows, P::cols, W>, W, For>();
  }
  /// One step stands for all: their shapes are the same.
  template <int BK, class Produce, class Consume>
  void pipeline(tile::Steps<BK> steps, Produce& produce, Consume& consume) {
    run(produce(steps.step(0)), consume);
  }
  template <class T>
  const T& whole_sum(const T& sums) {
    static_cast<void>(Registry<For>::template Sums<T::Layout::row_slots * T::Layout::col_slots>::registered);
    return sums;
  }

 private:
  template <class P, class Mask, class Consume>
  void run(const tile::Load<P, Mask>& load, Consume& consume) {
    run(tile::both(load), consume);
  }
  template <class First, class... Rest, class Consume>
  void run(const tile::Both<First, Rest...>&, Consume& consume) {
    constexpr int direct = (block_bytes<Rest> + ... + block_bytes<First>);
    constexpr int raw = (raw_bytes<Rest> + ... + raw_bytes<First>);
    constexpr int settled = (settled_bytes<Rest>(1, W) + ... + settled_bytes<First>(0, W));
    constexpr int left = (block_bytes<Rest> + ... + rows_bytes<First, 1>());
    constexpr int second = (block_bytes<Rest> + ... + rows_bytes<First, 2>());
    Registry<For>::template add<Bytes{direct, 0, 0}, Bytes{raw, settled, 0}, Bytes{left, 0, 0}, Bytes{second, 0, 0}>();
    consume(Staged<First, is_left<First>(0, W)>{}, Staged<Rest, false>{}...);
  }
};

/// A kernel whose operations are instantiated, and never run.
template <Team W, class Kernel, class Args>
struct Kept {
  static void run(const Kernel& kernel, const Args& args) {
    Program<W, Kept> p(tile::Grid{}, Order{}, 0);
    kernel(p, args);
  }
  static inline void (*const instantiated)(const Kernel&, const Args&) = &run;
};

template <Team W, class Kernel, class Args>
Need of() {
  static_cast<void>(Kept<W, Kernel, Args>::instantiated);
  return Registry<Kept<W, Kernel, Args>>::need;
}

}  // namespace tilewright::cuda::footprint
