// The CUDA executor of the tile language: a program is a block of threads, a value is distributed over their registers.
//
// Device code alone, compiled by NVRTC or nvcc; it needs no header but the language's own. Loads of a pipeline's steps
// and operands of dot travel through shared memory (mover.hpp), everything else stays in registers. Shared memory is
// one piece: a pipeline's ring of stages, and behind it scratch memory for what warps must tell each other. Every use
// of scratch memory begins with a barrier, so that the one before has been read. Start at run(), then Program, then
// Tile; footprint.hpp says how much shared memory a kernel needs, and layout.hpp which thread holds what.
#pragma once

#include <tilewright/tile/cuda/mover.hpp>
#include <tilewright/tile/cuda/multiply.hpp>
#include <tilewright/tile/grid.hpp>
#include <tilewright/tile/tile.hpp>

namespace tilewright::cuda {

extern __shared__ __align__(128) unsigned char shared_memory[];

/// The shared addresses of a pipeline's ring and of scratch memory.
__device__ inline u32 ring_address() { return ptx::shared_address(shared_memory); }
template <Config C, int Bytes>
__device__ u32 scratch_address() {
  static_assert(Bytes <= C.scratch_bytes, "cuda: more scratch memory is needed than the launch provides");
  return ring_address() + static_cast<u32>(C.ring_bytes);
}

/// A block of a pipeline's step, in shared memory. A load in the eyes of the language: dot takes it as it is,
/// arithmetic reads it.
template <class E, int R, int N, int Axis>
struct Staged {
  using load_tag = void;
  using element = E;
  static constexpr int rows = R, cols = N;
  using Block = cuda::Block<R, N, element_bytes<E>, Axis>;
  u32 address;

  __device__ float at(int row, int col) const {
    const u32 from = address + static_cast<u32>(Axis == 1 ? Block::offset(row, col) : Block::offset(col, row));
    if constexpr (tile::is_same<E, float>) {
      return ptx::load_shared_float(from);
    } else {
      return ptx::widen(E{ptx::load_shared_half(from)});
    }
  }
};

template <class T, int M, int N, class L, Config C>
class Tile;

namespace detail {
template <class L, int R, int N>
inline constexpr bool slice_of = (R == 1 || R == L::m) && (N == 1 || N == L::n);

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

  /// f(row, col, value) for every element that this thread holds.
  template <class F>
  __device__ void each(F function) const {
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
    using Own = typename Pick<detail::slice_of<L, P::rows, P::cols>, L, Fragments<P::rows, P::cols, C.warps>>::type;
    return Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols, Own, C>::read(load);
  }
  template <class E, int R, int K, int Axis>
  __device__ auto materialize(const Staged<E, R, K, Axis>& staged) const {
    using Own = typename Pick<detail::slice_of<L, R, K>, L, Fragments<R, K, C.warps>>::type;
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
    static_assert(tile::is_same<L, Fragments<M, N, C.warps>>,
                  "cuda: the accumulator of dot must be a value of its own, not a transposed one");
    using X = tile::plain<A>;
    using Y = tile::plain<B>;
    constexpr int k = tile::Product<A, B>::k;
    constexpr int a_bytes = operand_bytes<X>(), b_bytes = operand_bytes<Y>();
    u32 at = 0;
    if constexpr (a_bytes + b_bytes > 0) {
      at = scratch_address<C, a_bytes + b_bytes>();
      __syncthreads();
    }
    u32 a = bring<0>(product.a, at), b = bring<1>(product.b, at + a_bytes);
    if constexpr (a_bytes + b_bytes > 0) {
      ptx::async_commit();
      ptx::async_wait<0>();
      __syncthreads();
      if constexpr (C.settles()) {
        a = settle<0>(product.a, a);
        b = settle<1>(product.b, b);
        __syncthreads();
      }
    }
    multiply<typename X::element, k, L, OperandBlock<X, 0>, OperandBlock<Y, 1>>(values, a, b);
  }

