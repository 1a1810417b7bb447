// Movers: a strided, masked block of global memory into a block of shared memory, carried by all threads of a program.
//
// A mover works in two steps, so that a pipeline can put arithmetic between them: `fetch` issues the reads, `settle`
// brings what arrived into its final place. Nothing is read where the mask is false; those places become the load's
// `other`. Which mover a load takes is the launcher's promise, a Move; where a load's own type or value rules it out
// (an index that is not affine along the adjacent axis, an `other` that is not zero), elements are moved one by one.
//
//   async_copy  chunks go straight to their swizzled places, by cp.async.
//   realign     fetch: the aligned 16-byte chunks that hold a row's elements, as they are, to a raw area, by cp.async;
//               a chunk is read up to the row's last element, and from up to 14 bytes before its first, never further.
//               settle: each 16 bytes of the block are cut out of two neighbouring chunks. A block that wgmma takes
//               from registers is not settled (Raw).
//   gather      element by element, through registers.
//
// tma is no matter of these threads: roles.hpp. A load outside of a pipeline that was to take it is gathered.
#pragma once

#include <tilewright/tile/cuda/source.hpp>
#include <tilewright/tile/cuda/staged.hpp>

namespace tilewright::cuda {

/// A realigned block that stays as it arrived.
template <class T, int R, int N, int Axis, class Work>
struct Raw : Unshifted<T, R, N, Axis, Work, RawLayout<Block<R, N, element_bytes<T>, Axis>>> {};

/// How the threads of a program share a block's granules: a grid of them, `across` along a row and `down` rows, that is
/// laid over the block several times. across is 0 where the numbers do not divide.
struct Shares {
  int across, down;
};
/// Eight rows apart, the swizzle is the same, so a thread's places in shared memory are a constant apart.
constexpr Shares shares_of(int threads, int per_row) {
  if (threads % per_row == 0 && threads / per_row % 8 == 0) return {per_row, threads / per_row};
  if (threads % 8 == 0 && per_row % (threads / 8) == 0) return {threads / 8, 8};
  if (threads % per_row == 0) return {per_row, threads / per_row};
  return {0, 0};
}

template <class L, Move How, int Threads>
class Mover {
  using E = typename L::element;
  static constexpr int ES = element_bytes<E>;
  static constexpr int axis = How.axis;
  using B = BlockOf<L, axis>;
  static constexpr bool unit = Source<L, axis>::Inner::affine && B::inner * ES % 16 == 0;
  static constexpr Via via = unit && How.via != Via::tma && How.via != Via::classes ? How.via : Via::gather;
  using S = Source<L, axis, via != Via::gather>;
  // What one thread moves at a time: bytes, elements, how many a row, how many a thread.
  static constexpr int granule = via == Via::async_copy ? How.bytes : via == Via::realign ? 16 : 4;
  static constexpr int elements = granule / ES;
  static constexpr int per_row = (B::inner + elements - 1) / elements;
  static constexpr int count = (B::outer * per_row + Threads - 1) / Threads;
  static constexpr int words = granule / 4;
  static constexpr bool whole = B::outer * per_row % Threads == 0;  // no thread without a granule
  static constexpr Shares shares = shares_of(Threads, per_row);
  static constexpr bool regular = S::Outer::affine && shares.across > 0;
  static constexpr int rows_each = regular ? (B::outer + shares.down - 1) / shares.down : 0;
  static constexpr int cols_each = regular ? per_row / shares.across : 0;
  // A raw row has one chunk more than it has granules: its last elements, where the first one starts inside of a chunk.
  // A warp copies whole rows, so that each is as few requests of the L2 as can be; of long ones, what comes.
  static constexpr int row_chunks = per_row + 1, warp_rows = 32 / row_chunks;
  static constexpr bool by_rows = warp_rows >= 2;
  static constexpr int raw_each = by_rows ? (B::outer + warp_rows * (Threads / 32) - 1) / (warp_rows * (Threads / 32))
                                          : (B::outer * row_chunks + Threads - 1) / Threads;
  static constexpr bool direct = via == Via::async_copy && regular, raw = via == Via::realign && S::Outer::affine;
  static constexpr int kept = direct ? 1 : raw ? raw_each : 0;
  static constexpr bool walks = walks_along<typename S::Outer>;  // the pipeline's steps, from row to row

