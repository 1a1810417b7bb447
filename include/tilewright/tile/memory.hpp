// Pointers, views and loads: where a tile's elements are.
//
// A pointer tile is a root pointer, a scalar offset and up to two terms (rows and columns), kept apart. A load is a
// descriptor: nothing is read until a program object, an accumulator or a pipeline asks for it, and then by the mover
// that its type permits.
#pragma once

#include <tilewright/tile/mask.hpp>
#include <tilewright/tile/order.hpp>

namespace tilewright::tile {

/// No term on this axis: the tile has extent 1 there.
struct NoTerm {
  static constexpr int size = 1;
  static constexpr bool present = false;
};

template <class T>
inline constexpr int term_size = 1;
template <int Axis, class I>
inline constexpr int term_size<Term<Axis, I>> = I::size;

/// root + offset + rows * stride + cols * stride, in elements.
template <Element E, class R, class C>
struct Pointers {
  static constexpr int rows = term_size<R>;
  static constexpr int cols = term_size<C>;
  using element = E;
  E* root;
  i64 offset;
  R row_term;
  C col_term;

  /// Advances every pointer by so many elements.
  template <Whole T>
  constexpr Pointers& operator+=(T by) {
    offset += static_cast<i64>(by);
    return *this;
  }
  template <Whole T>
  friend constexpr Pointers operator+(Pointers pointers, T by) {
    return pointers += by;
  }
};

template <Element E, Index I>
constexpr Pointers<E, Term<0, I>, NoTerm> operator+(E* root, Term<0, I> term) {
  return {root, 0, term, {}};
}
template <Element E, Index I>
constexpr Pointers<E, NoTerm, Term<1, I>> operator+(E* root, Term<1, I> term) {
  return {root, 0, {}, term};
}
template <class E, class R, class C, int Axis, class I>
constexpr auto operator+(Pointers<E, R, C> pointers, Term<Axis, I> term) {
  if constexpr (Axis == 0) {
    static_assert(is_same<R, NoTerm>,
                  "tile: two terms along the rows; use rows(...) once and cols(...) once in a pointer");
    return Pointers<E, Term<0, I>, C>{pointers.root, pointers.offset, term, pointers.col_term};
  } else {
    static_assert(is_same<C, NoTerm>,
                  "tile: two terms along the columns; use rows(...) once and cols(...) once in a pointer");
    return Pointers<E, R, Term<1, I>>{pointers.root, pointers.offset, pointers.row_term, term};
  }
}
/// An index without a factor has stride 1.
template <Element E, int Axis, Index I>
constexpr auto operator+(E* root, Along<Axis, I> along) {
  return root + along * 1;
}
template <class E, class R, class C, int Axis, class I>
constexpr auto operator+(Pointers<E, R, C> pointers, Along<Axis, I> along) {
  return pointers + along * 1;
}

/// A matrix that a kernel reads or writes: extents and strides in elements. Plain data, the same on every target.
template <Element E>
struct Matrix {
  E* ptr;
  i64 rows, cols;
  i64 row_stride, col_stride;
};

/// The same elements with rows and columns exchanged.
template <Element E>
constexpr Matrix<E> transposed(const Matrix<E>& m) {
  return {m.ptr, m.cols, m.rows, m.col_stride, m.row_stride};
}
/// Every step-th row, from `first` on.
template <Element E>
constexpr Matrix<E> every(const Matrix<E>& m, i64 first, i64 step) {
  return {m.ptr + first * m.row_stride, cdiv(m.rows - first, step), m.cols, m.row_stride * step, m.col_stride};
}

/// A vector that a kernel reads or writes.
template <Element E>
struct Vector {
  E* ptr;
  i64 size;
  i64 stride;
};

/// A read that has not happened: where from, which positions, and the value of the others.
template <class P, class M>
struct Load {
  static constexpr int rows = P::rows;
  static constexpr int cols = P::cols;
  using element = plain<typename P::element>;
  using load_tag = void;
  P pointers;
  M mask;
  float other;
};
template <class T>
concept LoadValue = requires {
  typename plain<T>::load_tag;
};

namespace detail {
template <class T, class B>
constexpr void check_axis_rows() {
  if constexpr (!is_same<T, NoTerm>) {
    using I = plain<decltype(T::index)>;
    static_assert(
        B::present || I::bounded,
        "tile: the mask does not bound the rows; add `rows(...) < extent`, or promise it with unchecked(rows(...))");
    static_assert(
        !B::present || bound_fits<I, B>(),
        "tile: the mask bounds another index along the rows than the pointer uses (rows and columns swapped?)");
  } else {
    static_assert(!B::present, "tile: the mask bounds rows, but the pointer has no row term");
  }
}
template <class T, class B>
constexpr void check_axis_cols() {
  if constexpr (!is_same<T, NoTerm>) {
    using I = plain<decltype(T::index)>;
    static_assert(
        B::present || I::bounded,
        "tile: the mask does not bound the columns; add `cols(...) < extent`, or promise it with unchecked(cols(...))");
    static_assert(
        !B::present || bound_fits<I, B>(),
        "tile: the mask bounds another index along the columns than the pointer uses (rows and columns swapped?)");
  } else {
    static_assert(!B::present, "tile: the mask bounds columns, but the pointer has no column term");
  }
}
template <class P, class M>
constexpr void check_mask() {
  check_axis_rows<plain<decltype(P::row_term)>, plain<decltype(M::rows)>>();
  check_axis_cols<plain<decltype(P::col_term)>, plain<decltype(M::cols)>>();
}

template <class E, Index R, Index C>
constexpr auto pointers_of(const Matrix<E>& m, R r, C c) {
  return m.ptr + tile::rows(r) * m.row_stride + tile::cols(c) * m.col_stride;
}
/// A view's own mask: every index inside its extents, on both sides.
template <class E, Index R, Index C>
constexpr auto mask_of(const Matrix<E>& m, R r, C c) {
  return Mask<Bound<R>, Bound<C>>{{r, 0, m.rows}, {c, 0, m.cols}};
}
template <class E, int Axis, Index I>
constexpr auto mask_of(const Vector<E>& v, Along<Axis, I> along) {
  return on_axis<Axis>(Bound<I>{along.index, 0, v.size});
}
}  // namespace detail

/// Elements at the pointers where the mask holds, `other` elsewhere: (rows, cols) as the pointers' terms say.
template <class E, class R, class C, class BR, class BC>
constexpr auto load(const Pointers<E, R, C>& pointers, const Mask<BR, BC>& mask, float other = 0.0f) {
  detail::check_mask<Pointers<E, R, C>, Mask<BR, BC>>();
  return Load<Pointers<E, R, C>, Mask<BR, BC>>{pointers, mask, other};
}
template <class E, class R, class C>
constexpr auto load(const Pointers<E, R, C>& pointers) {
  static_assert(never<E>,
                "tile::load: no mask; give `rows(...) < extent && cols(...) < extent`, or promise with unchecked(...)");
  return Load<Pointers<E, R, C>, Mask<NoBound, NoBound>>{pointers, {}, 0.0f};
}
/// Rows r and columns c of a matrix, under the matrix's own bounds.
template <class E, Index R, Index C>
constexpr auto load(const Matrix<E>& matrix, R r, C c, float other = 0.0f) {
  return load(detail::pointers_of(matrix, r, c), detail::mask_of(matrix, r, c), other);
}
/// Elements of a vector laid along the rows, (N, 1), or along the columns, (1, N).
template <class E, int Axis, Index I>
constexpr auto load(const Vector<E>& vector, Along<Axis, I> along, float other = 0.0f) {
  return load(vector.ptr + along * vector.stride, detail::mask_of(vector, along), other);
}

/// Indices from a table that a vector view bounds; outside of it, an index that no mask admits.
template <class T>
struct IndexVector {
  const T* ptr;
  i64 size;
};
template <class T, Index I>
constexpr Lookup<I, T> lookup(const IndexVector<T>& table, I index) {
  return {index, table.ptr, table.size};
}

namespace detail {
constexpr NoTerm flip(NoTerm) { return {}; }
template <class I>
constexpr Term<1, I> flip(Term<0, I> term) {
  return {term.index, term.stride};
}
template <class I>
constexpr Term<0, I> flip(Term<1, I> term) {
  return {term.index, term.stride};
}
}  // namespace detail

namespace detail {
/// Pointers with rows and columns exchanged.
template <class E, class R, class C>
constexpr auto exchanged(const Pointers<E, R, C>& pointers) {
  const auto row_term = flip(pointers.col_term);
  const auto col_term = flip(pointers.row_term);
  return Pointers<E, plain<decltype(row_term)>, plain<decltype(col_term)>>{pointers.root, pointers.offset, row_term,
                                                                           col_term};
}
}  // namespace detail

/// A load with rows and columns exchanged: the same elements, read the other way round.
template <class P, class M>
constexpr auto trans(const Load<P, M>& load) {
  const auto pointers = detail::exchanged(load.pointers);
  using N = Mask<plain<decltype(load.mask.cols)>, plain<decltype(load.mask.rows)>>;
  return Load<plain<decltype(pointers)>, N>{pointers, {load.mask.cols, load.mask.rows}, load.other};
}

}  // namespace tilewright::tile
