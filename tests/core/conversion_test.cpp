// Conversions between float and the 16-bit types: all 2^16 inputs one way, all rounding midpoints and their neighbours
// the other, against a reference that knows only the list of representable values and compares doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <tilewright/dtype.hpp>

namespace tilewright {
namespace {

/// A 16-bit binary float format, described by numbers alone.
struct Format {
  int exponent_bits, fraction_bits;
  unsigned infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }  // bits without sign
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  /// The value of finite bits without sign. At infinity(), the power of two that would come next: where rounding puts
  /// it.
  double value(unsigned bits) const {
    const int exponent = static_cast<int>(bits >> fraction_bits);
    const int fraction = static_cast<int>(bits & ((1u << fraction_bits) - 1));
    if (exponent == 0) return std::ldexp(fraction, 1 - bias() - fraction_bits);
    return std::ldexp(fraction + (1 << fraction_bits), exponent - bias() - fraction_bits);
  }

  /// The nearest value's bits; of two equally near the one with an even last bit.
  unsigned nearest(double magnitude) const {
    if (std::isinf(magnitude)) return infinity();
    unsigned below = 0, above = infinity();
    if (magnitude >= value(above)) return infinity();
    while (above - below > 1) {
      const unsigned middle = (below + above) / 2;
      (value(middle) <= magnitude ? below : above) = middle;
    }
    const double down = magnitude - value(below), up = value(above) - magnitude;
    if (down != up) return down < up ? below : above;
    return below % 2 == 0 ? below : above;
  }
};

constexpr Format half{5, 10}, brain{8, 7};

template <class E>
unsigned rounded(float value) {
  return from_float<E>(value).bits;
}

/// Both signs of a value against the reference.
template <class E>
void expect_nearest(Format format, float value) {
  const unsigned expected = format.nearest(std::fabs(static_cast<double>(value)));
  ASSERT_EQ(rounded<E>(std::fabs(value)), expected) << std::hexfloat << value;
  ASSERT_EQ(rounded<E>(-std::fabs(value)), expected | 0x8000u) << std::hexfloat << value;
}

template <class E>
void every_input_is_exact(Format format) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = to_float(E{static_cast<u16>(bits)});
    const unsigned magnitude = bits & 0x7fffu;
    ASSERT_EQ(std::signbit(value), bits >> 15 != 0) << bits;
    if (magnitude > format.infinity()) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      const unsigned back = rounded<E>(value);
      ASSERT_GT(back & 0x7fffu, format.infinity()) << bits;
      ASSERT_EQ(back, bits | 1u << (format.fraction_bits - 1)) << "a NaN keeps its sign and payload, and is quiet";
      continue;
    }
    if (magnitude == format.infinity()) {
      ASSERT_TRUE(std::isinf(value)) << bits;
    } else {
      ASSERT_EQ(std::fabs(static_cast<double>(value)), format.value(magnitude)) << bits;
    }
    ASSERT_EQ(rounded<E>(value), bits);
  }
}

template <class E>
void every_midpoint_is_rounded_to_even(Format format) {
  const float inf = std::numeric_limits<float>::infinity();
  for (unsigned bits = 0; bits < format.infinity(); ++bits) {
    const double middle = (format.value(bits) + format.value(bits + 1)) / 2;
    const float midpoint = static_cast<float>(middle);
    // Between two subnormals of bf16 the midpoint is one of float's, and exact; past the largest it is exact as well.
    ASSERT_EQ(static_cast<double>(midpoint), middle) << bits;
    ASSERT_EQ(rounded<E>(midpoint), bits % 2 == 0 ? bits : bits + 1) << std::hexfloat << midpoint;
    ASSERT_EQ(rounded<E>(std::nextafter(midpoint, 0.0f)), bits) << std::hexfloat << midpoint;
    ASSERT_EQ(rounded<E>(std::nextafter(midpoint, inf)), bits + 1) << std::hexfloat << midpoint;
    for (const float value : {midpoint, std::nextafter(midpoint, 0.0f), std::nextafter(midpoint, inf)}) {
      ASSERT_NO_FATAL_FAILURE(expect_nearest<E>(format, value));
    }
  }
}

