// The CPU executor of the tile language: a program is a call on one thread, a tile is a block of floats in that
// thread's arena.
//
// `dot` takes loads as they are: a descriptor becomes a strided, bounded operand that the library's packing code
// converts straight into micro-kernel panels (kernels.hpp). Values that a user computes with are floats, row by row, at
// a leading dimension of whole 64-byte lines. Start at launch(), then Program, then Tile.
#pragma once

#include <atomic>
#include <cstring>
#include <utility>

#include <tilewright/tile/cpu/arena.hpp>
#include <tilewright/tile/cpu/kernels.hpp>
#include <tilewright/tile/cpu/launch.hpp>
#include <tilewright/tile/cpu/pending.hpp>
#include <tilewright/tile/grid.hpp>
#include <tilewright/tile/tile.hpp>

namespace tilewright::cpu {

namespace detail {

/// One axis of a load or store, reduced to what the plain functions take: a stride or a table of offsets, and the
/// positions inside.
template <int N>
struct Axis {
  i64 origin = 0;  // elements from the root to position 0 (of the stride; a table holds everything)
  i64 stride = 0;  // elements
  bool table = false;
  int begin = 0, end = N;
  i64 offsets[N];  // only used with a table

  const i64* table_or_null() const { return table ? offsets : nullptr; }
};

template <int N, class B>
void fill_axis(Axis<N>& axis, tile::NoTerm, const B&) {
  static_assert(N == 1 && !B::present);
  (void)axis;
}
template <int N, int A, class I, class B>
void fill_axis(Axis<N>& axis, const tile::Term<A, I>& term, const B& bound) {
  static_assert(N == I::size);
  if constexpr (I::affine) {
    axis.origin = term.index.at(0) * term.stride;
    axis.stride = term.stride;
    if constexpr (B::present) {
      const tile::Span span = bound.span();
      axis.begin = span.first;
      axis.end = span.last;
    }
  } else {
    axis.table = true;
    for (int i = 0; i < N; ++i) {
      axis.offsets[i] = tile::detail::admits(bound, i) ? term.index.at(i) * term.stride : Operand::masked;
    }
  }
}

/// The address of `offset` elements from root, which need not lie in any object: positions inside of the bounds do.
template <class E>
E* address(E* root, i64 offset) {
  const auto at = reinterpret_cast<unsigned long long>(root) + static_cast<unsigned long long>(offset) * sizeof(E);
  return reinterpret_cast<E*>(at);
}

/// A load's or store's axes and the address of position (0, 0).
template <class P, class M>
struct Place {
  Axis<P::rows> rows;
  Axis<P::cols> cols;
  typename P::element* base;

  Place(const P& pointers, const M& mask) {
    fill_axis(rows, pointers.row_term, mask.rows);
    fill_axis(cols, pointers.col_term, mask.cols);
    base = address(pointers.root, pointers.offset + rows.origin + cols.origin);
  }
  Block block() const {
    return {rows.stride, cols.stride, rows.table_or_null(), cols.table_or_null(),
            rows.begin,  rows.end,    cols.begin,           cols.end};
  }
  /// What a store writes, if its rows are contiguous; else any memory.
  Extent extent() const {
    if (rows.table || cols.table || cols.stride != 1) return {};
    return Extent::of(address(base, rows.begin * rows.stride + cols.begin), sizeof(typename P::element),
                      rows.end - rows.begin, rows.stride, cols.end - cols.begin);
  }
};

}  // namespace detail

/// M x N floats of one program. T is the element type the values are rounded to (float: none).
template <class T, int M, int N>
class Tile : public tile::Value {
 public:
  using element = T;
  static constexpr int rows = M;
  static constexpr int cols = N;
  // Whole cache lines, and no multiple of a large power of two, at which rows would fall on the same sets of a cache.
  static constexpr i64 ld = (N + 15) / 16 * 16 + (N % 256 == 0 ? 16 : 0);

  Tile(Arena& arena, const Kernels& kernels) : arena_(&arena), kernels_(&kernels), data_(arena.take(M * ld)) {}
  Tile(const Tile& other) : Tile(*other.arena_, *other.kernels_) { copy_from(other); }
  Tile(Tile&& other) noexcept
      : arena_(other.arena_), kernels_(other.kernels_), data_(other.data_), written_(other.written_) {
    other.pending_.settle();
    other.data_ = nullptr;
  }
  Tile& operator=(const Tile& other) {
    if (this == &other) return *this;
    if (data_ == nullptr) data_ = arena_->take(M * ld);
    pending_.drop();
    copy_from(other);
    return *this;
  }
  Tile& operator=(Tile&& other) noexcept {
    if (this == &other) return *this;
    pending_.drop();
    other.pending_.settle();
    std::swap(data_, other.data_);
    std::swap(written_, other.written_);
    return *this;
  }
  ~Tile() {
    if (data_ != nullptr) arena_->give(data_);
  }

