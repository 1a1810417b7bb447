// Movers: a strided, masked block of global memory into a block of shared memory, carried by all threads of a program.
//
// A mover works in two halves, so that a pipeline can put arithmetic between them: `fetch` issues the reads (cp.async,
// or loads into registers), `put` writes what registers hold. Nothing is read where the mask is false; those places
// become the load's `other`. Which mover a load takes is the launcher's promise, a Move; where a load's own type or
// value rules it out (an index that is not affine along the adjacent axis, an `other` that is not zero), elements are
// gathered one by one.
#pragma once

#include <tilewright/tile/cuda/layout.hpp>
#include <tilewright/tile/cuda/ptx/convert.hpp>
#include <tilewright/tile/cuda/ptx/copy.hpp>

namespace tilewright::cuda {

/// One axis of a load: which positions exist, and where they are.
template <class T, class B>
struct AxisOf {
  static constexpr bool affine = true;
  const B& bound;
  __device__ AxisOf(const T&, const B& b) : bound(b) {}
  __device__ i64 origin() const { return 0; }
  __device__ i64 offset(int) const { return 0; }
  __device__ bool admits(int) const { return true; }
  __device__ tile::Span span() const { return {0, 1}; }
  __device__ i64 stride() const { return 1; }
};
template <int A, class I, class B>
struct AxisOf<tile::Term<A, I>, B> {
  static constexpr bool affine = I::affine;
  const tile::Term<A, I>& term;
  const B& bound;
  __device__ AxisOf(const tile::Term<A, I>& t, const B& b) : term(t), bound(b) {}
  /// Elements to position 0 of an affine axis, and from there to a position.
  __device__ i64 origin() const {
    if constexpr (affine) return term.index.at(0) * term.stride;
    return 0;
  }
  __device__ i64 offset(int position) const {
    if constexpr (affine) return position * term.stride;
    return term.index.at(position) * term.stride;
  }
  __device__ bool admits(int position) const { return tile::detail::admits(bound, position); }
  __device__ tile::Span span() const {
    if constexpr (B::present) return bound.span();
    return {0, I::size};
  }
  __device__ i64 stride() const { return term.stride; }
};

template <bool First, class A, class B>
struct Pick {
  using type = A;
};
template <class A, class B>
struct Pick<false, A, B> {
  using type = B;
};

/// A load seen from its block: rows of adjacent positions.
template <class L, int Axis>
struct Source {
  using E = typename L::element;
  using P = decltype(L::pointers);
  using M = decltype(L::mask);
  using Rows = AxisOf<tile::plain<decltype(P::row_term)>, tile::plain<decltype(M::rows)>>;
  using Cols = AxisOf<tile::plain<decltype(P::col_term)>, tile::plain<decltype(M::cols)>>;
  using Inner = typename Pick<Axis == 1, Cols, Rows>::type;
  Rows rows;
  Cols cols;
  unsigned long long base;  // the address of position (0, 0); integers, since it may lie outside of any object

  __device__ explicit Source(const L& load)
      : rows(load.pointers.row_term, load.mask.rows),
        cols(load.pointers.col_term, load.mask.cols),
        base(reinterpret_cast<unsigned long long>(load.pointers.root) +
             static_cast<unsigned long long>(load.pointers.offset + rows.origin() + cols.origin()) * sizeof(E)) {}

  __device__ const auto& outer() const {
    if constexpr (Axis == 1) return rows;
    else return cols;
  }
  __device__ const auto& inner() const {
    if constexpr (Axis == 1) return cols;
    else return rows;
  }
  __device__ unsigned long long row_address(int row) const {
    return base + static_cast<unsigned long long>(outer().offset(row)) * sizeof(E);
  }
  __device__ static E read(unsigned long long address) { return *reinterpret_cast<const E*>(address); }
};

/// The words that one thread holds between fetch and put.
template <int N>
struct Held {
  u32 words[N];
};
template <>
struct Held<0> {};

template <class L, Move How, int Threads>
class Mover {
  using E = typename L::element;
  static constexpr int ES = element_bytes<E>;
  static constexpr int axis = How.axis;
  using S = Source<L, axis>;
  using Inner = typename S::Inner;
  using B = BlockOf<L, axis>;

  static constexpr bool unit = Inner::affine && B::inner * ES % 16 == 0;
  static constexpr Via via = unit ? How.via : Via::gather;
  // What one thread moves at a time: bytes, elements, how many a row, how many a thread.
  static constexpr int granule = via == Via::async_copy ? How.bytes : via == Via::realign ? 16 : 4;
  static constexpr int elements = granule / ES;
  static constexpr int per_row = (B::inner + elements - 1) / elements;
  static constexpr int count = (B::outer * per_row + Threads - 1) / Threads;
  static constexpr int words = granule / 4;
  static constexpr bool whole = B::outer * per_row % Threads == 0;  // no thread without a granule