template <class E>
void floats_across_the_range_are_rounded_to_the_nearest(Format format) {
  // A step coprime to 2^32 visits all exponents, with ever other fractions.
  for (std::uint64_t bits = 0; bits < 0x7f800000u; bits += 4099) {
    ASSERT_NO_FATAL_FAILURE(expect_nearest<E>(format, std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  }
}

template <class E>
void every_nan_stays_one(Format format) {
  for (std::uint32_t payload = 1; payload < 0x800000u; payload += payload < 0x20000u ? 1 : 997) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const unsigned bits = rounded<E>(std::bit_cast<float>(sign | 0x7f800000u | payload));
      ASSERT_GT(bits & 0x7fffu, format.infinity()) << std::hex << payload;
      ASSERT_EQ(bits >> 15, sign >> 31) << std::hex << payload;
      ASSERT_NE(bits & 1u << (format.fraction_bits - 1), 0u) << "not quiet: " << std::hex << payload;
    }
  }
}

TEST(ConversionF16, EveryInputIsExactAndComesBack) { every_input_is_exact<f16>(half); }
TEST(ConversionF16, EveryMidpointIsRoundedToEven) { every_midpoint_is_rounded_to_even<f16>(half); }
TEST(ConversionF16, FloatsAcrossTheRange) { floats_across_the_range_are_rounded_to_the_nearest<f16>(half); }
TEST(ConversionF16, EveryNanStaysQuietNan) { every_nan_stays_one<f16>(half); }

TEST(ConversionBf16, EveryInputIsExactAndComesBack) { every_input_is_exact<bf16>(brain); }
TEST(ConversionBf16, EveryMidpointIsRoundedToEven) { every_midpoint_is_rounded_to_even<bf16>(brain); }
TEST(ConversionBf16, FloatsAcrossTheRange) { floats_across_the_range_are_rounded_to_the_nearest<bf16>(brain); }
TEST(ConversionBf16, EveryNanStaysQuietNan) { every_nan_stays_one<bf16>(brain); }

TEST(ConversionF16, BordersByHand) {
  EXPECT_EQ(to_f16(65504.0f).bits, 0x7bff);                        // the largest
  EXPECT_EQ(to_f16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);  // just below the midpoint past it
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);                        // the midpoint
  EXPECT_EQ(to_f16(std::numeric_limits<float>::max()).bits, 0x7c00);
  EXPECT_EQ(to_f16(0x1p-24f).bits, 0x0001);  // the smallest subnormal
  EXPECT_EQ(to_f16(0x1p-25f).bits, 0x0000);  // half of it: a tie, to even
  EXPECT_EQ(to_f16(std::nextafter(0x1p-25f, 1.0f)).bits, 0x0001);
  EXPECT_EQ(to_f16(0x1p-14f).bits, 0x0400);  // the smallest normal
  EXPECT_EQ(to_f16(std::nextafter(0x1p-14f, 0.0f)).bits, 0x0400);
  EXPECT_EQ(to_f16(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_f16(0x1p-149f).bits, 0x0000);
}

TEST(ConversionBf16, RoundsWhereTruncationWouldNot) {
  // A value that a truncating conversion turns into 0.267578125.
  EXPECT_EQ(to_float(to_bf16(0.2691408770292272f)), 0.26953125f);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bf16(0x1p-149f).bits, 0x0000);
  EXPECT_EQ(to_bf16(0x1p-133f).bits, 0x0001);  // the smallest subnormal
}

TEST(Conversion, IsUsableAtCompileTime) {
  static_assert(to_f16(1.0f).bits == 0x3c00 && to_float(f16{0x3c00}) == 1.0f);
  static_assert(to_bf16(1.0f).bits == 0x3f80 && to_float(bf16{0x3f80}) == 1.0f);
  static_assert(from_float<float>(0.1f) == 0.1f);
}

TEST(DType, NamesParseBack) {
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64})
    EXPECT_EQ(parse_dtype(name_of(type)), type);
  EXPECT_EQ(parse_dtype("F16"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(size_of(DType::f16), 2);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(dtype_of<f16>, DType::f16);
  EXPECT_EQ(dtype_of<bf16>, DType::bf16);
  EXPECT_EQ(dtype_of<float>, DType::f32);
  EXPECT_EQ(dtype_of<double>, DType::f64);
}

}  // namespace
}  // namespace tilewright
