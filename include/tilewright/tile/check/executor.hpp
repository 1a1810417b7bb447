// The exact executor of the tile language: one program after the other, tiles of field elements, every address looked
// up in a ledger.
//
// Rounding does not exist here: a cast is nothing. Each accumulator keeps a snapshot after every K step; when the tile
// reaches memory, the position of its elements in the output is known and the snapshots are compared with the sums they
// should hold.
#pragma once

#include <tilewright/tile/check/checker.hpp>
#include <tilewright/tile/grid.hpp>
#include <tilewright/tile/tile.hpp>

namespace tilewright::exact {

/// A program's own record, shared by all of its tiles.
struct Context {
  Run& run;
  i64 program;
  i64 pipeline = 0;                      // which one it is in, counted from 1; 0 outside of one
  i64 pipelines = 0;                     // begun so far
  i64 k_begin = 0, k_limit = INT64_MAX;  // the K range of that pipeline
  int accumulators = 0;
  i64 steps = 0;  // of the accumulator used last
  std::vector<Snapshot> snapshots;

  Site site(int row, int col) const { return {program, steps, row, col}; }

  /// A constant's exact counterpart. There is none for NaN and for +infinity.
  Field constant(float value) {
    const Field exact = Field::of_float(value);
    if (!(value - value == 0.0f) && !exact.is_minus_infinity()) {
      run.ledger.fault(FaultKind::refused, "a constant is NaN or +infinity, which have no meaning on field elements");
    }
    return exact;
  }
};

/// What a tile knows of the sum along K that it holds, or came from.
struct Sum {
  int accumulator = -1;    // none
  i64 begin = 0, end = 0;  // K indices covered
  i64 pipeline = 0;        // in which it was added to last
  i64 steps = 0;
};

namespace detail {

/// How many leading positions of an axis a bound admits anything of.
template <class B>
int admitted(const B& bound, int extent) {
  while (extent > 0 && !tile::detail::admits(bound, extent - 1)) --extent;
  return extent;
}
template <class T>
int admitted_rows(const T&) {
  return T::rows;
}
template <class P, class M>
int admitted_rows(const tile::Load<P, M>& load) {
  return admitted(load.mask.rows, P::rows);
}
template <class T>
int admitted_cols(const T&) {
  return T::cols;
}
template <class P, class M>
int admitted_cols(const tile::Load<P, M>& load) {
  return admitted(load.mask.cols, P::cols);
}

template <class T>
struct AxisView {  // a missing term: position 0, no stride
  static i64 index(const T&, int) { return 0; }
  static i64 stride(const T&) { return 0; }
  static constexpr bool present = false;
};
template <int A, class I>
struct AxisView<tile::Term<A, I>> {
  static i64 index(const tile::Term<A, I>& term, int position) { return term.index.at(position); }
  static i64 stride(const tile::Term<A, I>& term) { return term.stride; }
  static constexpr bool present = true;
};

/// Calls use(row, col, address) for every position of the pointers where the mask holds; accesses outside a view whose
/// own pointer and strides are used are told to the ledger by their logical index.
template <class E, class R, class C, class Mask, class F>
void for_each_address(const tile::Pointers<E, R, C>& pointers, const Mask& mask, Context& context, bool is_store,
                      F use) {
  using Rows = AxisView<R>;
  using Cols = AxisView<C>;
  constexpr DType type = dtype_of<tile::plain<E>>;
  for (int i = 0; i < tile::Pointers<E, R, C>::rows; ++i) {
    if (!tile::detail::admits(mask.rows, i)) continue;
    const i64 row = Rows::index(pointers.row_term, i);
    for (int j = 0; j < tile::Pointers<E, R, C>::cols; ++j) {
      if (!tile::detail::admits(mask.cols, j)) continue;
      const i64 col = Cols::index(pointers.col_term, j);
      const auto bytes = static_cast<u64>(pointers.offset) +
                         static_cast<u64>(row) * static_cast<u64>(Rows::stride(pointers.row_term)) +
                         static_cast<u64>(col) * static_cast<u64>(Cols::stride(pointers.col_term));
      if constexpr (Rows::present && Cols::present) {
        if (pointers.offset == 0) {
          context.run.ledger.check_logical(pointers.root, row, col, Rows::stride(pointers.row_term),
                                           Cols::stride(pointers.col_term), type, context.site(i, j), is_store);
        }
      }
      use(i, j, reinterpret_cast<const void*>(reinterpret_cast<u64>(pointers.root) + bytes * sizeof(E)));
    }
  }
}

}  // namespace detail

template <class T, int M, int N>
class Tile : public tile::Value {
 public:
  using element = T;
  static constexpr int rows = M;
  static constexpr int cols = N;

  explicit Tile(Context& context) : context_(&context), values_(std::size_t{M} * N) {}

  Field& at(int i, int j) { return values_[offset(i, j)]; }
  const Field& at(int i, int j) const { return values_[offset(i, j)]; }

