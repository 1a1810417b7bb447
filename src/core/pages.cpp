#include "core/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>

namespace tilewright::core {
namespace {

// Pages of 2 MiB are not asked for: where the system had to make room for them first, a run took more than twice as
// long as without any of this.
constexpr i64 piece_bytes = i64{16} << 20;
// Below this, starting a thread costs what it saves.
constexpr i64 fewest_bytes = i64{1} << 20;
// Clearing pages is limited by memory, which a few threads use up.
constexpr unsigned most_threads = 4;

/// The whole units within a range of memory.
struct Within {
  std::byte* begin;
  std::size_t bytes;
  Within(std::byte* from, i64 size, i64 unit) {
    const auto first = reinterpret_cast<std::uintptr_t>(from), end = first + static_cast<std::uintptr_t>(size);
    const auto whole = static_cast<std::uintptr_t>(unit);
    const std::uintptr_t low = (first + whole - 1) / whole * whole, high = end / whole * whole;
    begin = from + (low - first);
    bytes = high > low ? high - low : 0;
  }
};

}  // namespace

PagesAhead::PagesAhead(std::byte* begin, i64 bytes) : begin_(begin), bytes_(bytes) {
  if (bytes < fewest_bytes) return;
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, most_threads);
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back(&PagesAhead::take, this);
  } catch (const std::system_error&) {  // fewer take them
  }
}

PagesAhead::~PagesAhead() {
  next_ = std::numeric_limits<i64>::max() / 2;
  wait();
}

void PagesAhead::wait() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void PagesAhead::take() {
#ifdef MADV_POPULATE_WRITE
  constexpr int populate_write = MADV_POPULATE_WRITE;
#else
  constexpr int populate_write = 23;  // its number in Linux, since 5.14
#endif
  const i64 page = sysconf(_SC_PAGESIZE), pieces = (bytes_ + piece_bytes - 1) / piece_bytes;
  for (i64 piece = next_++; piece < pieces; piece = next_++) {
    const i64 at = piece * piece_bytes;
    const Within pages(begin_ + at, std::min(piece_bytes, bytes_ - at), page);
    if (madvise(pages.begin, pages.bytes, populate_write) == 0) continue;
    if (errno != EINVAL) return;  // no memory: who writes there will be told
    for (std::size_t i = 0; i < pages.bytes; i += static_cast<std::size_t>(page)) {  // an older system
      std::atomic_ref(reinterpret_cast<unsigned char&>(pages.begin[i])).fetch_or(0);
    }
  }
}

}  // namespace tilewright::core
