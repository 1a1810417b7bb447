// Values of the CUDA executor: distributed over the registers of a program's threads, as layout.hpp says which holds
// what.
//
// Loads of a pipeline's steps and operands of dot are in shared memory instead (staged.hpp). Start at Tile.
#pragma once

#include <tilewright/tile/cuda/multiply.hpp>
#include <tilewright/tile/cuda/rows.hpp>
#include <tilewright/tile/cuda/staged.hpp>
#include <tilewright/tile/cuda/store.hpp>
#include <tilewright/tile/tile.hpp>

namespace tilewright::cuda {

namespace detail {
/// The start value of a reduction: what changes nothing.
template <class Op>
inline constexpr float neutral = -0.0f;
template <>
inline constexpr float neutral<tile::op::Max> = -tile::infinity;
}  // namespace detail

/// M x N values over the threads of a program, distributed as L says. T is the element type the values are rounded to.
template <class T, int M, int N, class L, Config C>
class Tile : public tile::Value {
 public:
  using element = T;
  using Layout = L;
  static constexpr int rows = M;
  static constexpr int cols = N;
  static constexpr int row_slots = M == 1 ? 1 : L::row_slots;
  static constexpr int col_slots = N == 1 ? 1 : L::col_slots;
  float values[row_slots][col_slots];

  /// Waits for products that are still being added to the values. Whatever reads them does so first.
  __device__ void complete() const {
    if constexpr (C.roles()) {
      ptx::wgmma_wait<0>();
#pragma unroll
      for (int i = 0; i < row_slots; ++i) {
#pragma unroll
        for (int j = 0; j < col_slots; ++j) ptx::pin(const_cast<float&>(values[i][j]));
      }
    }
  }

  /// The row and the column of this thread's elements in a slot.
  __device__ static int row(int slot) { return M == 1 ? 0 : L::row(warp_index(), lane_index(), slot); }
  __device__ static int col(int slot) { return N == 1 ? 0 : L::col(warp_index(), lane_index(), slot); }

  /// f(row, col, value) for every element that this thread holds.
  template <class F>
  __device__ void each(F function) const {
    complete();
#pragma unroll
    for (int i = 0; i < row_slots; ++i) {
#pragma unroll
      for (int j = 0; j < col_slots; ++j) {
        const int r = row(i), c = col(j);
        if (L::exact || (r < M && c < N)) function(r, c, values[i][j]);
      }
    }
  }
  /// The same for elements of which this thread is the only, or the first, holder.
  template <class F>
  __device__ void each_owned(F function) const {
    if ((M == 1 && L::row(warp_index(), lane_index(), 0) != 0) ||
        (N == 1 && L::col(warp_index(), lane_index(), 0) != 0)) {
      return;
    }
    each(function);
  }
  /// function(row, col) as this thread's elements; what is no element is `outside`.
  template <class F>
  __device__ static Tile filled(F function, float outside = 0.0f) {
    Tile result;
#pragma unroll
    for (int i = 0; i < row_slots; ++i) {
#pragma unroll
      for (int j = 0; j < col_slots; ++j) {
        const int r = row(i), c = col(j);
        result.values[i][j] = L::exact || (r < M && c < N) ? function(r, c) : outside;
      }
    }
    return result;
  }

  // What tile/value.hpp forwards to.

  /// A load into this value's distribution, where it is a row, a column or all of it; else into its own.
  template <class P, class Mask>
  __device__ auto materialize(const tile::Load<P, Mask>& load) const {
    using Own = typename Pick<slice_of<L, P::rows, P::cols>, L, Fragments<P::rows, P::cols, C.team()>>::type;
    return Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols, Own, C>::read(load);
  }
  /// One in shared memory: Staged, Raw or Rows.
  template <template <class, int, int, int, class> class In, class E, int R, int K, int Axis, class Work>
  __device__ auto materialize(const In<E, R, K, Axis, Work>& staged) const {
    using Own = typename Pick<slice_of<L, R, K>, L, Fragments<R, K, C.team()>>::type;
    return Tile<E, R, K, Own, C>::filled([&](int r, int c) { return staged.at(r, c); });
  }
  template <class P, class Mask>
  __device__ static Tile read(const tile::Load<P, Mask>& load) {
    const Source<tile::Load<P, Mask>, 1> source(load);
    const float other = ptx::widen(ptx::round_to<T>(load.other));
    return filled([&](int r, int c) {
      if (!(source.rows.admits(r) && source.cols.admits(c))) return other;
      return ptx::widen(
          source.read(source.row_address(r) + static_cast<unsigned long long>(source.cols.offset(c)) * sizeof(T)));
    });
  }

