// The describing executor of the tile language: runs a kernel for one program without any data and records each load
// and store as root, box, strides and bounds. It is what tensor maps, shared-memory sizes and explanations can be made
// from.
//
// Tiles are ghosts: they have a shape and no values. Nothing is read (index tables of lookups excepted), nothing is
// written, and this header, like the language, includes no standard header.
#pragma once

#include <tilewright/tile/grid.hpp>
#include <tilewright/tile/tile.hpp>

namespace tilewright::describe {

enum class AccessKind : unsigned char { load, store, atomic_add };

/// One axis of an access. Affine: element i is at (origin + i) * stride. Otherwise the offsets follow no rule known
/// here.
struct AxisBox {
  int extent = 1;
  bool affine = true;
  i64 origin = 0;           // the index at position 0
  i64 stride = 0;           // elements from one index to the next
  int first = 0, last = 1;  // the positions that the mask admits lie in [first, last)
  int admitted = 1;         // how many it admits
};

struct Access {
  AccessKind kind = AccessKind::load;
  const void* root = nullptr;
  int element_bytes = 0;
  i64 offset = 0;  // elements, besides the axes' own
  AxisBox rows, cols;
  i64 step = 0;  // K steps of this program before it
};

/// Where accesses go: a caller's array. `count` goes on counting past the capacity.
struct Record {
  Access* accesses;
  i64 capacity;
  i64 count = 0;

  constexpr void add(const Access& access) {
    if (count < capacity) accesses[count] = access;
    ++count;
  }
};

/// What the tiles of one program share.
struct Context {
  Record& record;
  i64 steps = 0;
};

namespace detail {
template <class T, class B>
constexpr AxisBox axis_of(const T&, const B&) {
  return {};
}
template <int A, class I, class B>
constexpr AxisBox axis_of(const tile::Term<A, I>& term, const B& bound) {
  AxisBox box{I::size, I::affine, term.index.at(0), term.stride, I::size, 0, 0};
  for (int i = 0; i < I::size; ++i) {
    if (!tile::detail::admits(bound, i)) continue;
    if (box.admitted == 0) box.first = i;
    box.last = i + 1;
    box.admitted += 1;
  }
  if (box.admitted == 0) box.first = 0;
  return box;
}
template <class P, class M>
constexpr Access access_of(AccessKind kind, const P& pointers, const M& mask, i64 step) {
  return {kind,
          pointers.root,
          static_cast<int>(sizeof(typename P::element)),
          pointers.offset,
          axis_of(pointers.row_term, mask.rows),
          axis_of(pointers.col_term, mask.cols),
          step};
}
}  // namespace detail

/// A shape without values.
template <class T, int M, int N>
class Tile : public tile::Value {
 public:
  using element = T;
  static constexpr int rows = M;
  static constexpr int cols = N;

  constexpr explicit Tile(Context& context) : context_(&context) {}

  template <class P, class Mask>
  constexpr auto materialize(const tile::Load<P, Mask>& load) const {
    return read(*context_, load);
  }
  template <class P, class Mask>
  static constexpr auto read(Context& context, const tile::Load<P, Mask>& load) {
    context.record.add(detail::access_of(AccessKind::load, load.pointers, load.mask, context.steps));
    return Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols>(context);
  }
  template <class A, class B>
  constexpr void accumulate(const tile::Product<A, B>& product) {
    operand(product.a);
    operand(product.b);
    context_->steps += 1;
  }
  template <class P, class Mask>
  constexpr void store(const P& pointers, const Mask& mask) const {
    context_->record.add(detail::access_of(AccessKind::store, pointers, mask, context_->steps));
  }
  template <class P, class Mask>
  constexpr void atomic_add(const P& pointers, const Mask& mask) const {
    context_->record.add(detail::access_of(AccessKind::atomic_add, pointers, mask, context_->steps));
  }
  template <class Op>
  constexpr auto map() const {
    return Tile<float, M, N>(*context_);
  }
  template <class F>
  constexpr auto map_function(const F&) const {
    return Tile<float, M, N>(*context_);
  }
  template <class Op, bool NumberFirst>
  constexpr auto zip_number(float) const {
    return Tile<float, M, N>(*context_);
  }
  template <class Op, class U>
  constexpr auto zip(const U&) const {
    return Tile<float, (M > U::rows ? M : U::rows), (N > U::cols ? N : U::cols)>(*context_);
  }
  template <class E>
  constexpr auto cast() const {
    return Tile<E, M, N>(*context_);
  }
  template <class Mask, class Y>
  constexpr auto select(const Mask&, const Y&) const {
    return Tile<float, M, N>(*context_);
  }
  constexpr auto transposed() const { return Tile<T, N, M>(*context_); }
  template <class Op, int Along>
  constexpr auto reduce() const {
    return Tile<float, (Along == 1 ? M : 1), (Along == 1 ? 1 : N)>(*context_);
  }

 private:
  template <class P, class Mask>
  constexpr void operand(const tile::Load<P, Mask>& load) const {
    read(*context_, load);
  }
  template <class E, int R, int C>
  constexpr void operand(const Tile<E, R, C>&) const {}

  Context* context_;
};

/// The program object of the describe target.
class Program : public tile::ProgramIds {
 public:
  constexpr Program(const tile::ProgramIds& ids, Record& record) : ProgramIds(ids), context_{record} {}

  template <class T, int M, int N>
  constexpr auto full(float) {
    return Tile<T, M, N>(context_);
  }
  template <class P, class Mask>
  constexpr auto load(const tile::Load<P, Mask>& load) {
    return Tile<float, 1, 1>::read(context_, load);
  }
  template <int BK, class Produce, class Consume>
  constexpr void pipeline(tile::Steps<BK> steps, Produce& produce, Consume& consume) {
    tile::detail::run_in_turn(steps, produce, consume);
  }

 private:
  Context context_;
};

/// Records what one program of a grid would load and store.
template <class Kernel, class Args>
constexpr void record(const Kernel& kernel, tile::Grid grid, Order order, i64 program, const Args& args, Record& into) {
  Program p(tile::ProgramIds(grid, order, program), into);
  kernel(p, args);
}

}  // namespace tilewright::describe