  template <class P, class Mask>
  auto materialize(const tile::Load<P, Mask>& load) const {
    return read(*context_, load);
  }
  template <class P, class Mask>
  static auto read(Context& context, const tile::Load<P, Mask>& load) {
    using E = typename tile::Load<P, Mask>::element;
    Tile<E, P::rows, P::cols> result(context);
    const Field other = context.constant(load.other);
    for (Field& value : result.values()) value = other;
    detail::for_each_address(load.pointers, load.mask, context, false, [&](int i, int j, const void* address) {
      result.at(i, j) = context.run.ledger.load(address, dtype_of<E>, context.site(i, j));
    });
    return result;
  }

  template <class A, class B>
  void accumulate(const tile::Product<A, B>& product) {
    constexpr int k = tile::Product<A, B>::k;
    if (sum_.accumulator < 0) {
      sum_ = {context_->accumulators++, context_->k_begin, context_->k_begin, context_->pipeline, 0};
    }
    if (sum_.pipeline != context_->pipeline) {
      sum_.pipeline = context_->pipeline;
      if (context_->pipeline > 0) sum_.end = context_->k_begin;
    }
    context_->steps = sum_.steps;
    const auto& a = value_of(product.a);
    const auto& b = value_of(product.b);
    std::vector<u128> sums(N);
    std::vector<Field> after(values_.size());  // this tile may itself be an operand
    for (int i = 0; i < M; ++i) {
      for (int begin = 0; begin < k; begin += 16) {  // 16 products and the sum so far stay below 2^128
        for (int j = 0; j < N; ++j) {
          sums[static_cast<std::size_t>(j)] = (begin == 0 ? at(i, j) : after[offset(i, j)]).value();
        }
        for (int q = begin; q < begin + 16; ++q) {
          const u128 factor = a.at(i, q).value();
          if (factor == 0) continue;
          for (int j = 0; j < N; ++j) sums[static_cast<std::size_t>(j)] += factor * b.at(q, j).value();
        }
        for (int j = 0; j < N; ++j) after[offset(i, j)] = Field::reduce(sums[static_cast<std::size_t>(j)]);
      }
    }
    values_ = std::move(after);
    context_->steps = ++sum_.steps;
    sum_.end += k;
    if (sum_.end > context_->k_limit) sum_.end = context_->k_limit;
    if (context_->run.expected == nullptr) return;
    Snapshot snapshot{
        sum_.accumulator, sum_.begin, sum_.end, detail::admitted_rows(product.a), detail::admitted_cols(product.b), {}};
    for (int i = 0; i < snapshot.rows; ++i) {
      for (int j = 0; j < snapshot.cols; ++j) snapshot.values.push_back(at(i, j));
    }
    context_->snapshots.push_back(std::move(snapshot));
  }

  template <class P, class Mask>
  void store(const P& pointers, const Mask& mask) const {
    write(pointers, mask, false);
  }
  template <class P, class Mask>
  void atomic_add(const P& pointers, const Mask& mask) const {
    write(pointers, mask, true);
  }

