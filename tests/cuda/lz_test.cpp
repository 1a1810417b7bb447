// The compression of the kernel pack: what comes out is what went in, and no damaged input is read past its end.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "cuda/lz.hpp"

namespace {

using tilewright::cuda::compress;
using tilewright::cuda::decompress;

void round_trip(const std::string& bytes) {
  const std::string packed = compress(bytes);
  const auto back = decompress(packed, bytes.size());
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, bytes);
  EXPECT_FALSE(decompress(packed, bytes.size() + 1)) << "a byte too few in it";
  if (bytes.empty()) return;
  const auto half = decompress(packed, bytes.size(), bytes.size() / 2);
  ASSERT_TRUE(half);
  EXPECT_GE(half->size(), bytes.size() / 2);
  EXPECT_EQ(*half, bytes.substr(0, half->size()));
  EXPECT_FALSE(decompress(packed, bytes.size() - 1)) << "a byte too many in it";
}

/// Pieces of an earlier text again, as machine code has them.
std::string repetitive(unsigned seed, std::size_t size) {
  std::string bytes = "0123456789abcdefghij";
  while (bytes.size() < size) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t from = (seed >> 8) % bytes.size(), length = 1 + (seed >> 4) % 40;
    if (seed % 5 == 0) {
      bytes.push_back(static_cast<char>(seed >> 16));
    } else {
      bytes += bytes.substr(from, length);
    }
  }
  return bytes;
}

TEST(Compression, GivesBackWhatItTook) {
  for (const std::string& bytes :
       {std::string(), std::string("a"), std::string("abcdefgh"), std::string(100000, 'x'), repetitive(1, 300000)}) {
    round_trip(bytes);
  }
}

TEST(Compression, GivesBackAnyBytes) {
  rc::check([](const std::string& bytes) { round_trip(bytes); });
  rc::check([](unsigned seed) { round_trip(repetitive(seed, 3000)); });
}

TEST(Compression, MakesRepetitionsSmall) {
  EXPECT_LT(compress(std::string(1 << 20, 'x')).size(), 20u);
  const std::string kernel = repetitive(3, 100000);
  EXPECT_LT(compress(kernel + kernel).size(), compress(kernel).size() + 20) << "the same again, far away";
}

TEST(Compression, DamagedBytesAreRefusedOrGiveAsManyBytes) {
  const std::string bytes = repetitive(2, 2000), packed = compress(bytes);
  for (std::size_t length = 0; length < packed.size(); ++length) {
    EXPECT_FALSE(decompress(packed.substr(0, length), bytes.size())) << "truncated to " << length;
  }
  rc::check([&](unsigned at, char byte) {
    std::string damaged = packed;
    damaged[at % damaged.size()] = byte;
    const auto back = decompress(damaged, bytes.size());
    RC_ASSERT(!back || back->size() == bytes.size());
  });
  rc::check([](const std::string& any, unsigned size) {
    const auto back = decompress(any, size % 100000);
    RC_ASSERT(!back || back->size() == size % 100000);
  });
}

}  // namespace
