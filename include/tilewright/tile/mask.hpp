// Masks: which positions of a tile exist. A mask is a bound on the rows and a bound on the columns, each on a typed
// index, so the valid part of a tile is a box that is known without evaluating anything. A load under a false mask is
// never performed.
#pragma once

#include <tilewright/tile/index.hpp>

namespace tilewright::tile {

inline constexpr i64 lowest = -9223372036854775807LL;
inline constexpr i64 highest = 9223372036854775807LL;

/// Positions first <= p < last of a tile's axis.
struct Span {
  int first, last;
};

/// No bound on this axis.
struct NoBound {
  static constexpr bool present = false;
};

/// low <= index < high.
template <Index I>
struct Bound {
  static constexpr bool present = true;
  using index_type = I;
  I index;
  i64 low, high;

  constexpr bool holds(int position) const {
    const i64 value = index.at(position);
    return value >= low && value < high;  // false for no_index, which is below every low
  }
  constexpr Span span() const requires(I::affine) {
    const i64 origin = index.at(0);
    const i64 first = low <= origin ? 0 : smaller(low - origin, I::size);
    const i64 last = high <= origin ? 0 : smaller(high - origin, I::size);
    return {static_cast<int>(first), static_cast<int>(larger(first, last))};
  }
};

/// The caller's promise that every index on this axis exists. The exact checker holds him to it.
template <Index I>
struct Promise {
  static constexpr bool present = true;
  using index_type = I;
  I index;

  constexpr bool holds(int) const { return true; }
  constexpr Span span() const { return {0, I::size}; }
};

/// A bound on the rows and a bound on the columns; either may be missing until it is combined with &&.
template <class R, class C>
struct Mask {
  R rows;
  C cols;
};

namespace detail {
template <int Axis, class B>
constexpr auto on_axis(B bound) {
  if constexpr (Axis == 0) {
    return Mask<B, NoBound>{bound, {}};
  } else {
    return Mask<NoBound, B>{{}, bound};
  }
}

template <class A, class B>
constexpr auto both_bounds(const A& a, const B& b) {
  if constexpr (!A::present) {
    return b;
  } else if constexpr (!B::present) {
    return a;
  } else {
    static_assert(is_same<A, B>, "tile: two bounds on one axis must be on the same index");
    static_assert(A::index_type::affine, "tile: two bounds on one axis need an affine index");
    const i64 shift = b.index.origin - a.index.origin;  // the same range, perhaps moved
    const i64 low = b.low == lowest ? lowest : b.low - shift;
    const i64 high = b.high == highest ? highest : b.high - shift;
    return A{a.index, larger(a.low, low), smaller(a.high, high)};
  }
}
}  // namespace detail

template <int Axis, Index I, Whole T>
constexpr auto operator<(Along<Axis, I> along, T extent) {
  return detail::on_axis<Axis>(Bound<I>{along.index, lowest, static_cast<i64>(extent)});
}
template <int Axis, Index I, Whole T>
constexpr auto operator>=(Along<Axis, I> along, T extent) {
  return detail::on_axis<Axis>(Bound<I>{along.index, static_cast<i64>(extent), highest});
}

/// Both must hold.
template <class R0, class C0, class R1, class C1>
constexpr auto operator&&(const Mask<R0, C0>& a, const Mask<R1, C1>& b) {
  const auto r = detail::both_bounds(a.rows, b.rows);
  const auto c = detail::both_bounds(a.cols, b.cols);
  return Mask<plain<decltype(r)>, plain<decltype(c)>>{r, c};
}

/// An axis whose every index exists, by the caller's promise: `rows(rm) < m && unchecked(cols(rk))`.
template <int Axis, Index I>
constexpr auto unchecked(Along<Axis, I> along) {
  return detail::on_axis<Axis>(Promise<I>{along.index});
}

namespace detail {
/// Whether a bound admits a position; one that is missing admits all.
template <class B>
constexpr bool admits(const B& bound, int position) {
  if constexpr (B::present) {
    return bound.holds(position);
  } else {
    return true;
  }
}

/// Whether a bound is two numbers: neither missing nor a promise.
template <class B>
inline constexpr bool has_limits = false;
template <class I>
inline constexpr bool has_limits<Bound<I>> = true;

/// Why a mask does not fit the index that addresses the same axis, said at compile time.
template <class I, class B>
constexpr bool bound_fits() {
  if constexpr (!B::present) {
    return I::bounded;
  } else {
    return is_same<typename B::index_type, I>;
  }
}
}  // namespace detail

}  // namespace tilewright::tile
