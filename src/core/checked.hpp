// Checked 64-bit arithmetic for sizes that come from outside: a file's header, a caller's extents and strides.
//
// The result is empty where the exact one does not fit, so that every caller has to say what that means in its own
// words. Arithmetic on sizes that a check has already passed needs none of this.
#pragma once

#include <optional>

#include <tilewright/tile/element.hpp>

namespace tilewright::core {

constexpr std::optional<i64> checked_add(i64 left, i64 right) {
  i64 sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<i64> checked_mul(i64 left, i64 right) {
  i64 product = 0;
  if (__builtin_mul_overflow(left, right, &product)) return std::nullopt;
  return product;
}

/// The product of all factors. A factor of zero makes it zero, whatever the others are and in whatever order they come.
template <class... Factors>
constexpr std::optional<i64> checked_product(Factors... factors) {
  if (((factors == 0) || ...)) return 0;
  std::optional<i64> product = 1;
  ((product = product ? checked_mul(*product, factors) : product), ...);
  return product;
}

}  // namespace tilewright::core
