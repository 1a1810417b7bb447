// A small random generator with a fixed definition (SplitMix64), so that a seed printed on one machine means the same
// inputs on every other.
#pragma once

#include "tests/oracle/numbers.hpp"

namespace oracle {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// A whole number in [low, high].
  i64 whole(i64 low, i64 high) {
    return low + static_cast<i64>(next() % (static_cast<std::uint64_t>(high - low) + 1u));
  }
  /// Uniform in [0, 1).
  double unit() { return std::ldexp(static_cast<double>(next() >> 11), -53); }
  /// Uniform in [-1, 1).
  double symmetric() { return 2.0 * unit() - 1.0; }

 private:
  std::uint64_t state_;
};

}  // namespace oracle