  template <class A, class B>
  __device__ void accumulate(const tile::Product<A, B>& product) {
    static_assert(tile::is_same<L, Fragments<M, N, C.team()>>,
                  "cuda: the accumulator of dot must be a value of its own, not a transposed one");
    using X = tile::plain<A>;
    using Y = tile::plain<B>;
    if constexpr (detail::moving<X>) {
      move_columns(product.a.columns);
    } else {
      multiply_blocks(product);
    }
  }

  template <class P, class Mask>
  __device__ void store(const P& pointers, const Mask& mask) const {
    complete();
    if constexpr (M == 1 || N == 1) {
      const Target<P, Mask> target(pointers, mask);
      each_owned([&](int r, int c, float value) { target.write(r, c, value); });
    } else if constexpr (L::transposed) {
      using Exchanged = tile::Mask<tile::plain<decltype(mask.cols)>, tile::plain<decltype(mask.rows)>>;
      transposed().store(tile::detail::exchanged(pointers), Exchanged{mask.cols, mask.rows});
    } else {
      const Target<P, Mask> target(pointers, mask);
      const u32 scratch = scratch_address<C, staging_bytes<L, element_bytes<typename P::element>>>();
      barrier<C>();  // scratch memory may be in use
      // Along the axis on which memory is adjacent, so that a warp writes whole rows of it.
      if (target.adjacent_rows()) {
        store_along<0>(*this, target, scratch);
      } else {
        store_along<1>(*this, target, scratch);
      }
    }
  }

  template <class P, class Mask>
  __device__ void atomic_add(const P& pointers, const Mask& mask) const {
    const Target<P, Mask> target(pointers, mask);
    each_owned([&](int r, int c, float value) {
      if (target.admits(r, c)) atomicAdd(reinterpret_cast<float*>(target.address(r, c)), value);
    });
  }

  template <class Op>
  __device__ auto map() const {
    return map_function([](float x) { return Op::apply(x); });
  }
  template <class F>
  __device__ Tile<float, M, N, L, C> map_function(F function) const {
    complete();
    Tile<float, M, N, L, C> result;
#pragma unroll
    for (int i = 0; i < row_slots; ++i) {
#pragma unroll
      for (int j = 0; j < col_slots; ++j) result.values[i][j] = function(values[i][j]);
    }
    return result;
  }
  template <class Op, bool NumberFirst>
  __device__ auto zip_number(float number) const {
    return map_function([number](float x) { return NumberFirst ? Op::apply(number, x) : Op::apply(x, number); });
  }
  template <class E>
  __device__ Tile<E, M, N, L, C> cast() const {
    complete();
    Tile<E, M, N, L, C> result;
#pragma unroll
    for (int i = 0; i < row_slots; ++i) {
#pragma unroll
      for (int j = 0; j < col_slots; ++j) result.values[i][j] = ptx::widen(ptx::round_to<E>(values[i][j]));
    }
    return result;
  }

  template <class Op, class U>
  __device__ auto zip(const U& other) const {
    return combine(other, [](float x, float y, int, int) { return Op::apply(x, y); });
  }
  template <class Mask, class Y>
  __device__ auto select(const Mask& mask, const Y& other) const {
    complete();
    const auto holds = [&](int r, int c) {
      return tile::detail::admits(mask.rows, r) && tile::detail::admits(mask.cols, c);
    };
    if constexpr (tile::TileValue<Y>) {
      return combine(other, [&](float x, float y, int r, int c) { return holds(r, c) ? x : y; });
    } else {
      Tile<float, M, N, L, C> result;
#pragma unroll
      for (int i = 0; i < row_slots; ++i) {
#pragma unroll
        for (int j = 0; j < col_slots; ++j) {
          result.values[i][j] = holds(row(i), col(j)) ? values[i][j] : static_cast<float>(other);
        }
      }
      return result;
    }
  }