  template <class P, class Mask>
  __device__ void store(const P& pointers, const Mask& mask) const {
    if constexpr (M == 1 || N == 1) {
      const Target<P, Mask> target(pointers, mask);
      each_owned([&](int r, int c, float value) { target.write(r, c, value); });
    } else if constexpr (L::transposed) {
      using Exchanged = tile::Mask<tile::plain<decltype(mask.cols)>, tile::plain<decltype(mask.rows)>>;
      transposed().store(tile::detail::exchanged(pointers), Exchanged{mask.cols, mask.rows});
    } else {
      const Target<P, Mask> target(pointers, mask);
      __syncthreads();  // scratch memory may be in use
      // Along the axis on which memory is adjacent, so that a warp writes whole rows of it.
      if (target.adjacent_rows()) {
        store_along<0>(target);
      } else {
        store_along<1>(target);
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
        const int own = Along == 1 ? warp_index() % L::warp_cols : warp_index() / L::warp_cols;
        const auto place = [&](int i, int warp) {
          return scratch + static_cast<u32>(((Along == 1 ? row(i) : col(i)) * warps + warp) * 4);
        };
        const auto exists = [&](int i) { return L::exact || (Along == 1 ? row(i) < M : col(i) < N); };
        __syncthreads();
        if ((Along == 1 ? lane_index() % 4 : lane_index() / 4) == 0) {
#pragma unroll
          for (int i = 0; i < kept; ++i) {
            if (exists(i)) ptx::store_shared(place(i, own), slot(i));
          }
        }
        __syncthreads();
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
      __syncthreads();
      each_owned(
          [&](int r, int c, float value) { ptx::store_shared(scratch + static_cast<u32>(r * N + c) * 4u, value); });
      __syncthreads();
      return Tile<T, M, N, D, C>::filled(
          [&](int r, int c) { return ptx::load_shared_float(scratch + static_cast<u32>(r * N + c) * 4u); });
    }
  }

 private:
  template <class, int, int, class, Config>
  friend class Tile;

  __device__ static int row(int slot) { return M == 1 ? 0 : L::row(warp_index(), lane_index(), slot); }
  __device__ static int col(int slot) { return N == 1 ? 0 : L::col(warp_index(), lane_index(), slot); }

  /// function(x, y, row, col) over this value and another, an axis of extent 1 repeated.
  template <class U, class F>
  __device__ auto combine(const U& other, F function) const {
    constexpr int m = M > U::rows ? M : U::rows, n = N > U::cols ? N : U::cols;
    using D = CombinedLayout<L, M, N, typename U::Layout, U::rows, U::cols, C.warps>;
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
  template <class E, int R, int K, int Axis>
  struct OperandOf<Staged<E, R, K, Axis>> {
    template <int>
    using Block = typename Staged<E, R, K, Axis>::Block;
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
  static constexpr int operand_bytes() {
    return OperandOf<X>::staged ? 0 : operand_need<X>(C.settles());
  }

  /// Puts an operand into scratch memory at `at`, if it is not in shared memory yet; gives its address.
  template <int Which, class P, class Mask>
  __device__ static u32 bring(const tile::Load<P, Mask>& load, u32 at) {
    using Carrier = Mover<tile::Load<P, Mask>, C.move(Which), C.threads()>;
    Carrier::put(Carrier::fetch(load, at), at);
    return at;
  }
  template <int, class E, int R, int K, int Axis>
  __device__ static u32 bring(const Staged<E, R, K, Axis>& staged, u32) {
    return staged.address;
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
  template <int, class X>
  __device__ static u32 settle(const X&, u32 at) {
    return at;
  }

  // Stores.

  /// Memory that a value is written to.
  template <class P, class Mask>
  struct Target {
    using E = typename P::element;
    using Rows = AxisOf<tile::plain<decltype(P::row_term)>, tile::plain<decltype(Mask::rows)>>;
    using Cols = AxisOf<tile::plain<decltype(P::col_term)>, tile::plain<decltype(Mask::cols)>>;
    Rows rows;
    Cols cols;
    unsigned long long base;

    __device__ Target(const P& pointers, const Mask& mask)
        : rows(pointers.row_term, mask.rows),
          cols(pointers.col_term, mask.cols),
          base(reinterpret_cast<unsigned long long>(pointers.root) +
               static_cast<unsigned long long>(pointers.offset + rows.origin() + cols.origin()) * sizeof(E)) {}
    __device__ bool admits(int r, int c) const { return rows.admits(r) && cols.admits(c); }
    __device__ unsigned long long address(int r, int c) const {
      return base + static_cast<unsigned long long>(rows.offset(r) + cols.offset(c)) * sizeof(E);
    }
    __device__ void write(int r, int c, float value) const {
      if (admits(r, c)) *reinterpret_cast<E*>(address(r, c)) = ptx::round_to<E>(value);
    }
    /// Whether neighbouring rows are nearer in memory than neighbouring columns.
    __device__ bool adjacent_rows() const {
      if constexpr (!Rows::affine || !Cols::affine) return false;
      const i64 down = rows.stride(), across = cols.stride();
      return (down == 1 || down == -1) && !(across == 1 || across == -1);
    }
  };

  /// Each warp writes its atoms, 16 rows (Axis 1) or 16 columns (Axis 0) at a time, through its own staging area.
  template <int Axis, class To>
  __device__ void store_along(const To& target) const {
    using E = typename To::E;
    using Area = Staging<L, element_bytes<E>, Axis>;
    constexpr int es = element_bytes<E>;
    const int warp = warp_index(), lane = lane_index();
    const u32 area = scratch_address<C, staging_bytes<L, es>>() + static_cast<u32>(warp * Area::bytes);
    const int first_row = warp / L::warp_cols * L::rows_of_atoms * 16;
    const int first_col = warp % L::warp_cols * L::cols_of_atoms * 16;
    constexpr int strips = Axis == 1 ? L::rows_of_atoms : L::cols_of_atoms;
    constexpr int slots = Axis == 1 ? col_slots : row_slots;  // along a strip
    constexpr int across = Axis == 1 ? 2 : 4;                 // slots of one strip the other way
    const auto row_at = [&](int strip, int line, int position) {
      return first_row + (Axis == 1 ? strip * 16 + line : position);
    };
    const auto col_at = [&](int strip, int line, int position) {
      return first_col + (Axis == 1 ? position : strip * 16 + line);
    };
    const auto inside = [](int r, int c) { return L::exact || (r < M && c < N); };
    bool wide = false;  // whole 16-byte chunks, aligned
    tile::Span span{0, 0};
    if constexpr ((Axis == 1 ? To::Cols::affine : To::Rows::affine)) {
      const i64 stride = Axis == 1 ? target.cols.stride() : target.rows.stride();
      const i64 pitch = Axis == 1 ? target.rows.stride() : target.cols.stride();
      constexpr bool regular = Axis == 1 ? To::Rows::affine : To::Cols::affine;
      wide =
          stride == 1 && regular && ((target.base | (static_cast<unsigned long long>(pitch) * sizeof(E))) & 15u) == 0;
      span = Axis == 1 ? target.cols.span() : target.rows.span();
    }
#pragma unroll
    for (int strip = 0; strip < strips; ++strip) {
      __syncwarp();
#pragma unroll
      for (int u = 0; u < across; ++u) {
#pragma unroll
        for (int v = 0; v < slots; ++v) {
          const int i = Axis == 1 ? strip * across + u : v, j = Axis == 1 ? v : strip * across + u;
          const int r = row(i) - first_row, c = col(j) - first_col;
          const u32 to = area + static_cast<u32>(Axis == 1 ? (r - strip * 16) * Area::pitch + c * es
                                                           : (c - strip * 16) * Area::pitch + r * es);
          if constexpr (es == 4) {
            ptx::store_shared(to, values[i][j]);
          } else if constexpr (Axis == 1) {
            if (v % 2 == 0) {
              ptx::store_shared(to, static_cast<u32>(ptx::round_to<E>(values[i][j]).bits) |
                                        static_cast<u32>(ptx::round_to<E>(values[i][j + 1]).bits) << 16);
            }
          } else {
            ptx::store_shared(to, ptx::round_to<E>(values[i][j]).bits);
          }
        }
      }
      __syncwarp();
      constexpr int per_chunk = 16 / es, chunks = Area::inner / per_chunk;
      if (wide) {
#pragma unroll
        for (int n = lane; n < 16 * chunks; n += 32) {
          const int line = n / chunks, position = n % chunks * per_chunk;
          const int r = row_at(strip, line, position), c = col_at(strip, line, position);
          if (!inside(r, c)) continue;
          const int along = Axis == 1 ? c : r;
          const u32 from = area + static_cast<u32>(line * Area::pitch + position * es);
          const bool line_exists = Axis == 1 ? target.rows.admits(r) : target.cols.admits(c);
          if (!line_exists) continue;
          if (span.first <= along && along + per_chunk <= span.last) {
            *reinterpret_cast<uint4*>(target.address(r, c)) = ptx::load_shared_chunk(from);
          } else {
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
              if (span.first <= along + e && along + e < span.last) {
                copy_element<E>(target.address(Axis == 1 ? r : r + e, Axis == 1 ? c + e : c),
                                from + static_cast<u32>(e * es));
              }
            }
          }
        }
      } else {
#pragma unroll
        for (int n = lane; n < 16 * Area::inner; n += 32) {
          const int line = n / Area::inner, position = n % Area::inner;
          const int r = row_at(strip, line, position), c = col_at(strip, line, position);
          if (inside(r, c) && target.admits(r, c)) {
            copy_element<E>(target.address(r, c), area + static_cast<u32>(line * Area::pitch + position * es));
          }
        }
      }
    }
  }
  template <class E>
  __device__ static void copy_element(unsigned long long to, u32 from) {
    if constexpr (sizeof(E) == 4) {
      *reinterpret_cast<float*>(to) = ptx::load_shared_float(from);
    } else {
      *reinterpret_cast<u16*>(to) = ptx::load_shared_half(from);
    }
  }
};

/// The program object of the CUDA target.
template <Config C>
class Program {
 public:
  /// A launch has fewer than 2^31 programs, so their numbers take divisions of 32 bits.
  __device__ Program(const tile::Grid& grid, const Order& order, u32 number)
      : grid_{static_cast<u32>(grid.x), static_cast<u32>(grid.y), static_cast<u32>(grid.z)}, order_(order) {
    const u32 rest = number / grid_[0];
    id_[0] = number - rest * grid_[0];
    id_[1] = rest % grid_[1];
    id_[2] = rest / grid_[1];
  }
  __device__ i64 id(int axis) const { return id_[axis]; }
  __device__ i64 grid(int axis) const { return grid_[axis]; }
  __device__ i64 number() const { return id_[0] + grid_[0] * (id_[1] + grid_[1] * id_[2]); }
  __device__ TileCoord output_tile(TileGrid tiles) const {
    // The tiles of axis 0 are its programs, so their number fits as well.
    return tilewright::detail::tile_in<u32>(order_, static_cast<u32>(tiles.rows), static_cast<u32>(tiles.cols), id_[0]);
  }

  template <class T, int M, int N>
  __device__ auto full(float value) {
    const float rounded = ptx::widen(ptx::round_to<T>(value));
    return Tile<T, M, N, Fragments<M, N, C.warps>, C>::filled([&](int, int) { return rounded; }, rounded);
  }

  /// Reads a load now.
  template <class P, class Mask>
  __device__ auto load(const tile::Load<P, Mask>& load) {
    return Tile<typename tile::Load<P, Mask>::element, P::rows, P::cols, Fragments<P::rows, P::cols, C.warps>, C>::read(
        load);
  }

  /// A ring of C.stages slots: while one step is consumed, the reads of the next ones are in flight. A slot is filled
  /// again one step after it was consumed, so one barrier a step is enough. Blocks that must be settled are settled one
  /// step ahead, beside the arithmetic, into one of two places; that takes three stages to overlap.
  template <int BK, class Produce, class Consume>
  __device__ void pipeline(tile::Steps<BK> steps, Produce& produce, Consume& consume) {
    using Step = Blocks<0, tile::plain<decltype(as_blocks(produce(steps.step(0))))>>;
    constexpr int stages = C.stages, ahead = Step::settles ? 1 : 0;
    static_assert(stages * Step::bytes + (C.settles() ? settled_blocks * Step::settled_bytes : 0) <= C.ring_bytes,
                  "cuda: the pipeline's stages need more shared memory than the launch provides");
    const i64 count = steps.count();
    const auto slot = [](int stage) { return ring_address() + static_cast<u32>(stage * Step::bytes); };
    const auto settled = [](i64 q) {
      return ring_address() + static_cast<u32>(stages * Step::bytes + static_cast<int>(q & 1) * Step::settled_bytes);
    };
    const auto blocks = [&](i64 q) { return as_blocks(produce(steps.step(q))); };
    __syncthreads();  // a pipeline before this one may still be read
    if constexpr (stages < 2 + ahead) {
#pragma unroll 1
      for (i64 q = 0; q < count; ++q) {
        Step::put(Step::fetch(blocks(q), slot(0)), slot(0));
        ptx::async_commit();
        ptx::async_wait<0>();
        __syncthreads();
        if constexpr (Step::settles) {
          Step::settle(blocks(q), slot(0), settled(0));
          __syncthreads();
        }
        Step::staged(slot(0), settled(0)).apply(consume);
        __syncthreads();
      }
    } else {
#pragma unroll
      for (int stage = 0; stage < stages - 1; ++stage) {
        if (stage < count) Step::put(Step::fetch(blocks(stage), slot(stage)), slot(stage));
        ptx::async_commit();
      }
      if constexpr (Step::settles) {
        ptx::async_wait<stages - 2>();
        __syncthreads();
        if (count > 0) Step::settle(blocks(0), slot(0), settled(0));
      }
      int read = 0, write = stages - 1;
#pragma unroll 1
      for (i64 q = 0; q < count; ++q) {
        ptx::async_wait<stages - 2 - ahead>();
        __syncthreads();
        const i64 next = q + stages - 1;
        typename Step::Registers held;
        if (next < count) held = Step::fetch(blocks(next), slot(write));
        const int after = read + 1 == stages ? 0 : read + 1;
        if constexpr (Step::settles) {
          if (q + 1 < count) Step::settle(blocks(q + 1), slot(after), settled(q + 1));
        }
        Step::staged(slot(read), settled(q)).apply(consume);
        if (next < count) Step::put(held, slot(write));
        ptx::async_commit();
        read = after;
        write = write + 1 == stages ? 0 : write + 1;
      }
      ptx::async_wait<0>();
    }
  }

 private:
  /// One load is a step of one.
  template <class... L>
  __device__ static const tile::Both<L...>& as_blocks(const tile::Both<L...>& blocks) {
    return blocks;
  }
  template <class P, class Mask>
  __device__ static auto as_blocks(const tile::Load<P, Mask>& load) {
    return tile::both(load);
  }

  /// The loads of a step, the first of them the Which-th of all: their movers and their places in a slot and among the
  /// settled blocks.
  template <int Which, class T>
  struct Blocks;
  template <int Which>
  struct Blocks<Which, tile::Both<>> {
    static constexpr int bytes = 0, settled_bytes = 0;
    static constexpr bool settles = false;
    struct Registers {};
    __device__ static Registers fetch(const tile::Both<>&, u32) { return {}; }
    __device__ static void put(const Registers&, u32) {}
    __device__ static void settle(const tile::Both<>&, u32, u32) {}
    __device__ static tile::Both<> staged(u32, u32) { return {}; }
  };
  template <int Which, class First, class... Rest>
  struct Blocks<Which, tile::Both<First, Rest...>> {
    using Carrier = Mover<First, C.move(Which), C.threads()>;
    using Others = Blocks<Which + 1, tile::Both<Rest...>>;
    using Block = Staged<typename First::element, First::rows, First::cols, C.move(Which).axis>;
    static constexpr int own = C.settles() ? raw_bytes<First> : block_bytes<First>, own_settled = block_bytes<First>;
    static constexpr int bytes = own + Others::bytes, settled_bytes = own_settled + Others::settled_bytes;
    static constexpr bool settles = Carrier::settles || Others::settles;
    struct Registers {
      typename Carrier::Registers first;
      typename Others::Registers rest;
    };
    __device__ static Registers fetch(const tile::Both<First, Rest...>& blocks, u32 at) {
      return {Carrier::fetch(blocks.first, at), Others::fetch(blocks.rest, at + own)};
    }
    __device__ static void put(const Registers& held, u32 at) {
      Carrier::put(held.first, at);
      Others::put(held.rest, at + own);
    }
    __device__ static void settle(const tile::Both<First, Rest...>& blocks, u32 at, u32 to) {
      Carrier::settle(blocks.first, at, to);
      Others::settle(blocks.rest, at + own, to + own_settled);
    }
    __device__ static auto staged(u32 at, u32 settled) {
      return prepend(Block{Carrier::settles ? settled : at}, Others::staged(at + own, settled + own_settled));
    }
  };
  template <class First, class... Rest>
  __device__ static tile::Both<First, Rest...> prepend(First first, const tile::Both<Rest...>& rest) {
    return {first, rest};
  }

  u32 id_[3];
  u32 grid_[3];
  Order order_;
};

/// One program of a kernel: what an entry point calls.
template <Config C, class Kernel, class Args>
__device__ void run(const Kernel& kernel, const tile::Grid& grid, const Order& order, const Args& args) {
  Program<C> p(grid, order, blockIdx.x);
  kernel(p, args);
}

}  // namespace tilewright::cuda