 public:
  using Block = B;
  static constexpr bool settles = via == Via::realign;

  /// What this thread would compute again for every step of a pipeline: the bytes from the block's position (0, 0) to
  /// the thread's granules, their places in shared memory, and which rows exist.
  class Places {
   public:
    __device__ explicit Places(const L& load) { find(load); }
    /// The steps of a pipeline walk along one axis and keep strides and the other axis, as the compiler sees; a kernel
    /// need not.
    __device__ void follow(const L& load) {
      if constexpr (kept > 0) {
        const S source(load);
        if (source.outer().stride() != stride_ || (!walks && source.outer().first() != origin_)) find(load);
      }
    }
    /// The address that the offsets count from.
    __device__ unsigned long long begin(const S& source) const { return walks ? source.base : source.row_base; }
    /// Rows that exist in a step's block: if they follow from the same numbers, those of the first.
    __device__ tile::Span rows(const S& source) const {
      if constexpr (kept > 0) {
        if (source.outer().limits() == limits_) return {static_cast<int>(first_), static_cast<int>(last_)};
      }
      return rows_of(source);
    }
    unsigned long long offsets[kept > 0 ? kept : 1];
    u32 places[kept > 0 ? kept : 1];

   private:
    __device__ void find(const L& load) {
      if constexpr (kept > 0) {
        const S source(load);
        stride_ = source.outer().stride();
        origin_ = source.outer().first();
        limits_ = source.outer().limits();
        const tile::Span rows = rows_of(source);
        first_ = static_cast<u32>(rows.first), last_ = static_cast<u32>(rows.last);
        ptx::keep(first_);
        ptx::keep(last_);
        const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
        for (int n = 0; n < kept; ++n) {
          const RawChunk own = raw_chunk(n);
          const int row = direct ? thread / shares.across : own.row;
          const int chunk = direct ? thread % shares.across : own.chunk;
          offsets[n] = source.row_bytes(row) + static_cast<unsigned>(chunk * granule) +
                       (walks ? 0 : source.base - source.row_base);
          places[n] = static_cast<u32>(direct ? B::offset(row, chunk * elements) : row * raw_pitch<B> + chunk * 16);
          ptx::keep(offsets[n]);
          ptx::keep(places[n]);
        }
      }
    }
    i64 stride_ = 0, origin_ = 0;
    Limits limits_{};
    u32 first_ = 0, last_ = 0;
  };

  /// Issues the reads of a block that is to arrive at `slot`.
  __device__ static void fetch(const L& load, const Places& places, u32 slot) {
    const S source(load);
    if constexpr (via == Via::gather) {
      const E other = ptx::round_to<E>(load.other);
#pragma unroll 4
      for (int id = static_cast<int>(threadIdx.x); id < B::outer * per_row; id += Threads) {
        const int row = id / per_row, first = id % per_row * elements;
        u32 values[words];
        gather(values, source, source.outer().admits(row), source.row_address(row), first, other);
        write(slot + static_cast<u32>(B::offset(row, first)), values);
      }
    } else if constexpr (via == Via::async_copy) {
      copy(load, source, places, slot);
    } else {
      copy_raw(load, source, places, slot);
    }
  }

  /// From the raw area at `slot`, all of which has arrived, to the block's place.
  __device__ static void settle(const L& load, u32 slot, u32 block) {
    if constexpr (settles) {
      const S source(load);
      each_granule([&](int row, int first) {
        const auto from = static_cast<u32>(source.row_address(row));
        const u32 chunk = slot + static_cast<u32>(row * raw_pitch<B> + first * ES) + (from & 16u);
        u32 result[4];
        cut(result, ptx::load_shared_chunk(chunk), ptx::load_shared_chunk(chunk + 16), from & 15u);
        write(block + static_cast<u32>(B::offset(row, first)), result);
      });
    }
  }

