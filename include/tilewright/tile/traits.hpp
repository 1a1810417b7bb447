// The few type traits that the tile language needs, since kernel code may include no standard header.
#pragma once

#include <tilewright/tile/element.hpp>

/// In front of a kernel's call operator, and of a function that a kernel calls and that is not constexpr.
#ifdef __CUDACC__
#define TILEWRIGHT_KERNEL __device__
#else
#define TILEWRIGHT_KERNEL
#endif

namespace tilewright::tile {

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<const T> {
  using type = T;
};
template <class T>
struct Plain<T&> : Plain<T> {};
template <class T>
struct Plain<T&&> : Plain<T> {};

/// T without reference and const.
template <class T>
using plain = typename Plain<T>::type;

/// Always false, but only known to be so once a template is instantiated: for static_assert in a branch.
template <class...>
inline constexpr bool never = false;

/// What a matrix in memory can hold.
template <class E>
concept Element = is_same<plain<E>, f16> || is_same<plain<E>, bf16> || is_same < plain<E>,
float > ;

/// A whole number of any width: what index arithmetic accepts, and widens to 64 bits before it multiplies.
template <class T>
concept Whole = requires(T value) {
  i64{static_cast<i64>(value)};
  T(value % value);
};

template <class T>
constexpr T&& moved(T& value) {
  return static_cast<T&&>(value);
}

constexpr i64 smaller(i64 a, i64 b) { return a < b ? a : b; }
constexpr i64 larger(i64 a, i64 b) { return a > b ? a : b; }

}  // namespace tilewright::tile