  __device__ Tile<T, N, M, flipped<L>, C> transposed() const {
    complete();
    Tile<T, N, M, flipped<L>, C> result;
#pragma unroll
    for (int i = 0; i < row_slots; ++i) {
#pragma unroll
      for (int j = 0; j < col_slots; ++j) result.values[j][i] = values[i][j];
    }
    return result;
  }

  /// Each thread in order of position, then the threads of a warp in pairs, then the warps in order: always the same
  /// sums.
  template <class Op, int Along>
  __device__ auto reduce() const {
    complete();
    if constexpr (L::transposed) {
      return transposed().template reduce<Op, 1 - Along>().transposed();
    } else {
      Tile<float, Along == 1 ? M : 1, Along == 1 ? 1 : N, L, C> result;
      constexpr int kept = Along == 1 ? row_slots : col_slots, reduced = Along == 1 ? col_slots : row_slots;
      const auto slot = [&](int i) -> float& { return Along == 1 ? result.values[i][0] : result.values[0][i]; };
#pragma unroll
      for (int i = 0; i < kept; ++i) {
        float sum = detail::neutral<Op>;
#pragma unroll
        for (int j = 0; j < reduced; ++j) {
          const bool inside = L::exact || (Along == 1 ? col(j) < N : row(j) < M);
          if (inside) sum = Op::apply(sum, Along == 1 ? values[i][j] : values[j][i]);
        }
        if constexpr ((Along == 1 ? N : M) > 1) {
#pragma unroll
          for (int step = Along == 1 ? 1 : 4; step < (Along == 1 ? 4 : 32); step *= 2) {
            sum = Op::apply(sum, __shfl_xor_sync(0xffffffffu, sum, step));
          }
        }
        slot(i) = sum;
      }
      constexpr int bytes = reduction_bytes<L, Along>();
      if constexpr (bytes > 0 && (Along == 1 ? N : M) > 1) {
        constexpr int warps = Along == 1 ? L::warp_cols : L::warp_rows;
        const u32 scratch = scratch_address<C, bytes>();
        const int own = Along == 1 ? L::warp_col(warp_index()) : L::warp_row(warp_index());
        const auto place = [&](int i, int warp) {
          return scratch + static_cast<u32>(((Along == 1 ? row(i) : col(i)) * warps + warp) * 4);
        };
        const auto exists = [&](int i) { return L::exact || (Along == 1 ? row(i) < M : col(i) < N); };
        barrier<C>();
        if ((Along == 1 ? lane_index() % 4 : lane_index() / 4) == 0) {
#pragma unroll
          for (int i = 0; i < kept; ++i) {
            if (exists(i)) ptx::store_shared(place(i, own), slot(i));
          }
        }
        barrier<C>();
#pragma unroll
        for (int i = 0; i < kept; ++i) {
          if (!exists(i)) continue;
          float sum = ptx::load_shared_float(place(i, 0));
#pragma unroll
          for (int w = 1; w < warps; ++w) sum = Op::apply(sum, ptx::load_shared_float(place(i, w)));
          slot(i) = sum;
        }
      }
      return result;
    }
  }

  /// The same value, distributed as D.
  template <class D>
  __device__ auto distributed() const {
    if constexpr (tile::is_same<L, D>) {
      return *this;
    } else {
      const u32 scratch = scratch_address<C, exchange_bytes<M, N>>();
      barrier<C>();
      each_owned(
          [&](int r, int c, float value) { ptx::store_shared(scratch + static_cast<u32>(r * N + c) * 4u, value); });
      barrier<C>();
      return Tile<T, M, N, D, C>::filled(
          [&](int r, int c) { return ptx::load_shared_float(scratch + static_cast<u32>(r * N + c) * 4u); });
    }
  }

