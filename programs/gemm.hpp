// The operator's program: one output tile, all of K. The order of tiles (linear or grouped) is the plan's, handed out
// by p.
#pragma once

#include <programs/epilogue.hpp>

namespace tilewright::programs {

/// A tile of BM x BN outputs, advanced along K by BK.
struct Tiles {
  int m, n, k;
};

template <class Args>
struct OfRows;
template <class Args>
struct OfCols;
template <class Args>
struct Columns;

template <class In, class Out>
struct GemmArgs {
  i64 m, n, k;
  tile::Matrix<const In> a;  // (m, k)
  tile::Matrix<const In> b;  // (k, n)
  tile::Matrix<Out> c;       // (m, n)

  /// The product of every `step`-th row of A, from `first` on, of every so many columns of B, and of so many adjacent
  /// columns of B.
  TILEWRIGHT_KERNEL auto of_rows(i64 first, i64 step) const { return OfRows<GemmArgs>(*this, first, step); }
  TILEWRIGHT_KERNEL auto of_cols(i64 first, i64 step) const { return OfCols<GemmArgs>(*this, first, step); }
  TILEWRIGHT_KERNEL auto columns(i64 first, i64 count) const { return Columns<GemmArgs>(*this, first, count); }
};

template <class Args>
struct OfRows : Args {
  i64 first, step;
  TILEWRIGHT_KERNEL OfRows(const Args& x, i64 from, i64 by) : Args(x), first(from), step(by) {
    this->m = cdiv(x.m - first, step);
    this->a = tile::every(x.a, first, step);
    this->c = tile::every(x.c, first, step);
  }
  template <tile::Index I>
  TILEWRIGHT_KERNEL auto row(I index) const {
    return tile::every(index, first, step);
  }
};
template <class Args>
struct OfCols : Args {
  i64 first, step;
  TILEWRIGHT_KERNEL OfCols(const Args& x, i64 from, i64 by) : Args(x), first(from), step(by) {
    this->n = cdiv(x.n - first, step);
    this->b = tile::transposed(tile::every(tile::transposed(x.b), first, step));
    this->c = tile::transposed(tile::every(tile::transposed(x.c), first, step));
  }
  template <tile::Index I>
  TILEWRIGHT_KERNEL auto col(I index) const {
    return tile::every(index, first, step);
  }
};

template <class Args>
struct Columns : Args {
  i64 first;
  TILEWRIGHT_KERNEL Columns(const Args& x, i64 from, i64 count) : Args(x), first(from) {
    this->n = this->b.cols = this->c.cols = x.n - first < count ? x.n - first : count;
    this->b.ptr += first * x.b.col_stride;
    this->c.ptr += first * x.c.col_stride;
  }
  template <tile::Index I>
  TILEWRIGHT_KERNEL auto col(I index) const {
    return index + first;
  }
};

namespace detail {
/// The rows or columns of C, as C counts them, that an index into a product of arguments x stands for.
template <class X, tile::Index I>
TILEWRIGHT_KERNEL auto row_of_c(const X& x, I index) {
  if constexpr (requires { x.row(index); }) {
    return x.row(index);
  } else {
    return index;
  }
}
template <class X, tile::Index I>
TILEWRIGHT_KERNEL auto col_of_c(const X& x, I index) {
  if constexpr (requires { x.col(index); }) {
    return x.col(index);
  } else {
    return index;
  }
}
}  // namespace detail

template <Tiles T, class Epilogue = Identity>
struct Gemm {
  Epilogue epilogue;

  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out =
        tile::output_ranges<T.m, T.n>(p, x.m, x.n);  // this program's rows and columns, in the plan's order
    auto acc = tile::zeros<float, T.m, T.n>(p);      // (BM, BN)
    tile::pipeline(
        p, tile::steps<T.k>(x.k),
        [&](auto rk) {
          return tile::both(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols));
        },  // (BM, BK) (BK, BN)
        [&](auto a, auto b) { acc += tile::dot(a, b); });
    const auto& sums = tile::whole_sum(p, acc);
    tile::store(x.c, out.rows, out.cols,  // rounds once to C's element type
                epilogue(sums, tile::rows(detail::row_of_c(x, out.rows)), tile::cols(detail::col_of_c(x, out.cols))));
  }
};

}  // namespace tilewright::programs
