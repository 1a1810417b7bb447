// What a product must be: sums in FP64 with the sums of magnitudes beside them, the one error bound, and exact sums of
// small whole numbers.
//
// The bound per element, for K products of inputs taken as exact, accumulated in FP32 and rounded once to the output
// type:
//
//   |got - C| <= gamma(K+2) * (|A||B|) + K * 2^-150 + 1.01 * u_o * |C| + eta_o,
//   gamma(n) = n u / (1 - n u),   u = 2^-24
//
// The second term is what K products may lose below FP32's smallest subnormal; it is K * 2^-126 where subnormals are
// flushed, and C is then the product of inputs without subnormals. Where the terms of one sign alone, or their
// rounded sum, pass FP32's overflow midpoint, the accumulator may have become that infinity on the way; where those of
// both signs do, it may have become a NaN.
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
  double lost = 0x1p-150;  // by underflow, a product
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
/// flushed: as an accumulation has it that takes inputs below 2^-126 for zeros, and makes zeros of such sums.
inline Reference reference_of(const Cells& a, const Cells& b, bool flushed = false) {
  std::vector<double> left = values_of(a), right = values_of(b);
  if (!flushed) return reference_of(a.rows, b.cols, a.cols, left, right);
  for (std::vector<double>* values : {&left, &right}) {
    for (double& value : *values) {
      if (std::fabs(value) < 0x1p-126) value = std::copysign(0.0, value);
    }
  }
  Reference reference = reference_of(a.rows, b.cols, a.cols, left, right);
  reference.lost = 0x1p-126;
  return reference;
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

inline Judged judge_element(double got, double value, double magnitude, i64 k, Type type, double unit,
                            double lost = 0x1p-150) {
  if (std::isnan(value)) return {std::isnan(got)};
  if (std::isinf(value)) return {got == value};
  const Format& f = format(type);
  const double reach =
      gamma(k + 2, unit) * magnitude + static_cast<double>(k) * lost;  // how far the accumulator may be from C
  // The accumulator stays between the sums of the terms of either sign.
  const double above_zero = value + (magnitude - value) / 2, below_zero = value - above_zero;
  const double too_large = format(Type::f32).overflow();
  const bool may_pass_up = above_zero + reach >= too_large, may_pass_down = below_zero - reach <= -too_large;
  if (std::isnan(got)) return {may_pass_up && may_pass_down, std::fabs(got), reach};
  if (std::isinf(got) && (got > 0 ? may_pass_up : may_pass_down)) {
    return {true, std::numeric_limits<double>::infinity(), reach};
  }
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
  return {error <= bound, error, bound};
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
