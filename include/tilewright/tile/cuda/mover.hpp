// Movers: a strided, masked block of global memory into a block of shared memory, carried by all threads of a program.
//
// A mover works in steps, so that a pipeline can put arithmetic between them: `fetch` issues the reads (cp.async, or
// loads into registers), `put` writes what registers hold, `settle` brings what arrived into its final place. Nothing
// is read where the mask is false; those places become the load's `other`. Which mover a load takes is the launcher's
// promise, a Move; where a load's own type or value rules it out (an index that is not affine along the adjacent axis,
// an `other` that is not zero), elements are gathered one by one.
//
//   async_copy  fetch: chunks go straight to their swizzled places.
//   realign     fetch: the aligned 16-byte chunks that hold a row's elements, as they are, to a raw area; a chunk is
//               read up to the row's last element, and from up to 14 bytes before its first, never further. settle:
//               each 16 bytes of the block are cut out of two neighbouring chunks.
//   gather      fetch: elements to registers; put: registers to shared memory.
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
  __device__ bool covers(int) const { return true; }
};
template <int A, class I, class B>
struct AxisOf<tile::Term<A, I>, B> {
  static constexpr bool affine = I::affine;
  const tile::Term<A, I>& term;
  const B& bound;
  __device__ AxisOf(const tile::Term<A, I>& t, const B& b) : term(t), bound(b) {}
  /// Elements to position 0 of an affine axis, and from there to a position.
  __device__ i64 origin() const {
    if constexpr (affine) {
      return term.index.at(0) * term.stride;
    } else {
      return 0;
    }
  }
  __device__ i64 offset(int position) const {
    if constexpr (affine) {
      return position * term.stride;
    } else {
      return term.index.at(position) * term.stride;
    }
  }
  __device__ bool admits(int position) const { return tile::detail::admits(bound, position); }
  __device__ tile::Span span() const {
    if constexpr (B::present) {
      return bound.span();
    } else {
      return {0, I::size};
    }
  }
  __device__ i64 stride() const { return term.stride; }
  /// Whether the bound admits every position, and `more` past the last.
  __device__ bool covers(int more) const {
    if constexpr (!affine || !tile::detail::has_limits<B>) {
      return B::present && affine;  // a promise
    } else {
      const i64 first = bound.index.at(0);
      return bound.low <= first && first + I::size + more <= bound.high;
    }
  }
};

template <bool First, class A, class B>
struct Pick {
  using type = A;
};
template <class A, class B>
struct Pick<false, A, B> {
  using type = B;
};

/// A load seen from its block: rows of adjacent positions. Unit: they are adjacent in memory as well.
template <class L, int Axis, bool Unit = false>
struct Source {
  using E = typename L::element;
  using P = decltype(L::pointers);
  using M = decltype(L::mask);
  using Rows = AxisOf<tile::plain<decltype(P::row_term)>, tile::plain<decltype(M::rows)>>;
  using Cols = AxisOf<tile::plain<decltype(P::col_term)>, tile::plain<decltype(M::cols)>>;
  using Inner = typename Pick<Axis == 1, Cols, Rows>::type;
  using Outer = typename Pick<Axis == 1, Rows, Cols>::type;
  Rows rows;
  Cols cols;
  unsigned long long base;  // the address of position (0, 0); integers, since it may lie outside of any object

  __device__ explicit Source(const L& load)
      : rows(load.pointers.row_term, load.mask.rows),
        cols(load.pointers.col_term, load.mask.cols),
        base(reinterpret_cast<unsigned long long>(load.pointers.root) +
             static_cast<unsigned long long>(load.pointers.offset + outer().origin() + inner_origin()) * sizeof(E)) {}

