// Tile values: blocks of numbers that a program holds, and what can be done with them.
//
// A value's type belongs to a target (it comes from a program object `p`, or from another value), and every function
// here is one neutral template that forwards to a member of that type. Values never steer control flow or addresses.
// Arithmetic is FP32; a binary operation repeats an axis of extent 1 to the other's extent.
#pragma once

#include <tilewright/tile/math.hpp>
#include <tilewright/tile/memory.hpp>

namespace tilewright::tile {

/// The base of every target's tile type, by which operators find this namespace.
struct Value {
  using tile_tag = void;
};
template <class T>
concept TileValue = requires {
  typename plain<T>::tile_tag;
};
template <class T>
concept Number = is_same < plain<T>,
float > || is_same<plain<T>, int> || is_same<plain<T>, double>;

/// (M, N) elements of one value.
template <class T, int M, int N, class P>
constexpr auto full(P& p, float value) {
  return p.template full<T, M, N>(value);
}
/// (M, N) zeros: the accumulator of a dot.
template <class T, int M, int N, class P>
constexpr auto zeros(P& p) {
  return p.template full<T, M, N>(0.0f);
}

namespace detail {
template <class A, class B>
constexpr void check_shapes() {
  using X = plain<A>;
  using Y = plain<B>;
  static_assert(X::rows == Y::rows || X::rows == 1 || Y::rows == 1,
                "tile: the operands' row counts differ, and neither is 1 (mixed layouts?)");
  static_assert(X::cols == Y::cols || X::cols == 1 || Y::cols == 1,
                "tile: the operands' column counts differ, and neither is 1 (mixed layouts?)");
}

/// Applies Op to two operands, at least one of them a value; a load is read by the value's program, a number is
/// repeated.
template <class Op, class A, class B>
constexpr auto binary(A&& a, B&& b) {
  if constexpr (TileValue<A> && TileValue<B>) {
    check_shapes<A, B>();
    return static_cast<A&&>(a).template zip<Op>(b);
  } else if constexpr (TileValue<A> && LoadValue<B>) {
    check_shapes<A, B>();
    return static_cast<A&&>(a).template zip<Op>(a.materialize(b));
  } else if constexpr (LoadValue<A> && TileValue<B>) {
    check_shapes<A, B>();
    return b.materialize(a).template zip<Op>(b);
  } else if constexpr (TileValue<A>) {
    return static_cast<A&&>(a).template zip_number<Op, false>(static_cast<float>(b));
  } else if constexpr (TileValue<B>) {
    return static_cast<B&&>(b).template zip_number<Op, true>(static_cast<float>(a));
  } else {
    static_assert(never<A, B>, "tile: arithmetic on two loads; read one with p.load(...) first");
  }
}
template <class A, class B>
concept Arithmetic = ((TileValue<A> || LoadValue<A>)&&(TileValue<B> || LoadValue<B> || Number<B>)) ||
                     (Number<A> && (TileValue<B> || LoadValue<B>));
}  // namespace detail

template <class A, class B>
requires detail::Arithmetic<A, B>
constexpr auto operator+(A&& a, B&& b) { return detail::binary<op::Add>(static_cast<A&&>(a), static_cast<B&&>(b)); }
template <class A, class B>
requires detail::Arithmetic<A, B>
constexpr auto operator-(A&& a, B&& b) { return detail::binary<op::Sub>(static_cast<A&&>(a), static_cast<B&&>(b)); }
template <class A, class B>
requires detail::Arithmetic<A, B>
constexpr auto operator*(A&& a, B&& b) { return detail::binary<op::Mul>(static_cast<A&&>(a), static_cast<B&&>(b)); }
template <class A, class B>
requires detail::Arithmetic<A, B>
constexpr auto operator/(A&& a, B&& b) { return detail::binary<op::Div>(static_cast<A&&>(a), static_cast<B&&>(b)); }
template <class A, class B>
requires detail::Arithmetic<A, B>
constexpr auto max(A&& a, B&& b) { return detail::binary<op::Max>(static_cast<A&&>(a), static_cast<B&&>(b)); }
template <class A, class B>
requires detail::Arithmetic<A, B>
constexpr auto min(A&& a, B&& b) { return detail::binary<op::Min>(static_cast<A&&>(a), static_cast<B&&>(b)); }

template <TileValue T>
constexpr auto operator-(T&& value) {
  return static_cast<T&&>(value).template map<op::Neg>();
}
template <TileValue T>
constexpr auto exp(T&& value) {
  return static_cast<T&&>(value).template map<op::Exp>();
}
template <TileValue T>
constexpr auto tanh(T&& value) {
  return static_cast<T&&>(value).template map<op::Tanh>();
}
template <TileValue T>
constexpr auto sqrt(T&& value) {
  return static_cast<T&&>(value).template map<op::Sqrt>();
}
template <TileValue T>
constexpr auto relu(T&& value) {
  return static_cast<T&&>(value).template map<op::Relu>();
}
template <TileValue T>
constexpr auto silu(T&& value) {
  return static_cast<T&&>(value).template map<op::Silu>();
}
template <TileValue T>
constexpr auto gelu(T&& value) {
  return static_cast<T&&>(value).template map<op::Gelu>();
}

/// Any function of a float, element by element. The exact checker refuses it: it has no meaning on field elements.
template <TileValue T, class F>
constexpr auto map(T&& value, F function) {
  return static_cast<T&&>(value).map_function(function);
}

/// Every element rounded once to E.
template <Element E, TileValue T>
constexpr auto cast(T&& value) {
  return static_cast<T&&>(value).template cast<E>();
}

/// x where the mask holds, y elsewhere. Both are evaluated, so this protects no load: give the mask to the load itself.
template <class R, class C, TileValue X, class Y>
constexpr auto where(const Mask<R, C>& mask, X&& x, const Y& y) {
  if constexpr (LoadValue<Y>) {
    return static_cast<X&&>(x).select(mask, x.materialize(y));
  } else {
    return static_cast<X&&>(x).select(mask, y);
  }
}

/// (N, M) from (M, N).
template <TileValue T>
constexpr auto trans(const T& value) {
  return value.transposed();
}

/// Sums and maxima along a row, (M, 1), or along a column, (1, N); in an order that the target and the shapes fix.
template <TileValue T>
constexpr auto row_sum(const T& value) {
  return value.template reduce<op::Add, 1>();
}
template <TileValue T>
constexpr auto row_max(const T& value) {
  return value.template reduce<op::Max, 1>();
}
template <TileValue T>
constexpr auto col_sum(const T& value) {
  return value.template reduce<op::Add, 0>();
}
template <TileValue T>
constexpr auto col_max(const T& value) {
  return value.template reduce<op::Max, 0>();
}

/// a (M, K) times b (K, N), not yet computed: add it to an accumulator. Lazy, so that no copy of (M, N) is made per K
/// step, and so that an operand that is still a load goes from memory straight to where the multiplying code wants it.
template <class A, class B>
struct Product {
  static constexpr int m = plain<A>::rows;
  static constexpr int n = plain<B>::cols;
  static constexpr int k = plain<A>::cols;
  A a;
  B b;
};

namespace detail {
template <class T>
struct OperandOf {
  using type = const T&;  // a value: borrowed for the expression
};
template <LoadValue T>
struct OperandOf<T> {
  using type = T;  // a descriptor: a few words
};
template <class T>
inline constexpr bool has_col_index = false;
template <class E, class R, int Axis, class I, class M>
inline constexpr bool has_col_index<Load<Pointers<E, R, Term<Axis, I>>, M>> = true;
template <class T>
inline constexpr bool has_row_index = false;
template <class E, class C, int Axis, class I, class M>
inline constexpr bool has_row_index<Load<Pointers<E, Term<Axis, I>, C>, M>> = true;
}  // namespace detail

/// Legal tiles: M, N and K each a positive multiple of 16, operands of one element type (f16, bf16 or f32), FP32
/// accumulation.
template <class X, class Y>
requires(TileValue<X> || LoadValue<X>) && (TileValue<Y> || LoadValue<Y>)constexpr auto dot(const X& a, const Y& b) {
  using A = plain<X>;
  using B = plain<Y>;
  static_assert(A::cols == B::rows, "tile::dot: the columns of a and the rows of b differ in number");
  static_assert(A::rows % 16 == 0 && B::cols % 16 == 0 && A::cols % 16 == 0,
                "tile::dot: illegal tile; M, N and K must each be a multiple of 16");
  static_assert(is_same<typename A::element, typename B::element>, "tile::dot: a and b have different element types");
  if constexpr (detail::has_col_index<A> && detail::has_row_index<B>) {
    static_assert(is_same<plain<decltype(a.pointers.col_term.index)>, plain<decltype(b.pointers.row_term.index)>>,
                  "tile::dot: a's columns and b's rows are different indices (rows and columns swapped in a load?)");
  }
  return Product<typename detail::OperandOf<A>::type, typename detail::OperandOf<B>::type>{a, b};
}

/// acc += dot(a, b): one K step.
template <TileValue Acc, class A, class B>
constexpr Acc& operator+=(Acc& acc, const Product<A, B>& product) {
  static_assert(Acc::rows == Product<A, B>::m, "tile::dot: the rows of a and of the accumulator differ in number");
  static_assert(Acc::cols == Product<A, B>::n, "tile::dot: the columns of b and of the accumulator differ in number");
  static_assert(is_same<typename Acc::element, float>, "tile::dot: the accumulator must be float");
  acc.accumulate(product);
  return acc;
}
/// The same in the form `acc = dot(a, b, acc)`.
template <class X, class Y, TileValue Acc>
constexpr Acc& dot(const X& a, const Y& b, Acc& acc) {
  return acc += dot(a, b);
}

/// Writes a value, rounded once to the memory's element type, to the pointers where the mask holds.
template <class E, class R, class C, TileValue T, class BR, class BC>
constexpr void store(const Pointers<E, R, C>& pointers, const T& value, const Mask<BR, BC>& mask) {
  static_assert(!is_same<E, const plain<E>>, "tile::store: the pointer is to const elements");
  static_assert(Pointers<E, R, C>::rows == T::rows && Pointers<E, R, C>::cols == T::cols,
                "tile::store: the pointers and the value differ in rows or columns (swapped?)");
  detail::check_mask<Pointers<E, R, C>, Mask<BR, BC>>();
  value.store(pointers, mask);
}
template <class E, class R, class C, TileValue T>
constexpr void store(const Pointers<E, R, C>&, const T&) {
  static_assert(
      never<T>,
      "tile::store: no mask; give `rows(...) < extent && cols(...) < extent`, or promise with unchecked(...)");
}
/// To rows r and columns c of a matrix, under the matrix's own bounds.
template <class E, Index R, Index C, TileValue T>
constexpr void store(const Matrix<E>& matrix, R r, C c, const T& value) {
  store(detail::pointers_of(matrix, r, c), value, detail::mask_of(matrix, r, c));
}

/// Adds a value to memory, element by element, without losing what other programs add at the same time. The order of
/// the additions is not fixed, so results may differ in their last bits from run to run.
template <class E, class R, class C, TileValue T, class BR, class BC>
constexpr void atomic_add(const Pointers<E, R, C>& pointers, const T& value, const Mask<BR, BC>& mask) {
  static_assert(is_same<E, float>, "tile::atomic_add: memory must hold float");
  static_assert(Pointers<E, R, C>::rows == T::rows && Pointers<E, R, C>::cols == T::cols,
                "tile::atomic_add: the pointers and the value differ in rows or columns (swapped?)");
  detail::check_mask<Pointers<E, R, C>, Mask<BR, BC>>();
  value.atomic_add(pointers, mask);
}
template <class E, Index R, Index C, TileValue T>
constexpr void atomic_add(const Matrix<E>& matrix, R r, C c, const T& value) {
  atomic_add(detail::pointers_of(matrix, r, c), value, detail::mask_of(matrix, r, c));
}

}  // namespace tilewright::tile