  /// The raw area at `slot` as a block that stays there.
  template <class Work>
  __device__ static auto left_raw(const L& load, u32 slot, Work* work) {
    const S source(load);
    return Raw<E, L::rows, L::cols, axis, Work>{
        {slot, {static_cast<u32>(source.base), static_cast<u32>(source.row_bytes(1))}, work}};
  }

 private:
  struct RawChunk {
    int row, chunk;
    bool exists;
  };
  /// This thread's n-th chunk of a raw area.
  __device__ static RawChunk raw_chunk(int n) {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (by_rows) {
      const int row = (n * (Threads / 32) + thread / 32) * warp_rows + thread % 32 / row_chunks;
      return {row, thread % 32 % row_chunks, thread % 32 < warp_rows * row_chunks && row < B::outer};
    } else {
      const int id = thread + n * Threads;
      return {id / row_chunks, id % row_chunks, id < B::outer * row_chunks};
    }
  }

  /// function(row, first position) for this thread's granules.
  template <class F>
  __device__ static void each_granule(F function) {
#pragma unroll
    for (int n = 0; n < count; ++n) {
      const int id = static_cast<int>(threadIdx.x) + n * Threads;
      if (!whole && id >= B::outer * per_row) break;
      function(id / per_row, id % per_row * elements);
    }
  }

  /// function(row, first position, address of the row's position 0) for the same, not unrolled: for what happens
  /// seldom.
  template <class F>
  __device__ static void each_granule_in_turn(const S& source, F function) {
#pragma unroll 1
    for (int id = static_cast<int>(threadIdx.x); id < B::outer * per_row; id += Threads) {
      function(id / per_row, id % per_row * elements, source.row_address(id / per_row));
    }
  }