  float* data() {
    settle();
    return data_;
  }
  const float* data() const {
    settle();
    return data_;
  }
  float* row(i64 i) { return data() + i * ld; }
  const float* row(i64 i) const { return data() + i * ld; }

  /// Makes all of it zero, which is written only when something reads it: sums of products begin without.
  void clear() {
    pending_.drop();
    written_ = {0, 0};
  }

  // What tile/value.hpp forwards to.

  template <class P, class Mask>
  auto materialize(const tile::Load<P, Mask>& load) const {
    return read(*arena_, *kernels_, load);
  }

  template <class P, class Mask>
  static auto read(Arena& arena, const Kernels& kernels, const tile::Load<P, Mask>& load) {
    Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols> result(arena, kernels);
    const detail::Place<P, Mask> place(load.pointers, load.mask);
    kernels.load(place.base, dtype_of<typename tile::Load<P, Mask>::element>, place.block(), P::rows, P::cols,
                 load.other, result.data(), result.ld);
    return result;
  }

  template <class A, class B>
  void accumulate(const tile::Product<A, B>& product) {
    constexpr int m = tile::Product<A, B>::m;
    constexpr int n = tile::Product<A, B>::n;
    constexpr int k = tile::Product<A, B>::k;
    pending_.settle();
    with_operand<true>(product.a, [&](const Operand& a) {
      with_operand<false>(product.b, [&](const Operand& b) {
        // Rows, columns and K positions behind the last valid one are zeros in both panels or in rows and columns that
        // nothing reads.
        const int m_used = a.s_end;
        const int n_used = b.s_end;
        const int k_used = a.k_end > b.k_end ? a.k_end : b.k_end;
        if (m_used <= 0 || n_used <= 0 || k_used <= 0) return;
        const bool add = written_.rows > 0;
        if (add && (m_used > written_.rows || n_used > written_.cols)) write_zeros();
        if (!add) written_ = {m_used, n_used};
        const Kernels& kernels = kernels_->for_operands(a.type, b.type);
        if (kernels_->a == Mover::direct && a.k_stride == 1 && a.is_plain(m_used, k_used)) {
          const bool values = a.type == DType::f32 || b.type == DType::f32;  // may be: of floats
          if (kernels_->operands_stay && !values && b.is_plain(n_used, k_used) && k_used <= kernels.most_rounded_k) {
            float* const panel = arena_->take(kernels.b_panel_floats(n, k));
            pending_.put_off(*arena_, {&kernels, a, b, panel, m_used, n_used, k_used, data_, ld, add});
            return;
          }
          const Scratch b_panel(*arena_, kernels.b_panel_floats(n, k));
          kernels.multiply_direct_a(a, b, b_panel.data(), m_used, n_used, k_used, data_, ld, add);
          return;
        }
        const Scratch a_panel(*arena_, kernels.a_panel_floats(m, k));
        kernels.pack_a(a, m_used, k_used, a_panel.data());
        if (kernels_->b == Mover::direct && m_used <= most_direct_rows && (b.strip_stride == 1 || b.k_stride == 1) &&
            b.is_plain(n_used, k_used)) {
          kernels.multiply_direct_b(a_panel.data(), b, m_used, n_used, k_used, data_, ld, add);
          return;
        }
        const Scratch b_panel(*arena_, kernels.b_panel_floats(n, k));
        kernels.pack_b(b, n_used, k_used, b_panel.data());
        kernels.multiply(a_panel.data(), b_panel.data(), m_used, n_used, k_used, data_, ld, add);
      });
    });
  }

  template <class P, class Mask>
  void store(const P& pointers, const Mask& mask) const {
    constexpr DType type = dtype_of<tile::plain<typename P::element>>;
    const detail::Place<P, Mask> place(pointers, mask);
    Pending::before_write(place.extent());
    if (pending_.store(place.base, type, place.block())) return;
    pending_.settle();
    if (place.rows.end > written_.rows || place.cols.end > written_.cols) write_zeros();
    kernels_->store(data_, ld, M, N, place.base, type, place.block());
  }

