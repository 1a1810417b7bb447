// What a product must be: sums in FP64 with the sums of magnitudes beside them, the one error bound, and exact sums of
// small whole numbers.
//
// The bound per element, for K products of inputs taken as exact, accumulated in FP32 and rounded once to the output
// type:
//
//   |got - C| <= gamma(K+2) * (|A||B|) + K * 2^-150 + 1.01 * u_o * |C| + eta_o,
//   gamma(n) = n u / (1 - n u),   u = 2^-24
//
// The second term is what K products may lose below FP32's smallest subnormal.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/oracle/cells.hpp"

namespace oracle {

/// C (m x n) in FP64, and |A||B|, row by row.
struct Reference {
  i64 m = 0, n = 0, k = 0;
  std::vector<double> value, magnitude;
};

/// value and magnitude of the product of a (m x k) and b (k x n), given row by row.
inline Reference reference_of(i64 m, i64 n, i64 k, const std::vector<double>& a, const std::vector<double>& b) {
  const auto elements = static_cast<std::size_t>(m * n);
  Reference r{m, n, k, std::vector<double>(elements), std::vector<double>(elements)};
  for (i64 i = 0; i < m; ++i) {
    double* value = r.value.data() + i * n;
    double* magnitude = r.magnitude.data() + i * n;
    for (i64 l = 0; l < k; ++l) {
      const double x = a[static_cast<std::size_t>(i * k + l)];
      const double* row = b.data() + l * n;
      for (i64 j = 0; j < n; ++j) {
        const double product = x * row[j];
        value[j] += product;
        magnitude[j] += std::fabs(product);
      }
    }
  }
  return r;
}
inline Reference reference_of(const Cells& a, const Cells& b) {
  return reference_of(a.rows, b.cols, a.cols, values_of(a), values_of(b));
}

/// u of the accumulation: 2^-24 for IEEE single precision, 2^-23 for hardware that may truncate its internal sums.
inline constexpr double ieee_unit = 0x1p-24;

inline double gamma(i64 n, double unit) {
  const double nu = static_cast<double>(n) * unit;
  return nu / (1.0 - nu);
}

/// How one element compares with its reference.
struct Judged {
  bool right = false;
  double error = 0, bound = 0;
};

inline Judged judge_element(double got, double value, double magnitude, i64 k, Type type, double unit) {
  if (std::isnan(value)) return {std::isnan(got)};
  if (std::isinf(value)) return {got == value};
  const Format& f = format(type);
  const double reach =
      gamma(k + 2, unit) * magnitude + static_cast<double>(k) * 0x1p-150;  // how far the accumulator may be from C
  if (std::isinf(got)) {
    // Infinity is right where some value within reach lies past the overflow midpoint, on the side of its sign.
    return {got > 0 ? value + reach >= f.overflow() : value - reach <= -f.overflow(),
            std::numeric_limits<double>::infinity(), reach};
  }
  const double error = std::fabs(got - value);
  const double bound = reach + 1.01 * f.unit() * std::fabs(value) + f.tiny();
  if (value - reach >= f.overflow() || value + reach <= -f.overflow()) return {false, error, bound};  // had to overflow
  // Nothing but zeros was added: the sum is +0.0, whatever the signs of the zeros.
  if (magnitude == 0.0) return {got == 0.0 && !std::signbit(got), error, 0.0};
  return {!(!(error <= bound)), error, bound};  // a NaN fails the comparison and is wrong
}

/// The bits of the product of whole numbers: an integer sum that FP32 holds exactly, rounded once to `type`.
inline std::vector<std::uint32_t> exact_bits_of(i64 m, i64 n, i64 k, const std::vector<double>& a,
                                                const std::vector<double>& b, Type type) {
  std::vector<std::int32_t> left(a.begin(), a.end()), right(b.begin(), b.end()), sum(static_cast<std::size_t>(n));
  std::vector<std::uint32_t> bits;
  bits.reserve(static_cast<std::size_t>(m * n));
  for (i64 i = 0; i < m; ++i) {
    sum.assign(sum.size(), 0);
    for (i64 l = 0; l < k; ++l) {
      const std::int32_t x = left[static_cast<std::size_t>(i * k + l)];
      const std::int32_t* row = right.data() + l * n;
      for (i64 j = 0; j < n; ++j) sum[static_cast<std::size_t>(j)] += x * row[j];
    }
    for (const std::int32_t s : sum) {
      if (s > (1 << 24) || s < -(1 << 24))
        throw std::logic_error("a sum of " + std::to_string(s) + " is not exact in FP32");
      bits.push_back(encode(type, s));
    }
  }
  return bits;
}
inline std::vector<std::uint32_t> exact_bits_of(const Cells& a, const Cells& b, Type type) {
  return exact_bits_of(a.rows, b.cols, a.cols, values_of(a), values_of(b), type);
}

}  // namespace oracle