 private:
  template <class A, class B>
  __device__ void multiply_blocks(const tile::Product<A, B>& product) {
    using X = tile::plain<A>;
    using Y = tile::plain<B>;
    constexpr int k = tile::Product<A, B>::k;
    constexpr int a_bytes = operand_bytes<X, 0>(), b_bytes = operand_bytes<Y, 1>();
    u32 at = 0;
    if constexpr (a_bytes + b_bytes > 0) {
      at = scratch_address<C, a_bytes + b_bytes>();
      barrier<C>();
    }
    auto a = bring<0>(product.a, at);
    u32 b = bring<1>(product.b, at + a_bytes);
    if constexpr (a_bytes + b_bytes > 0) {
      ptx::async_commit();
      ptx::async_wait<0>();
      publish<C>();
      if constexpr (C.settles()) {
        a = settle<0>(product.a, a);
        b = settle<1>(product.b, b);
        publish<C>();
      }
    }
    constexpr bool goes_on = a_bytes + b_bytes == 0 && detail::chained<X>;
    multiply<typename X::element, k, L, OperandBlock<X, 0>, OperandBlock<Y, 1>, goes_on>(values, a, b, [&] {
      if constexpr (requires { product.a.work; }) (*product.a.work)();
    });
  }

  /// What is in column j comes from column j + columns; the last columns are anything.
  __device__ void move_columns(u32 columns) {
    complete();
    const int lane = lane_index(), from = (lane & ~3) | ((lane + 1) & 3);
#pragma unroll 1
    for (; columns > 0; --columns) {
#pragma unroll
      for (int i = 0; i < row_slots; ++i) {
#pragma unroll
        for (int j = 0; j < col_slots; j += 2) {  // of eight columns, four threads have two neighbours each
          const float behind = j + 2 < col_slots ? values[i][j + 2 < col_slots ? j + 2 : j] : 0.0f;
          const float moved = ptx::value_of_lane(lane % 4 == 0 ? behind : values[i][j], from);
          values[i][j] = values[i][j + 1];
          values[i][j + 1] = moved;
        }
      }
    }
  }

  template <class, int, int, class, Config>
  friend class Tile;

  /// function(x, y, row, col) over this value and another, an axis of extent 1 repeated.
  template <class U, class F>
  __device__ auto combine(const U& other, F function) const {
    constexpr int m = M > U::rows ? M : U::rows, n = N > U::cols ? N : U::cols;
    using D = CombinedLayout<L, M, N, typename U::Layout, U::rows, U::cols, C.team()>;
    complete();
    other.complete();
    const auto x = distributed<D>();
    const auto y = other.template distributed<D>();
    using Result = Tile<float, m, n, D, C>;
    Result result;
#pragma unroll
    for (int i = 0; i < Result::row_slots; ++i) {
#pragma unroll
      for (int j = 0; j < Result::col_slots; ++j) {
        result.values[i][j] =
            function(x.values[M == 1 ? 0 : i][N == 1 ? 0 : j], y.values[U::rows == 1 ? 0 : i][U::cols == 1 ? 0 : j],
                     Result::row(i), Result::col(j));
      }
    }
    return result;
  }

  // Operands of dot: Which is 0 for a, 1 for b.

