// Number formats, decoded and encoded by the definition of IEEE 754 in double arithmetic.
//
// The oracle judges the library's conversions among other things, so it shares none of them, and it is slow on purpose:
// one text serves all three formats, and each step can be read off the standard. Every value of the three formats is
// exact in a double. Start at Format, then decode and encode.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace oracle {

using i64 = std::int64_t;

enum class Type : unsigned char { f16, bf16, f32 };
inline constexpr std::array<Type, 3> all_types = {Type::f16, Type::bf16, Type::f32};

/// A binary format: `precision` significand bits with the hidden one, exponents emin..emax of normal numbers.
struct Format {
  const char* name;
  int bytes, precision, emin, emax;

  /// Half the distance from 1 to the next number: the relative error of one rounding (u_o).
  double unit() const { return std::ldexp(1.0, -precision); }
  /// Half the smallest subnormal: the absolute error of one rounding near zero (eta_o).
  double tiny() const { return std::ldexp(1.0, emin - precision); }
  double largest() const { return std::ldexp(2.0 - std::ldexp(1.0, 1 - precision), emax); }
  /// From here on a value rounds to infinity: halfway between the largest number and the one that would follow it.
  double overflow() const { return std::ldexp(2.0 - std::ldexp(1.0, -precision), emax); }
};

inline const Format& format(Type type) {
  static constexpr std::array<Format, 3> formats = {{
      {"f16", 2, 11, -14, 15},
      {"bf16", 2, 8, -126, 127},
      {"f32", 4, 24, -126, 127},
  }};
  return formats[static_cast<std::size_t>(type)];
}

/// Bits of the exponent field.
inline int exponent_bits(const Format& f) { return 8 * f.bytes - f.precision; }

inline double decode_by_definition(Type type, std::uint32_t bits) {
  const Format& f = format(type);
  const int fraction_bits = f.precision - 1;
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1u);
  const std::uint32_t all_ones = (1u << exponent_bits(f)) - 1u;
  const std::uint32_t exponent = (bits >> fraction_bits) & all_ones;
  const double sign = (bits >> (8 * f.bytes - 1)) != 0 ? -1.0 : 1.0;
  if (exponent == all_ones) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(fraction), f.emin - fraction_bits);
  return sign * std::ldexp(static_cast<double>(fraction + (1u << fraction_bits)),
                           static_cast<int>(exponent) - 1 + f.emin - fraction_bits);
}

/// The value of a bit pattern. The 16-bit formats are looked up in a table that decode_by_definition has filled.
inline double decode(Type type, std::uint32_t bits) {
  if (type == Type::f32) return decode_by_definition(type, bits);
  static const std::array<std::vector<double>, 2> tables = [] {
    std::array<std::vector<double>, 2> filled;
    for (const Type t : {Type::f16, Type::bf16}) {
      for (std::uint32_t b = 0; b < 65536; ++b)
        filled[static_cast<std::size_t>(t)].push_back(decode_by_definition(t, b));
    }
    return filled;
  }();
  return tables[static_cast<std::size_t>(type)][bits & 0xffffu];
}

/// The bit pattern nearest to a double, ties to even; infinity from overflow() on; one quiet NaN for every NaN.
inline std::uint32_t encode(Type type, double value) {
  const Format& f = format(type);
  const int fraction_bits = f.precision - 1;
  const std::uint32_t all_ones = (1u << exponent_bits(f)) - 1u;
  if (std::isnan(value)) return (all_ones << fraction_bits) | (1u << (fraction_bits - 1));
  const std::uint32_t sign = std::signbit(value) ? 1u << (8 * f.bytes - 1) : 0u;
  const double magnitude = std::fabs(value);
  if (magnitude >= f.overflow()) return sign | (all_ones << fraction_bits);
  if (magnitude == 0.0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), f.emin);
  // In units of the last place the value is at most 2^precision, so scaling and rounding it are exact double
  // operations.
  const double units = std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent));
  const auto count = static_cast<std::uint32_t>(units);
  // A subnormal has field 0 and no hidden bit; a count that rounded up to 2^precision carries into the exponent by
  // itself.
  const std::uint32_t field = static_cast<std::uint32_t>(exponent - f.emin);
  return sign | ((field << fraction_bits) + count);
}

/// A value as an element type would hold it.
inline double rounded(Type type, double value) { return decode(type, encode(type, value)); }

}  // namespace oracle
