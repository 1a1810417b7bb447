// Which rows or columns a verification looks at: all of them, or one from each of `picked` parts of equal length.
//
// One from each part, because a fault of a tile or of a border must not slip between the draws. The first and the last
// index are always among them: tails are where faults live. Indices are computed when asked for, so an axis of any
// extent costs no memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <tilewright/dtype.hpp>
#include <tilewright/mix.hpp>

namespace tilewright::verification {

struct SampledAxis {
  i64 extent, picked;  // 0 <= picked <= extent
  unsigned long long seed;

  /// The i-th index looked at, 0 <= i < picked; increasing in i.
  constexpr i64 operator[](i64 i) const {
    if (picked == extent) return i;
    const i64 length = extent / picked, longer = extent % picked;  // the first `longer` parts hold one more
    const i64 begin = i * length + std::min(i, longer);
    const i64 end = begin + length + (i < longer ? 1 : 0);
    if (picked > 1 && i == 0) return 0;
    if (picked > 1 && i == picked - 1) return extent - 1;
    const auto draw = mix(seed ^ mix(static_cast<unsigned long long>(i)));
    return begin + static_cast<i64>(draw % static_cast<unsigned long long>(end - begin));
  }
};

/// x * y, or the largest i64 where that does not fit.
constexpr i64 product_or_most(i64 x, i64 y) {
  i64 product = 0;
  return __builtin_mul_overflow(x, y, &product) ? std::numeric_limits<i64>::max() : product;
}

struct Sample {
  SampledAxis rows, cols;
};

/// All of m x n elements if they cost at most `most_products` multiplications, else as nearly square a sample of that
/// much.
inline Sample choose_sample(i64 m, i64 n, i64 k, i64 most_products, unsigned long long seed) {
  const i64 budget = std::max<i64>(1, most_products / std::max<i64>(1, k));  // elements
  i64 rows = m, cols = n;
  if (product_or_most(m, n) > budget) {
    rows = std::clamp<i64>(static_cast<i64>(std::sqrt(static_cast<double>(budget))), 1, m);
    cols = std::clamp<i64>(budget / rows, 1, n);
    rows = std::clamp<i64>(budget / cols, 1, m);
  }
  return {{m, rows, mix(seed)}, {n, cols, mix(~seed)}};
}

}  // namespace tilewright::verification
