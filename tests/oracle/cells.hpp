// Cells: a matrix in memory as the oracle addresses it, apart from the library's own views.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/oracle/numbers.hpp"

namespace oracle {

/// Element (i, j) is at base + (i * row_stride + j * col_stride) elements.
struct Cells {
  std::byte* base = nullptr;
  Type type = Type::f16;
  i64 rows = 0, cols = 0;
  i64 row_stride = 0, col_stride = 0;

  std::byte* at(i64 i, i64 j) const { return base + (i * row_stride + j * col_stride) * format(type).bytes; }
  std::uint32_t bits(i64 i, i64 j) const { return load(at(i, j), type); }
  double value(i64 i, i64 j) const { return decode(type, bits(i, j)); }
  void set_bits(i64 i, i64 j, std::uint32_t pattern) const { keep(at(i, j), type, pattern); }
  void set(i64 i, i64 j, double value) const { set_bits(i, j, encode(type, value)); }

  static std::uint32_t load(const std::byte* from, Type type) {
    if (format(type).bytes == 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, from, 4);
      return word;
    }
    std::uint16_t half = 0;
    std::memcpy(&half, from, 2);
    return half;
  }
  static void keep(std::byte* to, Type type, std::uint32_t pattern) {
    if (format(type).bytes == 4) {
      std::memcpy(to, &pattern, 4);
    } else {
      const auto half = static_cast<std::uint16_t>(pattern);
      std::memcpy(to, &half, 2);
    }
  }
};

/// All values, row by row, whatever the strides.
inline std::vector<double> values_of(const Cells& cells) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(cells.rows * cells.cols));
  for (i64 i = 0; i < cells.rows; ++i) {
    for (i64 j = 0; j < cells.cols; ++j) values.push_back(cells.value(i, j));
  }
  return values;
}

/// All bit patterns, row by row, whatever the strides.
inline std::vector<std::uint32_t> bits_of(const Cells& cells) {
  std::vector<std::uint32_t> bits;
  bits.reserve(static_cast<std::size_t>(cells.rows * cells.cols));
  for (i64 i = 0; i < cells.rows; ++i) {
    for (i64 j = 0; j < cells.cols; ++j) bits.push_back(cells.bits(i, j));
  }
  return bits;
}

}  // namespace oracle