  __device__ i64 inner_origin() const {
    if constexpr (Unit) {
      return inner().term.index.at(0);
    } else {
      return inner().origin();
    }
  }
  __device__ const Outer& outer() const {
    if constexpr (Axis == 1) {
      return rows;
    } else {
      return cols;
    }
  }
  __device__ const Inner& inner() const {
    if constexpr (Axis == 1) {
      return cols;
    } else {
      return rows;
    }
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
  using B = BlockOf<L, axis>;
  static constexpr bool unit = Source<L, axis>::Inner::affine && B::inner * ES % 16 == 0;
  static constexpr Via via = unit ? How.via : Via::gather;
  using S = Source<L, axis, via != Via::gather>;
  // What one thread moves at a time: bytes, elements, how many a row, how many a thread.
  static constexpr int granule = via == Via::async_copy ? How.bytes : via == Via::realign ? 16 : 4;
  static constexpr int elements = granule / ES;
  static constexpr int per_row = (B::inner + elements - 1) / elements;
  static constexpr int count = (B::outer * per_row + Threads - 1) / Threads;
  static constexpr int words = granule / 4;
  static constexpr bool whole = B::outer * per_row % Threads == 0;  // no thread without a granule

 public:
  using Block = B;
  using Registers = Held<via == Via::gather ? count * words : 0>;
  static constexpr bool settles = via == Via::realign;

  /// Issues the reads of a block that is to arrive at `slot`.
  __device__ static Registers fetch(const L& load, u32 slot) {
    const S source(load);
    Registers held;
    if constexpr (via == Via::gather) {
      const E other = ptx::round_to<E>(load.other);
      each_granule(source, [&](int n, int row, int first, unsigned long long from) {
        gather(&held.words[n * words], source, source.outer().admits(row), from, first, other);
      });
    } else if constexpr (via == Via::async_copy) {
      copy(load, source, slot);
    } else {
      copy_raw(load, source, slot);
    }
    return held;
  }

  __device__ static void put(const Registers& held, u32 slot) {
    if constexpr (via == Via::gather) {
#pragma unroll
      for (int n = 0; n < count; ++n) {
        const int id = static_cast<int>(threadIdx.x) + n * Threads;
        if (!whole && id >= B::outer * per_row) break;
        write(slot + static_cast<u32>(B::offset(id / per_row, id % per_row * elements)), &held.words[n * words]);
      }
    }
  }

  /// From the raw area at `slot`, all of which has arrived, to the block's place.
  __device__ static void settle(const L& load, u32 slot, u32 block) {
    if constexpr (settles) {
      const S source(load);
      const tile::Span span = source.inner().span();
      const E other = ptx::round_to<E>(load.other);
      each_granule(source, [&](int, int row, int first, unsigned long long from) {
        const u32 shift = static_cast<u32>(from) & 15u;  // bytes of the row's first element past an aligned address
        const u32 chunk = slot + static_cast<u32>(row * raw_pitch<B> + first * ES);
        const u32 to = block + static_cast<u32>(B::offset(row, first));
        if (!(load.other == 0.0f)) {
          put_elements(to, source, source.outer().admits(row), from, first, other);
          return;
        }
        u32 result[4];
        cut(result, ptx::load_shared_chunk(chunk), ptx::load_shared_chunk(chunk + 16), shift);
        if (span.first > first) clear_before(result, span.first - first);
        write(to, result);
      });
    }
  }

 private:
  /// function(n, row, first position, address of the row's position 0) for this thread's granules. Where the threads
  /// are a multiple of a row's granules, a thread keeps its place in the row and goes down by whole rows.
  template <class F>
  __device__ static void each_granule(const S& source, F function) {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (Threads % per_row == 0 && S::Outer::affine) {
      constexpr int down = Threads / per_row;
      const int row = thread / per_row, first = thread % per_row * elements;
      unsigned long long from = source.row_address(row);
      const auto step = static_cast<unsigned long long>(source.outer().offset(down)) * ES;
#pragma unroll
      for (int n = 0; n < count; ++n, from += step) {
        if (!whole && row + n * down >= B::outer) break;
        function(n, row + n * down, first, from);
      }
    } else {
#pragma unroll
      for (int n = 0; n < count; ++n) {
        const int id = thread + n * Threads;
        if (!whole && id >= B::outer * per_row) break;
        function(n, id / per_row, id % per_row * elements, source.row_address(id / per_row));
      }
    }
  }

  /// The same, not unrolled and without n: for what happens at a matrix's edges.
  template <class F>
  __device__ static void each_granule_in_turn(const S& source, F function) {
#pragma unroll 1
    for (int id = static_cast<int>(threadIdx.x); id < B::outer * per_row; id += Threads) {
      function(id / per_row, id % per_row * elements, source.row_address(id / per_row));
    }
  }

  __device__ static bool row_exists(const S& source, const tile::Span& rows, int row) {
    if constexpr (S::Outer::affine) {
      return row >= rows.first && row < rows.last;
    } else {
      return source.outer().admits(row);
    }
  }
  __device__ static tile::Span rows_of(const S& source) {
    if constexpr (S::Outer::affine) {
      return source.outer().span();
    } else {
      return {0, 0};
    }
  }

  /// Most blocks lie inside of the matrix, which one comparison for all threads tells; the others ask for every
  /// granule.
  __device__ static void copy(const L& load, const S& source, u32 slot) {
    if (source.outer().covers(0) && source.inner().covers(0)) {
      each_granule(source, [&](int, int row, int first, unsigned long long from) {
        ptx::async_copy<granule>(slot + static_cast<u32>(B::offset(row, first)),
                                 reinterpret_cast<const void*>(from + static_cast<unsigned>(first * ES)));
      });
      return;
    }
    const tile::Span span = source.inner().span(), rows = rows_of(source);
    const E other = ptx::round_to<E>(load.other);
    each_granule_in_turn(source, [&](int row, int first, unsigned long long from) {
      const u32 to = slot + static_cast<u32>(B::offset(row, first));
      const unsigned long long at = from + static_cast<unsigned>(first * ES);
      const int left = (span.last - first) * ES;  // bytes up to the end of the row
      const bool exists = row_exists(source, rows, row);
      if ((span.first > first && left > 0) || !(load.other == 0.0f)) {
        // A granule that does not begin at its first element, or is not filled with zeros.
        put_elements(to, source, exists, from, first, other);
      } else {
        const int bytes = !exists || left < 0 ? 0 : left < granule ? left : granule;
        ptx::async_copy_part<granule>(to, bytes > 0 ? reinterpret_cast<const void*>(at) : load.pointers.root, bytes);
      }
    });
  }

  /// A row has one chunk more than it has granules: its last elements, where the first one starts inside of a chunk.
  /// Neighbouring threads take neighbouring chunks, so that a row is few transactions.
  __device__ static void copy_raw(const L& load, const S& source, u32 slot) {
    if (!(load.other == 0.0f)) return;  // settle gathers
    constexpr int row_chunks = per_row + 1, all = B::outer * row_chunks;
    const auto each_chunk = [&](auto function) {
#pragma unroll
      for (int n = 0; n < (all + Threads - 1) / Threads; ++n) {
        const int id = static_cast<int>(threadIdx.x) + n * Threads, row = id / row_chunks, chunk = id % row_chunks;
        if (all % Threads != 0 && id >= all) break;
        const unsigned long long from = source.row_address(row);
        function(row, chunk, from, slot + static_cast<u32>(row * raw_pitch<B> + chunk * 16),
                 reinterpret_cast<const void*>((from & ~15ull) + static_cast<unsigned>(chunk * 16)));
      }
    };
    if (source.outer().covers(0) && source.inner().covers(16 / ES - 1)) {
      each_chunk([](int, int chunk, unsigned long long from, u32 to, const void* at) {
        if (chunk < per_row || (from & 15) != 0) ptx::async_copy<16>(to, at);
      });
      return;
    }
    const tile::Span span = source.inner().span(), rows = rows_of(source);
    each_chunk([&](int row, int chunk, unsigned long long from, u32 to, const void* at) {
      // The chunk's bytes, counted from the row's position 0; it is read up to the end of the row.
      const int begin = chunk * 16 - static_cast<int>(from & 15), left = span.last * ES - begin;
      const bool needed = left > 0 && begin + 16 > span.first * ES && row_exists(source, rows, row);
      ptx::async_copy_part<16>(to, needed ? at : load.pointers.root, !needed ? 0 : left < 16 ? left : 16);
    });
  }

  /// 16 bytes from byte `shift` (even) of 32 on. Registers have no addresses, so words move by two choices, then
  /// halves.
  __device__ static void cut(u32 (&to)[4], const uint4& low, const uint4& high, u32 shift) {
    u32 in[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    const bool eight = (shift & 8u) != 0, four = (shift & 4u) != 0;
#pragma unroll
    for (int i = 0; i < 6; ++i) in[i] = eight ? in[i + 2] : in[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) in[i] = four ? in[i + 1] : in[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = ptx::funnel(in[i], in[i + 1], (shift & 2u) * 8u);
  }

  __device__ static u32 bits_of(f16 value) { return value.bits; }
  __device__ static u32 bits_of(bf16 value) { return value.bits; }
  __device__ static u32 bits_of(float value) { return __float_as_uint(value); }

  /// A granule's elements one by one.
  __device__ static void gather(u32* to, const S& source, bool exists, unsigned long long from, int first, E other) {
#pragma unroll
    for (int w = 0; w < words; ++w) to[w] = 0;
#pragma unroll
    for (int e = 0; e < elements; ++e) {
      const int position = first + e;
      E value = other;
      if (exists && position < B::inner && source.inner().admits(position)) {
        value = S::read(from + static_cast<unsigned long long>(source.inner().offset(position)) * ES);
      }
      to[e * ES / 4] |= bits_of(value) << (e * ES % 4 * 8);
    }
  }

  /// The same, straight to shared memory, in few instructions: for what happens seldom.
  __device__ static void put_elements(u32 to, const S& source, bool exists, unsigned long long from, int first,
                                      E other) {
#pragma unroll 1
    for (int e = 0; e < elements; ++e) {
      E value = other;
      if (exists && first + e < B::inner && source.inner().admits(first + e)) {
        value = S::read(from + static_cast<unsigned>((first + e) * ES));
      }
      if constexpr (ES == 4) {
        ptx::store_shared(to + static_cast<u32>(e) * 4u, value);
      } else {
        ptx::store_shared(to + static_cast<u32>(e) * 2u, value.bits);
      }
    }
  }
  /// Zeros in the first `count` elements of 16 bytes: what lies in front of a row in its first chunk is not the row's.
  __device__ static void clear_before(u32 (&chunk)[4], int count) {
#pragma unroll
    for (int e = 0; e < elements; ++e) {
      if (e < count) chunk[e * ES / 4] &= ES == 4 ? 0u : e % 2 == 0 ? 0xffff0000u : 0x0000ffffu;
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
