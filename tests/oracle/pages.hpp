// Memory whose every wrong access shows: pages with an unmapped page on either side, and mappings far larger than the
// memory of the machine.
//
// A block sits flush against one of the unmapped pages, so that a read or a write one byte past it is a fault and not
// luck. What is left of the mapped pages on the other side belongs to whoever fills it with a pattern and looks at it
// later.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

#include "tests/oracle/numbers.hpp"

namespace oracle {

/// Which end of a block touches an unmapped page.
enum class Edge : unsigned char { begin, end };

/// Address space of this process, given back at the end.
class Mapping {
 public:
  Mapping() = default;
  /// Reserves `bytes` of zeros that take memory only where they are touched.
  explicit Mapping(i64 bytes, int protection = PROT_READ | PROT_WRITE) : bytes_(static_cast<std::size_t>(bytes)) {
    base_ = ::mmap(nullptr, bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  }
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
  }

  std::byte* base() const { return static_cast<std::byte*>(base_); }
  i64 bytes() const { return static_cast<i64>(bytes_); }
  void protect(i64 offset, i64 bytes, int protection) const {
    if (bytes > 0 && ::mprotect(base() + offset, static_cast<std::size_t>(bytes), protection) != 0) {
      throw std::system_error(errno, std::generic_category(), "mprotect");
    }
  }

 private:
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

inline i64 page_bytes() { return ::sysconf(_SC_PAGESIZE); }

/// A block of bytes against an unmapped page.
class Pages {
 public:
  Pages() = default;
  Pages(i64 bytes, Edge edge) {
    const i64 page = page_bytes();
    open_ = (bytes + page - 1) / page * page;
    mapping_ = Mapping(open_ + 2 * page, PROT_NONE);
    mapping_.protect(page, open_, PROT_READ | PROT_WRITE);
    block_ = mapping_.base() + page + (edge == Edge::end ? open_ - bytes : 0);
  }

  std::byte* block() const { return block_; }
  /// Everything that can be touched: the block and the rest of its pages.
  std::span<std::byte> open() const { return {mapping_.base() + page_bytes(), static_cast<std::size_t>(open_)}; }
  /// From now on a write is a fault as well.
  void seal() const { mapping_.protect(page_bytes(), open_, PROT_READ); }

 private:
  Mapping mapping_;
  i64 open_ = 0;
  std::byte* block_ = nullptr;
};

/// `bytes` of address space that show one small piece of memory of `period` bytes (a multiple of the page size) over
/// and over: an output of many GiB whose content repeats takes no more memory than one period.
class Repeated {
 public:
  Repeated(i64 bytes, i64 period) : mapping_((bytes + period - 1) / period * period, PROT_NONE) {
    const int file = ::memfd_create("repeated", 0);
    if (file < 0 || ::ftruncate(file, period) != 0) throw std::system_error(errno, std::generic_category(), "memfd");
    for (i64 at = 0; at < mapping_.bytes(); at += period) {
      if (::mmap(mapping_.base() + at, static_cast<std::size_t>(period), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 file, 0) == MAP_FAILED) {
        ::close(file);
        throw std::system_error(errno, std::generic_category(), "mmap");
      }
    }
    ::close(file);
  }
  std::byte* base() const { return mapping_.base(); }

 private:
  Mapping mapping_;
};

}  // namespace oracle
