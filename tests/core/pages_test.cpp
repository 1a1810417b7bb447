// Pages that are taken ahead are there, and what they held still is.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/pages.hpp"

namespace tilewright::core {
namespace {

/// Fresh memory.
struct Mapped {
  std::size_t bytes;
  std::byte* data =
      static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ~Mapped() { munmap(data, bytes); }

  std::size_t pages() const { return bytes / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  std::size_t pages_there() const {
    std::vector<unsigned char> there(pages());
    EXPECT_EQ(mincore(data, bytes, there.data()), 0);
    return static_cast<std::size_t>(std::count_if(there.begin(), there.end(), [](unsigned char p) { return p & 1; }));
  }
};

TEST(PagesAhead, AllOfThemAreThereAfterwards) {
  const Mapped memory{std::size_t{40} << 20};  // more than two pieces
  ASSERT_EQ(memory.pages_there(), 0u);
  PagesAhead ahead(memory.data, static_cast<i64>(memory.bytes));
  ahead.wait();
  EXPECT_EQ(memory.pages_there(), memory.pages());
  ahead.wait();  // nothing more
}

TEST(PagesAhead, OnlyThoseOfTheRange) {
  const Mapped memory{std::size_t{40} << 20};
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), odd = std::size_t{4} << 20;
  PagesAhead ahead(memory.data + odd + 3, static_cast<i64>((std::size_t{32} << 20) + 7));
  ahead.wait();
  EXPECT_GE(memory.pages_there(), (std::size_t{32} << 20) / page - 2);
  std::vector<unsigned char> there(odd / page);
  ASSERT_EQ(mincore(memory.data, odd, there.data()), 0);
  EXPECT_EQ(std::count(there.begin(), there.end(), 1), 0);
}

TEST(PagesAhead, WhatTheMemoryHoldsStays) {
  const Mapped memory{std::size_t{20} << 20};
  for (std::size_t i = 0; i < memory.bytes; i += 999'983) memory.data[i] = std::byte{77};
  PagesAhead(memory.data, static_cast<i64>(memory.bytes)).wait();
  for (std::size_t i = 0; i < memory.bytes; ++i) {
    if (memory.data[i] != (i % 999'983 == 0 ? std::byte{77} : std::byte{0})) FAIL() << i;
  }
}

TEST(PagesAhead, SmallAndEmptyRangesAndAnEarlyEndAreNothingSpecial) {
  std::vector<std::byte> small(1000);
  PagesAhead(small.data(), 1000).wait();
  PagesAhead(nullptr, 0).wait();
  const Mapped memory{std::size_t{256} << 20};
  PagesAhead dropped(memory.data, static_cast<i64>(memory.bytes));  // its end does not wait for all
}

}  // namespace
}  // namespace tilewright::core