  template <class Op>
  auto map() const {
    return each([probe = context_->run.probe](Field x) { return one<Op>(x, probe); });
  }
  template <class F>
  Tile<float, M, N> map_function(F) const {
    context_->run.ledger.fault(
        FaultKind::refused,
        "tile::map takes a function of floats, which has no meaning on field elements: use named operations "
        "in a kernel that is to be checked");
    return each([](Field x) { return x; });
  }
  template <class Op, bool NumberFirst>
  auto zip_number(float number) const {
    const Field constant = context_->constant(number);
    return each([constant](Field x) { return NumberFirst ? two<Op>(constant, x) : two<Op>(x, constant); });
  }
  template <class Op, class U>
  auto zip(const U& other) const {
    constexpr int m = M > U::rows ? M : U::rows;
    constexpr int n = N > U::cols ? N : U::cols;
    Tile<float, m, n> result(*context_);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        result.at(i, j) =
            two<Op>(at(M == 1 ? 0 : i, N == 1 ? 0 : j), other.at(U::rows == 1 ? 0 : i, U::cols == 1 ? 0 : j));
      }
    }
    if (m == M && n == N) result.inherit(sum_, transposed_);
    return result;
  }
  template <class E>
  Tile<E, M, N> cast() const {
    Tile<E, M, N> result(*context_);
    result.values() = values_;
    result.inherit(sum_, transposed_);
    return result;
  }
  template <class Mask, class Y>
  Tile<float, M, N> select(const Mask& mask, const Y& other) const {
    Tile<float, M, N> result(*context_);
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) {
        if (tile::detail::admits(mask.rows, i) && tile::detail::admits(mask.cols, j)) {
          result.at(i, j) = at(i, j);
        } else if constexpr (tile::TileValue<Y>) {
          result.at(i, j) = other.at(Y::rows == 1 ? 0 : i, Y::cols == 1 ? 0 : j);
        } else {
          result.at(i, j) = context_->constant(static_cast<float>(other));
        }
      }
    }
    return result;
  }
  Tile<T, N, M> transposed() const {
    Tile<T, N, M> result(*context_);
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) result.at(j, i) = at(i, j);
    }
    result.inherit(sum_, !transposed_);
    return result;
  }
  template <class Op, int Along>
  auto reduce() const {
    Tile<float, Along == 1 ? M : 1, Along == 1 ? 1 : N> result(*context_);
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) {
        Field& sum = Along == 1 ? result.at(i, 0) : result.at(0, j);
        sum = (Along == 1 ? j : i) == 0 ? at(i, j) : two<Op>(sum, at(i, j));
      }
    }
    return result;
  }

  std::vector<Field>& values() { return values_; }
  void inherit(const Sum& sum, bool transposed) {
    sum_ = sum;
    transposed_ = transposed;
  }

 private:
  static std::size_t offset(int i, int j) { return static_cast<std::size_t>(i) * N + static_cast<std::size_t>(j); }

  template <class Op>
  static Field one(Field x, bool probe) {
    if constexpr (tile::is_same<Op, tile::op::Neg>) {
      return Field() - x;
    } else {
      if (tile::is_same<Op, tile::op::Exp> && x.is_minus_infinity()) return {};
      return probe ? x : x.hashed(Op::name);
    }
  }
  template <class Op>
  static Field two(Field x, Field y) {
    if constexpr (tile::is_same<Op, tile::op::Add>) {
      return x + y;
    } else if constexpr (tile::is_same<Op, tile::op::Sub>) {
      return x - y;
    } else if constexpr (tile::is_same<Op, tile::op::Mul>) {
      return x * y;
    } else if constexpr (tile::is_same<Op, tile::op::Div>) {
      return x / y;
    } else if constexpr (tile::is_same<Op, tile::op::Max>) {
      return max(x, y);
    } else {
      static_assert(tile::is_same<Op, tile::op::Min>);
      return max(x, y) == x ? y : x;
    }
  }
  template <class F>
  Tile<float, M, N> each(F function) const {
    Tile<float, M, N> result(*context_);
    for (std::size_t i = 0; i < values_.size(); ++i) result.values()[i] = function(values_[i]);
    result.inherit(sum_, transposed_);
    return result;
  }

  template <class P, class Mask>
  auto value_of(const tile::Load<P, Mask>& load) const {
    return read(*context_, load);
  }
  template <class E, int R, int C>
  static const Tile<E, R, C>& value_of(const Tile<E, R, C>& value) {
    return value;
  }

  template <class P, class Mask>
  void write(const P& pointers, const Mask& mask, bool atomic) const {
    constexpr DType type = dtype_of<tile::plain<typename P::element>>;
    detail::for_each_address(pointers, mask, *context_, true, [&](int i, int j, const void* address) {
      const Site site = context_->site(i, j);
      context_->run.ledger.store(address, type, at(i, j), site, atomic);
      if (sum_.accumulator >= 0) {
        check_partials(context_->run, context_->snapshots, sum_.accumulator, transposed_ ? j : i, transposed_ ? i : j,
                       address, type, site);
      }
    });
  }

  Context* context_;
  std::vector<Field> values_;
  Sum sum_;                  // the sum along K these values came from, if one
  bool transposed_ = false;  // relative to that sum
};

/// The program object of the check target.
class Program : public tile::ProgramIds {
 public:
  Program(const tile::ProgramIds& ids, Run& run)
      : ProgramIds(ids), context_{.run = run, .program = ids.number(), .snapshots = {}} {}

  template <class T, int M, int N>
  Tile<T, M, N> full(float value) {
    Tile<T, M, N> result(context_);
    const Field constant = context_.constant(value);
    for (Field& element : result.values()) element = constant;
    return result;
  }
  template <class P, class Mask>
  auto load(const tile::Load<P, Mask>& load) {
    return Tile<float, 1, 1>::read(context_, load);
  }
  template <int BK, class Produce, class Consume>
  void pipeline(tile::Steps<BK> steps, Produce& produce, Consume& consume) {
    context_.pipeline = ++context_.pipelines;
    context_.k_begin = steps.begin_index;
    context_.k_limit = steps.end_index;
    tile::detail::run_in_turn(steps, produce, consume);
    context_.pipeline = 0;
    context_.k_begin = 0;
    context_.k_limit = INT64_MAX;
  }

 private:
  Context context_;
};

/// Runs every program of a grid in turn; returns how many there were.
template <class Kernel, class Args>
i64 launch(const Kernel& kernel, tile::Grid grid, Order order, const Args& args, Run& run) {
  run.ledger.begin_launch();
  for (i64 number = 0; number < grid.programs(); ++number) {
    Program program(tile::ProgramIds(grid, order, number), run);
    kernel(program, args);
  }
  return grid.programs();
}

}  // namespace tilewright::exact
