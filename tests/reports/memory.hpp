// Memory for the cases in this folder, which are bug reports of users of other matrix libraries turned into tests. Each
// TEST is named by the id of its case; the comment above it says what went wrong elsewhere.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/gemm/harness.hpp"
#include "tests/oracle/random.hpp"

namespace reports {

using namespace tilewright;
using harness::view_of;
using oracle::Cells;
using oracle::Type;

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A flat buffer of elements, all of one value at first, of which cells() names any strided part.
class Memory {
 public:
  Memory(Type type, i64 elements, double value)
      : type_(type), bytes_(static_cast<std::size_t>(elements * oracle::format(type).bytes)) {
    for (i64 n = 0; n < elements; ++n) set(n, value);
  }
  /// Values given in order.
  Memory(Type type, const std::vector<double>& values) : Memory(type, static_cast<i64>(values.size()), 0.0) {
    for (std::size_t n = 0; n < values.size(); ++n) set(static_cast<i64>(n), values[n]);
  }
  void set(i64 n, double value) { cells(1, 1, 1, 1, n).set(0, 0, value); }
  Cells cells(i64 rows, i64 cols, i64 row_stride, i64 col_stride = 1, i64 offset = 0) {
    return {bytes_.data() + offset * oracle::format(type_).bytes, type_, rows, cols, row_stride, col_stride};
  }

 private:
  Type type_;
  std::vector<std::byte> bytes_;
};

/// 0, 1, 2, ... count - 1.
inline Memory arange(Type type, i64 count) {
  Memory memory(type, count, 0.0);
  for (i64 n = 0; n < count; ++n) memory.set(n, static_cast<double>(n));
  return memory;
}

inline std::string text_of(const PlanRequest& request) {
  return request.tile ? std::to_string(request.tile->m) + "x" + std::to_string(request.tile->n) + "x" +
                            std::to_string(request.tile->k) + " instruction set " +
                            std::to_string(static_cast<int>(request.mma.value_or(Mma::portable)))
                      : "the planner's plan";
}

/// A contiguous result, NaN before; the product in it.
class Result {
 public:
  Result(const Cells& a, const Cells& b, Type type, const PlanRequest& request = {}, i64 threads = 0)
      : memory_(type, std::max<i64>(a.rows * b.cols, 1), not_a_number),
        cells_(memory_.cells(a.rows, b.cols, b.cols)),
        claim_(harness::multiply(a, b, cells_, harness::options_of(request, threads),
                                 "operands as the case gives them")) {}
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  const Cells& cells() const { return cells_; }
  const oracle::Claim& claim() const { return claim_; }
  std::vector<std::uint32_t> bits() const { return oracle::bits_of(cells_); }

  /// Every element is want(i, j), bit for bit.
  template <class Want>
  void expect_each(const Want& want) const {
    std::vector<std::uint32_t> bits;
    for (i64 i = 0; i < cells_.rows; ++i) {
      for (i64 j = 0; j < cells_.cols; ++j) bits.push_back(oracle::encode(cells_.type, want(i, j)));
    }
    const oracle::Verdict verdict = oracle::judge(claim_, bits, cells_);
    EXPECT_TRUE(verdict.right()) << verdict.report;
  }
  void expect_all(double value) const {
    expect_each([value](i64, i64) { return value; });
  }

 private:
  Memory memory_;
  Cells cells_;
  oracle::Claim claim_;
};

}  // namespace reports