  template <class X>
  struct OperandOf;
  template <class P, class Mask>
  struct OperandOf<tile::Load<P, Mask>> {
    template <int Which>
    using Block = BlockOf<tile::Load<P, Mask>, C.move(Which).axis>;
    static constexpr bool staged = false;
  };
  template <class E, int R, int K, int Axis, class Work>
  struct OperandOf<Staged<E, R, K, Axis, Work>> {
    template <int>
    using Block = typename Staged<E, R, K, Axis, Work>::Block;
    static constexpr bool staged = true;
  };
  template <class E, int R, int K, int Axis, class Work>
  struct OperandOf<Raw<E, R, K, Axis, Work>> {
    template <int>
    using Block = typename Raw<E, R, K, Axis, Work>::Block;
    static constexpr bool staged = false;
  };
  template <class E, int R, int K, int Axis, class Work, int Step>
  struct OperandOf<Rows<E, R, K, Axis, Work, Step>> {
    template <int>
    using Block = typename Rows<E, R, K, Axis, Work, Step>::Block;
    static constexpr bool staged = true;
  };
  template <class E, int R, int K, class D>
  struct OperandOf<Tile<E, R, K, D, C>> {
    template <int>
    using Block = cuda::Block<R, K, element_bytes<E>, 1>;
    static constexpr bool staged = false;
  };
  template <class X, int Which>
  using OperandBlock = typename OperandOf<X>::template Block<Which>;
  template <class X>
  static constexpr bool is_raw = false;
  template <class E, int R, int K, int Axis, class Work>
  static constexpr bool is_raw<Raw<E, R, K, Axis, Work>> = true;
  template <class X, int Which>
  static constexpr int operand_bytes() {
    if constexpr (is_raw<X>) {
      return left_need<X, L>(Which);
    } else {
      return OperandOf<X>::staged ? 0 : operand_need<X>(C.settles());
    }
  }

  /// Puts an operand into scratch memory at `at`, if it is not in shared memory yet; gives its address.
  template <int Which, class P, class Mask>
  __device__ static u32 bring(const tile::Load<P, Mask>& load, u32 at) {
    using Carrier = Mover<tile::Load<P, Mask>, C.move(Which), C.threads()>;
    Carrier::fetch(load, typename Carrier::Places(load), at);
    return at;
  }
  template <int, class E, int R, int K, int Axis, class Work>
  __device__ static u32 bring(const Staged<E, R, K, Axis, Work>& staged, u32) {
    return staged.address;
  }
  template <int Which, class E, int R, int K, int Axis, class Work, int Step>
  __device__ static auto bring(const Rows<E, R, K, Axis, Work, Step>& rows, u32) {
    static_assert(Which == 0 && L::groups, "cuda: rows as they lie in memory are a left operand of wgmma");
    return rows;
  }
  /// Where wgmma takes it from registers, as it is; else element by element.
  template <int Which, class E, int R, int K, int Axis, class Work>
  __device__ static auto bring(const Raw<E, R, K, Axis, Work>& raw, u32 at) {
    if constexpr (Which == 0 && L::groups) {
      return raw;
    } else {
      using Block = typename Raw<E, R, K, Axis, Work>::Block;
#pragma unroll 4
      for (int n = static_cast<int>(threadIdx.x); n < R * K; n += C.threads()) {
        const int row = n / K, col = n % K;
        ptx::store_shared(at + static_cast<u32>(Axis == 1 ? Block::offset(row, col) : Block::offset(col, row)),
                          raw.bits(row, col));
      }
      return at;
    }
  }
  template <int Which, class E, int R, int K, class D>
  __device__ static u32 bring(const Tile<E, R, K, D, C>& value, u32 at) {
    value.each_owned([&](int r, int c, float x) {
      const u32 to = at + static_cast<u32>(OperandBlock<Tile<E, R, K, D, C>, Which>::offset(r, c));
      if constexpr (tile::is_same<E, float>) {
        ptx::store_shared(to, x);
      } else {
        ptx::store_shared(to, ptx::round_to<E>(x).bits);
      }
    });
    return at;
  }

  /// Settles an operand behind its raw area, if its mover does; gives the address of its block.
  template <int Which, class P, class Mask>
  __device__ static u32 settle(const tile::Load<P, Mask>& load, u32 at) {
    using Carrier = Mover<tile::Load<P, Mask>, C.move(Which), C.threads()>;
    if constexpr (Carrier::settles) {
      const u32 block = at + static_cast<u32>(raw_bytes<tile::Load<P, Mask>>);
      Carrier::settle(load, at, block);
      return block;
    } else {
      return at;
    }
  }
  template <int, class X, class At>
  __device__ static At settle(const X&, const At& at) {
    return at;
  }
};

}  // namespace tilewright::cuda