  /// function(row, first position, address, place) for this thread's granules of a block that is shared in a grid.
  /// Loop: in a loop that stays one. Of two ways of copying that are both unrolled, the compiler makes one under
  /// predicates, and a copy whose predicate is false takes as long as one that is made.
  template <bool Loop = false, class F>
  __device__ static void each_direct(const S& source, const Places& places, u32 slot, F function) {
    const int row = static_cast<int>(threadIdx.x) / shares.across;
    const int first = static_cast<int>(threadIdx.x) % shares.across * elements;
    const unsigned long long step = source.row_bytes(shares.down);
    unsigned long long from = places.begin(source) + places.offsets[0];
    constexpr int bytes = shares.across * granule;  // from one column of the grid to the next
    constexpr bool constant = shares.down % 8 == 0 && (cols_each == 1 || bytes % B::pitch == 0);
    int turns = rows_each;
    if constexpr (Loop) ptx::hide(turns);
#pragma unroll(Loop ? 1 : rows_each)
    for (int i = 0; i < turns; ++i, from += step) {
      if (B::outer % shares.down != 0 && row + i * shares.down >= B::outer) break;
#pragma unroll
      for (int j = 0; j < cols_each; ++j) {
        const int position = first + j * shares.across * elements;
        const u32 place =
            constant
                ? places.places[0] + static_cast<u32>(i * shares.down * B::pitch + j * (bytes / B::pitch) * B::panel)
                : static_cast<u32>(B::offset(row + i * shares.down, position));
        function(row + i * shares.down, position, from + static_cast<unsigned>(j * bytes), slot + place);
      }
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

  /// Most blocks lie inside of the matrix, which one comparison for all threads tells. Where only rows are missing, as
  /// in a product of few rows, that is all that is asked. At the end of the rows, each granule is asked for as many
  /// bytes as exist. The rest is seldom: rows that begin inside of the block, or are not filled with zeros.
  __device__ static void copy(const L& load, const S& source, const Places& places, u32 slot) {
    if constexpr (direct) {
      if (source.inner().covers(0) && load.other == 0.0f) {
        if (source.outer().covers(0)) {
          each_direct(source, places, slot, [](int, int, unsigned long long at, u32 to) {
            ptx::async_copy<granule>(to, reinterpret_cast<const void*>(at));
          });
        } else {
          const tile::Span rows = places.rows(source);
          each_direct<true>(source, places, slot, [&](int row, int, unsigned long long at, u32 to) {
            ptx::async_copy_if<granule>(row_exists(source, rows, row), to, reinterpret_cast<const void*>(at));
          });
        }
        return;
      }
    }
    const tile::Span span = source.inner().span(), rows = rows_of(source);
    const E other = ptx::round_to<E>(load.other);
    each_granule_in_turn(source, [&](int row, int first, unsigned long long from) {
      const u32 to = slot + static_cast<u32>(B::offset(row, first));
      const int left = (span.last - first) * ES;  // bytes up to the end of the row
      const bool exists = row_exists(source, rows, row);
      if ((span.first > first && left > 0) || !(load.other == 0.0f)) {
        // A granule that does not begin at its first element, or is not filled with zeros.
        put_elements(to, source, exists, from, first, other);
      } else {
        const int bytes = !exists || left < 0 ? 0 : left < granule ? left : granule;
        const unsigned long long at = from + static_cast<unsigned>(first * ES);
        ptx::async_copy_part<granule>(to, bytes > 0 ? reinterpret_cast<const void*>(at) : load.pointers.root, bytes);
      }
    });
  }

  /// Neighbouring threads take neighbouring chunks, so that a row is few transactions.
  __device__ static void copy_raw(const L& load, const S& source, const Places& places, u32 slot) {
    if constexpr (raw) {
      // One chunk more exists: so a row's last chunk need not be asked whether it holds anything.
      if (source.inner().covers(16 / ES) && load.other == 0.0f) {
        const tile::Span rows = source.outer().covers(0) ? tile::Span{0, B::outer} : places.rows(source);
        const unsigned long long begin = places.begin(source);
#pragma unroll
        for (int n = 0; n < raw_each; ++n) {
          const RawChunk own = raw_chunk(n);
          if (!own.exists) break;
          // A chunk's place in its sector is kept: places are counted from a sector's beginning.
          const unsigned long long at = begin + places.offsets[n];
          const u32 sector = (static_cast<u32>(at) ^ places.places[n]) & 16u;
          ptx::async_copy_if<16>(row_exists(source, rows, own.row), slot + places.places[n] + sector,
                                 reinterpret_cast<const void*>(at & ~15ull));
        }
        return;
      }
    }
    const tile::Span span = source.inner().span(), rows = rows_of(source);
    if (span.first > 0 || !(load.other == 0.0f)) {
      const E other = ptx::round_to<E>(load.other);
      each_granule_in_turn(source, [&](int row, int first, unsigned long long from) {
        put_elements(slot + static_cast<u32>(row * raw_pitch<B> + first * ES) + (static_cast<u32>(from) & 31u), source,
                     row_exists(source, rows, row), from, first, other);
      });
      return;
    }
#pragma unroll 1
    for (int id = static_cast<int>(threadIdx.x); id < B::outer * row_chunks; id += Threads) {
      const int row = id / row_chunks, chunk = id % row_chunks;
      const unsigned long long from = source.row_address(row);
      // The chunk's bytes, counted from the row's position 0; it is read up to the end of the row.
      const int left = span.last * ES - chunk * 16 + static_cast<int>(from & 15);
      const bool needed = left > 0 && row_exists(source, rows, row);
      ptx::async_copy_part<16>(
          slot + static_cast<u32>(row * raw_pitch<B> + chunk * 16) + (static_cast<u32>(from) & 16u),
          needed ? reinterpret_cast<const void*>((from & ~15ull) + static_cast<unsigned>(chunk * 16))
                 : load.pointers.root,
          !needed     ? 0
          : left < 16 ? left
                      : 16);
    }
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
