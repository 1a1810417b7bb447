// The rounding bound of one element of a product: the only tolerance that the library knows.
//
// An element passes when |got - C| <= gamma(K+2) * (|A||B|) + K * 2^-150 + 1.01 * u_o * |C| + eta_o, where C is the
// FP64 sum. The first term covers K products and K sums in FP32 in any order (Higham, Accuracy and Stability of
// Numerical Algorithms, 3.1), the second what each product may lose below FP32's smallest subnormal (K * 2^-126 where
// subnormals are flushed), the third the one rounding to the output type, the fourth its subnormals. Infinity is right
// where the FP32 sum may have passed the output's overflow midpoint, and the only right answer where it must have. FP32
// sums may also overflow on the way to a C that is small: an infinity is right where the terms of its sign alone reach
// FP32's midpoint, and a NaN where those of both signs do. Any other NaN matches a NaN and nothing else.
#pragma once

#include <cmath>
#include <limits>

#include <tilewright/dtype.hpp>

namespace tilewright::verification {

/// How an element type rounds: relative to the value, absolutely near zero, and from where on to infinity.
struct Rounding {
  double unit;      // u_o: half of the spacing above 1
  double smallest;  // eta_o: half of the smallest subnormal
  double midpoint;  // magnitudes from here on become infinity
};

constexpr double fp32_midpoint = 0x1.ffffffp127;

constexpr Rounding rounding_of(DType output) {
  switch (output) {
    case DType::f16:
      return {0x1p-11, 0x1p-25, 65520.0};
    case DType::bf16:
      return {0x1p-8, 0x1p-134, 0x1.ffp127};
    default:
      return {0x1p-24, 0x1p-150, fp32_midpoint};
  }
}

/// gamma_n = n*u / (1 - n*u) with u = 2^-24, or 2^-23 for tensor cores, whose internal sums may truncate. From n*u = 1
/// on it does not exist; n*u itself bounds a sum of any length (Jeannerod and Rump, 2013) and takes its place there.
constexpr double gamma(i64 n, double unit = 0x1p-24) {
  const double nu = static_cast<double>(n) * unit;
  return nu < 1 ? nu / (1 - nu) : nu;
}

/// How far the FP32 sum of K products may be from C.
struct SumError {
  double relative;  // to |A||B|
  double lost;      // by underflow of the products
};
/// flushed: by an instruction set that takes inputs below 2^-126 for zeros, and makes zeros of such sums; C is the
/// product of what it takes the inputs for. truncated: by tensor cores.
constexpr SumError sum_error(i64 k, bool flushed = false, bool truncated = false) {
  return {gamma(k + 2, truncated ? 0x1p-23 : 0x1p-24), static_cast<double>(k) * (flushed ? 0x1p-126 : 0x1p-150)};
}
/// An input below 2^-126 as such an instruction set takes it.
inline double flush(double input) { return std::fabs(input) < 0x1p-126 ? std::copysign(0.0, input) : input; }

/// The error of `got` as a fraction of its bound: at most 1 is right. expected and magnitude are C and |A||B| in FP64.
/// Infinite for a wrong NaN or infinity.
inline double error_fraction(double expected, double magnitude, const SumError& sum, const Rounding& output,
                             double got) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(expected)) return std::isnan(got) ? 0 : wrong;
  if (std::isinf(expected)) return got == expected ? 0 : wrong;
  const double band = sum.relative * magnitude + sum.lost;  // where the FP32 sum may lie around C
  if (!std::isfinite(got)) {
    // No partial sum is above the positive terms' sum, (|A||B| + C) / 2, or below that of the negative ones.
    const bool up = (magnitude + expected) / 2 + band >= fp32_midpoint;
    const bool down = (magnitude - expected) / 2 + band >= fp32_midpoint;
    if (std::isnan(got)) return up && down ? 0 : wrong;
    if (got > 0 ? up : down) return 0;
    return std::copysign(1.0, got) * expected + band >= output.midpoint ? 0 : wrong;
  }
  if (std::fabs(expected) - band >= output.midpoint) return wrong;
  return std::fabs(got - expected) / (band + 1.01 * output.unit * std::fabs(expected) + output.smallest);
}

}  // namespace tilewright::verification