 public:
  using Block = B;
  using Registers = Held<via == Via::async_copy ? 0 : count * words>;

  __device__ static Registers fetch(const L& load, u32 slot) {
    const S source(load);
    Registers held;
    const E other = ptx::round_to<E>(load.other);
#pragma unroll
    for (int n = 0; n < count; ++n) {
      const int id = static_cast<int>(threadIdx.x) + n * Threads;
      if (!whole && id >= B::outer * per_row) break;
      const int row = id / per_row, first = id % per_row * elements;
      const bool row_exists = source.outer().admits(row);
      const unsigned long long from = source.row_address(row);
      if constexpr (via == Via::gather) {
        gather(&held.words[n * words], source, row_exists, from, first, other);
      } else {
        const tile::Span span = source.inner().span();
        const unsigned long long at = from + static_cast<unsigned long long>(first) * ES;
        if constexpr (via == Via::async_copy) {
          const u32 to = slot + static_cast<u32>(B::offset(row, first));
          const int left = row_exists ? (span.last - first) * ES : 0;
          const int bytes = left < 0 ? 0 : left < granule ? left : granule;
          if ((span.first > first && bytes > 0) || !(load.other == 0.0f)) {
            // A granule that does not begin at its first element, or is not filled with zeros.
            u32 values[words];
            gather(values, source, row_exists, from, first, other);
            write(to, values);
          } else {
            ptx::async_copy<granule>(to, bytes > 0 ? reinterpret_cast<const void*>(at) : load.pointers.root, bytes);
          }
        } else {
          realign(&held.words[n * words], source, row_exists, from, at, span, first, other);
        }
      }
    }
    return held;
  }

  __device__ static void put(const Registers& held, u32 slot) {
    if constexpr (via != Via::async_copy) {
#pragma unroll
      for (int n = 0; n < count; ++n) {
        const int id = static_cast<int>(threadIdx.x) + n * Threads;
        if (!whole && id >= B::outer * per_row) break;
        write(slot + static_cast<u32>(B::offset(id / per_row, id % per_row * elements)), &held.words[n * words]);
      }
    }
  }

 private:
  __device__ static u32 bits_of(f16 value) { return value.bits; }
  __device__ static u32 bits_of(bf16 value) { return value.bits; }
  __device__ static u32 bits_of(float value) { return __float_as_uint(value); }

  /// The granule's elements one by one.
  __device__ static void gather(u32* words_of, const S& source, bool row_exists, unsigned long long from, int first,
                                E other) {
#pragma unroll
    for (int w = 0; w < words; ++w) words_of[w] = 0;
#pragma unroll
    for (int e = 0; e < elements; ++e) {
      const int position = first + e;
      E value = other;
      if (row_exists && position < B::inner && source.inner().admits(position)) {
        value = S::read(from + static_cast<unsigned long long>(source.inner().offset(position)) * ES);
      }
      words_of[e * ES / 4] |= bits_of(value) << (e * ES % 4 * 8);
    }
  }

  /// 16 bytes from any even address: two aligned loads and a shift, where both lie inside of the row's valid elements.
  __device__ static void realign(u32* words_of, const S& source, bool row_exists, unsigned long long from,
                                 unsigned long long at, tile::Span span, int first, E other) {
    const int shift = static_cast<int>(at & 15);  // bytes past an aligned address
    const int begin = first * ES - shift, end = begin + (shift == 0 ? 16 : 32);
    if (row_exists && begin >= span.first * ES && end <= span.last * ES) {
      const uint4* const aligned = reinterpret_cast<const uint4*>(at - static_cast<unsigned>(shift));
      const uint4 low = aligned[0];
      uint4 high = low;
      if (shift != 0) high = aligned[1];
      // Words first, halves then: `in[i + shift / 4]` by two choices, since registers have no addresses.
      u32 in[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      if ((shift & 8) != 0) {
#pragma unroll
        for (int i = 0; i < 6; ++i) in[i] = in[i + 2];
      }
      if ((shift & 4) != 0) {
#pragma unroll
        for (int i = 0; i < 5; ++i) in[i] = in[i + 1];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) words_of[i] = ptx::funnel(in[i], in[i + 1], (static_cast<u32>(shift) & 2u) * 8u);
    } else {
      gather(words_of, source, row_exists, from, first, other);
    }
  }

  __device__ static void write(u32 to, const u32* values) {
    if constexpr (granule == 16) {
      ptx::store_shared(to, uint4{values[0], values[1], values[2], values[3]});
    } else if constexpr (granule == 8) {
      ptx::store_shared(to, uint2{values[0], values[1]});
    } else {
      ptx::store_shared(to, values[0]);
    }
  }
};

}  // namespace tilewright::cuda