  template <class P, class Mask>
  void atomic_add(const P& pointers, const Mask& mask) const {
    const detail::Place<P, Mask> place(pointers, mask);
    const Block block = place.block();
    Pending::before_write({});
    const auto offset = [](const i64* table, i64 stride, int i) { return table != nullptr ? table[i] : i * stride; };
    for (int i = block.row_begin; i < block.row_end; ++i) {
      const i64 down = offset(block.row_offsets, block.row_stride, i);
      if (down == Operand::masked) continue;
      for (int j = block.col_begin; j < block.col_end; ++j) {
        const i64 across = offset(block.col_offsets, block.col_stride, j);
        if (across == Operand::masked) continue;
        std::atomic_ref<float>(*detail::address(place.base, down + across))
            .fetch_add(row(i)[j], std::memory_order_relaxed);
      }
    }
  }

  template <class Op>
  auto map() const {
    return map_function([](float x) { return Op::apply(x); });
  }
  template <class F>
  Tile<float, M, N> map_function(F function) const {
    Tile<float, M, N> result(*arena_, *kernels_);
    for (i64 i = 0; i < M; ++i) {
      for (i64 j = 0; j < N; ++j) result.row(i)[j] = function(row(i)[j]);
    }
    return result;
  }
  template <class Op, bool NumberFirst>
  auto zip_number(float number) const {
    return map_function([number](float x) { return NumberFirst ? Op::apply(number, x) : Op::apply(x, number); });
  }

  template <class Op, class U>
  auto zip(const U& other) const {
    constexpr int m = M > U::rows ? M : U::rows;
    constexpr int n = N > U::cols ? N : U::cols;
    Tile<float, m, n> result(*arena_, *kernels_);
    for (i64 i = 0; i < m; ++i) {
      const float* x = row(M == 1 ? 0 : i);
      const float* y = other.row(U::rows == 1 ? 0 : i);
      for (i64 j = 0; j < n; ++j) result.row(i)[j] = Op::apply(x[N == 1 ? 0 : j], y[U::cols == 1 ? 0 : j]);
    }
    return result;
  }

  template <class E>
  Tile<E, M, N> cast() const {
    Tile<E, M, N> result(*arena_, *kernels_);
    for (i64 i = 0; i < M; ++i) {
      for (i64 j = 0; j < N; ++j) result.row(i)[j] = to_float(from_float<E>(row(i)[j]));
    }
    return result;
  }

  template <class Mask, class Y>
  Tile<float, M, N> select(const Mask& mask, const Y& other) const {
    Tile<float, M, N> result(*arena_, *kernels_);
    for (int i = 0; i < M; ++i) {
      const bool row_holds = tile::detail::admits(mask.rows, i);
      for (int j = 0; j < N; ++j) {
        const bool holds = row_holds && tile::detail::admits(mask.cols, j);
        if constexpr (tile::TileValue<Y>) {
          result.row(i)[j] = holds ? row(i)[j] : other.row(Y::rows == 1 ? 0 : i)[Y::cols == 1 ? 0 : j];
        } else {
          result.row(i)[j] = holds ? row(i)[j] : static_cast<float>(other);
        }
      }
    }
    return result;
  }

  Tile<T, N, M> transposed() const {
    Tile<T, N, M> result(*arena_, *kernels_);
    for (i64 i = 0; i < M; ++i) {
      for (i64 j = 0; j < N; ++j) result.row(j)[i] = row(i)[j];
    }
    return result;
  }

  /// Along the columns of each row (Axis 1: (M, 1)) or the rows of each column (Axis 0: (1, N)), in order.
  template <class Op, int Along>
  auto reduce() const {
    Tile<float, Along == 1 ? M : 1, Along == 1 ? 1 : N> result(*arena_, *kernels_);
    for (i64 i = 0; i < M; ++i) {
      for (i64 j = 0; j < N; ++j) {
        float& sum = Along == 1 ? result.row(i)[0] : result.row(0)[j];
        sum = (Along == 1 ? j : i) == 0 ? row(i)[j] : Op::apply(sum, row(i)[j]);
      }
    }
    return result;
  }

