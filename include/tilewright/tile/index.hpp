// Index tiles: which rows, columns or K indices a tile stands for.
//
// An index is lazy and typed. It is not an array of numbers but a rule `position -> index` with a compile-time length,
// so that a load is known at compile time to be a strided block (an affine index) or not (a modulo, a lookup in
// memory). A tag in the type tells the rows, columns and K indices of one kernel apart even when their tiles have the
// same length: a mask on the wrong axis does not compile. All arithmetic is 64-bit from the first multiplication.
#pragma once

#include <tilewright/tile/traits.hpp>

namespace tilewright::tile {

/// What a lookup outside of its table gives: an index that no bound admits.
inline constexpr i64 no_index = (-9223372036854775807LL - 1);

/// Anything with a length and a rule from position to index.
template <class I>
concept Index = requires(const I& index, int position) {
  I::size;
  I::affine;
  index.at(position);
};

/// Affine: origin, origin + 1, … The tag tells one kernel's ranges apart.
template <int N, class Tag>
struct Range {
  static constexpr int size = N;
  static constexpr bool affine = true;    // index = at(0) + position
  static constexpr bool bounded = false;  // needs a mask
  i64 origin = 0;

  constexpr i64 at(int position) const { return origin + position; }

  template <Whole T>
  constexpr Range& operator+=(T by) {
    origin += static_cast<i64>(by);
    return *this;
  }
  template <Whole T>
  friend constexpr Range operator+(Range range, T by) {
    return {range.origin + static_cast<i64>(by)};
  }
  template <Whole T>
  friend constexpr Range operator+(T by, Range range) {
    return {range.origin + static_cast<i64>(by)};
  }
  template <Whole T>
  friend constexpr Range operator-(Range range, T by) {
    return {range.origin - static_cast<i64>(by)};
  }
};

/// Not affine: the remainder of another index, always inside [0, modulus), so it needs no mask. A row or column that is
/// loaded twice this way is harmless only if its results are never stored; along K it would be summed twice.
template <Index I>
struct Modulo {
  static constexpr int size = I::size;
  static constexpr bool affine = false;
  static constexpr bool bounded = true;
  I index;
  i64 modulus;

  constexpr i64 at(int position) const {
    const i64 rest = index.at(position) % modulus;
    return rest < 0 ? rest + modulus : rest;
  }
};
template <int N, class Tag, Whole T>
constexpr Modulo<Range<N, Tag>> operator%(Range<N, Tag> range, T modulus) {
  return {range, static_cast<i64>(modulus)};
}

/// Not affine: every `step`-th index, from `first` on.
template <Index I>
struct Every {
  static constexpr int size = I::size;
  static constexpr bool affine = false;
  static constexpr bool bounded = false;
  I index;
  i64 first, step;

  constexpr i64 at(int position) const { return first + step * index.at(position); }
};
template <Index I>
constexpr Every<I> every(I index, i64 first, i64 step) {
  return {index, first, step};
}

/// Not affine: indices loaded from a table in memory. Positions outside of the table are not read and give no_index.
template <Index I, class T>
struct Lookup {
  static constexpr int size = I::size;
  static constexpr bool affine = false;
  static constexpr bool bounded = false;
  I index;
  const T* table;
  i64 length;

  constexpr i64 at(int position) const {
    const i64 entry = index.at(position);
    return entry >= 0 && entry < length ? static_cast<i64>(table[entry]) : no_index;
  }
};
template <class T, Index I>
constexpr Lookup<I, T> lookup(const T* table, i64 length, I index) {
  return {index, table, length};
}

/// A range's tag by one letter.
template <char Name>
struct Named {};

/// 0 … N-1, named: `arange<BM, 'm'>()`. Ranges of one name are the same index, ranges of two names never are, however
/// long.
template <int N, char Name>
constexpr Range<N, Named<Name>> arange() {
  static_assert(N > 0, "tile::arange: the length must be positive");
  return {};
}

/// An index laid along the rows (axis 0) or the columns (axis 1) of a tile.
template <int Axis, Index I>
struct Along {
  I index;
};
template <Index I>
constexpr Along<0, I> rows(I index) {
  return {index};
}
template <Index I>
constexpr Along<1, I> cols(I index) {
  return {index};
}

/// An index along an axis, times a stride in elements. Origin, range and stride stay apart: they are never multiplied
/// out here.
template <int Axis, Index I>
struct Term {
  I index;
  i64 stride;
};
template <int Axis, Index I, Whole T>
constexpr Term<Axis, I> operator*(Along<Axis, I> along, T stride) {
  return {along.index, static_cast<i64>(stride)};
}
template <int Axis, Index I, Whole T>
constexpr Term<Axis, I> operator*(T stride, Along<Axis, I> along) {
  return {along.index, static_cast<i64>(stride)};
}

}  // namespace tilewright::tile
