// Memory that is about to be written for the first time, taken from the system ahead of that.
//
// Fresh memory has no pages. The system gives one at each first write, cleared, after a fault of the processor, and
// that is several times slower than the write itself: 2 GB/s in place of 18 where it was measured (one thread of a
// virtual machine, pages of 4 KiB). Who has something else to wait for meanwhile takes the pages then.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <tilewright/tile/element.hpp>

namespace tilewright::core {

/// Takes the pages of a range in threads of its own. What the range holds stays, and it may be written to meanwhile:
/// who is faster takes a page. It is help and no promise: where memory or threads run out, the first write takes the
/// pages as it always does.
class PagesAhead {
 public:
  PagesAhead(std::byte* begin, i64 bytes);
  PagesAhead(const PagesAhead&) = delete;
  PagesAhead& operator=(const PagesAhead&) = delete;
  /// Stops early.
  ~PagesAhead();
  /// Until all pages are there.
  void wait();

 private:
  void take();

  std::byte* begin_;
  i64 bytes_;
  std::atomic<i64> next_ = 0;  // piece
  std::vector<std::thread> threads_;
};

}  // namespace tilewright::core
