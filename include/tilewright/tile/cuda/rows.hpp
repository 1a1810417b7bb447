// The left operand of a product as it lies in memory, for kernels in roles (roles.hpp): wgmma takes it from registers,
// where threads pick its elements, so rows may begin anywhere. The producer's threads copy the aligned chunks of 16
// bytes that hold its elements: up to 14 bytes in front of a row's first element and behind its last, which share a
// chunk with them, what lies between if every second element is wanted, and nothing else is read. What does not exist along K is zeros, but for what shares a chunk with
// elements that do, which those who multiply clear. What does not exist along M is anything: no sum that is stored
// reads it.
#pragma once

#include <tilewright/tile/cuda/source.hpp>
#include <tilewright/tile/cuda/staged.hpp>

namespace tilewright::cuda {

/// A block of such rows, of which so many exist at least.
template <class T, int R, int N, int Axis, class Work, int Step>
struct Rows : Unshifted<T, R, N, Axis, Work, SteppedRowsLayout<T, R, N, Axis, Step>, Step> {
  /// Small blocks are those of products with few rows: the others' elements are not worth the time.
  static constexpr bool few = Axis == 1 && R == 64;
  int existing;
};

/// Copies blocks of rows, one step of K after the other, by Threads threads. Eight neighbours have a line of 128 bytes
/// of memory, of which they copy the chunks that are needed: each warp's copy is of four lines, and the fewest
/// requests. Of rows of which every Step-th element is wanted, what lies between comes as well.
template <class L, int Axis, int Step, int Threads>
class RowsCopy {
  using B = BlockOf<L, Axis>;
  using S = Source<L, Axis, Step == 1>;
  using Layout = SteppedRowsLayout<typename L::element, L::rows, L::cols, Axis, Step>;
  static constexpr int es = element_bytes<typename L::element>;
  static constexpr int down = Threads / 8, each = B::outer / down;       // rows at once, and a thread's own
  static constexpr int lines = (112 + Layout::chunks * 16 + 127) / 128;  // of a row that begins anywhere
  static_assert(B::inner * es % 128 == 0 && each * lines <= 32 && B::outer % down == 0,
                "cuda: steps keep the places of rows in lines");

 public:
  /// thread: of those that copy. load: the first step's.
  __device__ RowsCopy(const L& load, int thread) : thread_(thread) {
    const S source(load);
    const Layout layout = layout_of(source);
    const tile::Span rows = source.outer().span(), span = source.inner().span();
    near_ = source.row_bytes(B::outer) >> 32 == 0;
    ptx::hide(thread);  // what follows from it is not worth registers from program to program
    const int own = thread % 8;
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int row = thread / 8 + i * down;
      const bool exists = Axis == 0 || row < rows.last;
      const unsigned long long from = source.row_address(row);
      const int first = static_cast<int>(from & 127u) / 16;  // chunk of its line
      const int last = first + (reach(Axis == 1 ? B::inner : span.last) - 1 + static_cast<int>(from & 15u)) / 16;
      offsets_[i] = static_cast<u32>((from & ~127ull) - begin(source)) + static_cast<u32>(own * 16);
      places_[i] = (layout.start(row) & ~15u) + static_cast<u32>((own - first) * 16);
#pragma unroll
      for (int line = 0; line < lines; ++line) {
        const int chunk = line * 8 + own;
        needed_ |= static_cast<u32>(exists && first <= chunk && chunk <= last) << (i * lines + line);
      }
    }
  }

  /// Issues the copies of a step's block, which is to arrive at `slot`.
  __device__ void fetch(const L& load, u32 slot) {
    const S source(load);
    const u32 walked = slot - slot_;  // places walk with the slots
    slot_ = slot;
#pragma unroll
    for (int i = 0; i < each; ++i) ptx::advance(places_[i], walked);
    if (near_ && (Axis == 1 ? source.inner().covers(0) : source.outer().covers(0))) {
#pragma unroll
      for (int i = 0; i < each; ++i) {
#pragma unroll
        for (int line = 0; line < lines; ++line) {
          ptx::async_copy_needed(
              (needed_ >> (i * lines + line) & 1) != 0, places_[i] + static_cast<u32>(line * 128),
              reinterpret_cast<const void*>(begin(source) + offsets_[i] + static_cast<u32>(line * 128)));
        }
      }
      return;
    }
    const Layout layout = layout_of(source);
    const tile::Span span = source.inner().span(), rows = source.outer().span();
    int id = thread_;
    ptx::hide(id);  // what follows from it, for once, is not worth a register in every step
#pragma unroll 1
    for (; id < B::outer * Layout::chunks; id += Threads) {
      const int row = id / Layout::chunks, chunk = id % Layout::chunks;
      const unsigned long long from = source.row_address(row);
      // Bytes from the chunk's beginning to the row's first element and to its end.
      const int skipped = chunk * 16 - static_cast<int>(from & 15u);
      const int before = span.first * Step * es - skipped, left = reach(span.last) - skipped;
      const bool needed = left > 0 && before < 16 && row >= rows.first && row < rows.last;
      ptx::async_copy_part<16>(slot + (layout.start(row) & ~15u) + static_cast<u32>(chunk * 16),
                               needed
                                   ? reinterpret_cast<const void*>((from & ~15ull) + static_cast<unsigned>(chunk * 16))
                                   : load.pointers.root,
                               !needed     ? 0
                               : left < 16 ? left
                                           : 16);
    }
  }
  template <class Work>
  __device__ static auto view(const L& load, u32 slot, Work* work) {
    using Block = Rows<typename L::element, L::rows, L::cols, Axis, Work, Step>;
    const S source(load);
    return Block{{slot, layout_of(source), work}, Block::few ? source.outer().span().last : L::rows};
  }

 private:
  /// Bytes from a row's beginning to behind so many of its elements.
  __device__ static int reach(int elements) { return ((elements - 1) * Step + 1) * es; }
  __device__ static Layout layout_of(const S& source) {
    return {static_cast<u32>(source.base), static_cast<u32>(source.row_bytes(1))};
  }
  /// Lines before it hold nothing that is needed.
  __device__ static unsigned long long begin(const S& source) { return source.base & ~127ull; }

  int thread_;
  bool near_;                         // all chunks are less than 4 GiB from the block's beginning
  u32 offsets_[each], places_[each];  // of a row's first line
  u32 needed_ = 0;                    // a bit for each line of each row
  u32 slot_ = 0;
};

}  // namespace tilewright::cuda