 private:
  /// Calls use(operand) with a load or a value as the micro-kernels' operand; IsA: its rows are the strips, else its
  /// columns.
  template <bool IsA, class P, class Mask, class F>
  void with_operand(const tile::Load<P, Mask>& load, F use) const {
    if (!(load.other == 0.0f)) return with_operand<IsA>(materialize(load), use);  // packing fills with zeros alone
    const detail::Place<P, Mask> place(load.pointers, load.mask);
    const DType type = dtype_of<typename tile::Load<P, Mask>::element>;
    const Block& at = place.block();
    if constexpr (IsA) {
      use(Operand{place.base, type, at.row_stride, at.col_stride, at.row_offsets, at.col_offsets, at.row_begin,
                  at.row_end, at.col_begin, at.col_end});
    } else {
      use(Operand{place.base, type, at.col_stride, at.row_stride, at.col_offsets, at.row_offsets, at.col_begin,
                  at.col_end, at.row_begin, at.row_end});
    }
  }
  template <bool IsA, class U, int R, int C, class F>
  void with_operand(const Tile<U, R, C>& value, F use) const {
    constexpr i64 step = Tile<U, R, C>::ld;
    if (value.data() == data_) return with_operand<IsA>(Tile<U, R, C>(value), use);  // its sums change meanwhile
    if constexpr (IsA) {
      use(Operand{value.data(), DType::f32, step, 1, nullptr, nullptr, 0, R, 0, C});
    } else {
      use(Operand{value.data(), DType::f32, 1, step, nullptr, nullptr, 0, C, 0, R});
    }
  }

  /// The first rows and columns are in memory; everything else is 0 and in memory once write_zeros has been called.
  struct Written {
    int rows = M, cols = N;
  };

  /// What was moved away holds zeros.
  void copy_from(const Tile& other) {
    written_ = {};
    if (other.data_ == nullptr) return clear();
    std::memcpy(data_, other.data(), sizeof(float) * M * ld);
  }

  /// Has all of it in memory.
  void settle() const {
    pending_.settle();
    write_zeros();
  }
  void write_zeros() const {
    if (written_.rows == M && written_.cols == N) return;
    for (i64 i = 0; i < M; ++i) {
      const i64 from = i < written_.rows ? written_.cols : 0;
      std::memset(data_ + i * ld + from, 0, sizeof(float) * static_cast<std::size_t>(ld - from));
    }
    written_ = {};
  }

  Arena* arena_;
  const Kernels* kernels_;
  float* data_;
  mutable Written written_ = {};
  mutable Pending pending_;
};

/// The program object of the CPU target.
class Program : public tile::ProgramIds {
 public:
  Program(const tile::ProgramIds& ids, Arena& arena, const Kernels& kernels)
      : ProgramIds(ids), arena_(arena), kernels_(kernels) {}

  template <class T, int M, int N>
  Tile<T, M, N> full(float value) {
    Tile<T, M, N> result(arena_, kernels_);
    const float rounded = to_float(from_float<T>(value));
    if (__builtin_bit_cast(u32, rounded) == 0) {
      result.clear();
      return result;
    }
    for (i64 i = 0; i < M * Tile<T, M, N>::ld; ++i) result.data()[i] = rounded;
    return result;
  }

  /// Reads a load now.
  template <class P, class Mask>
  auto load(const tile::Load<P, Mask>& load) {
    return Tile<float, 1, 1>::read(arena_, kernels_, load);
  }

  template <int BK, class Produce, class Consume>
  void pipeline(tile::Steps<BK> steps, Produce& produce, Consume& consume) {
    tile::detail::run_in_turn(steps, produce, consume);
  }

 private:
  Arena& arena_;
  const Kernels& kernels_;
};

/// How a kernel is launched on the CPU.
struct Launch {
  tile::Grid grid;
  Order order{};
  Mma mma = this_cpu().mma;
  i64 threads = 1;
  Mover a = Mover::pack, b = Mover::pack;  // of loads that `dot` takes: direct where that is possible, else pack
  // A promise: until a program ends, nothing but its own stores changes or frees what its products read. Then the last
  // product of a sum may wait for its store (pending.hpp).
  bool operands_stay = false;
};

/// Runs every program of the grid. args must outlive the call; programs may run at the same time.
template <class Kernel, class Args>
void launch(const Kernel& kernel, const Launch& how, const Args& args) {
  struct Context {
    const Kernel& kernel;
    const Launch& how;
    const Args& args;
    Kernels kernels;
  } context{kernel, how, args, kernels(how.mma)};
  context.kernels.a = how.a;
  context.kernels.b = how.b;
  context.kernels.operands_stay = how.operands_stay;
  for_each_program(
      how.grid.programs(), how.threads,
      [](void* pointer, i64 number) {
        const Context& c = *static_cast<const Context*>(pointer);
        Program program(tile::ProgramIds(c.how.grid, c.how.order, number), Arena::of_this_thread(), c.kernels);
        c.kernel(program, c.args);
      },
      &context);
}

}  // namespace tilewright::cpu
