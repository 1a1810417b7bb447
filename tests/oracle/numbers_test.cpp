// The oracle's number formats, against the compiler's own float and against facts of the standards.
#include <gtest/gtest.h>

#include <bit>

#include "tests/oracle/numbers.hpp"
#include "tests/oracle/random.hpp"

namespace {

using namespace oracle;

TEST(Numbers, known_values) {
  EXPECT_EQ(decode(Type::f16, 0x3c00), 1.0);
  EXPECT_EQ(decode(Type::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(decode(Type::f16, 0x7bff), 65504.0);
  EXPECT_EQ(decode(Type::f16, 0xfc00), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(decode(Type::f16, 0x7e00)));
  EXPECT_EQ(decode(Type::bf16, 0x3f80), 1.0);
  EXPECT_EQ(decode(Type::bf16, 0x0001), 0x1p-133);
  EXPECT_EQ(decode(Type::bf16, 0xc049), -3.140625);
  EXPECT_EQ(decode(Type::f32, 0x00000001), 0x1p-149);
  EXPECT_EQ(decode(Type::f32, 0x40490fdb), static_cast<double>(3.14159274f));
}

TEST(Numbers, constants_of_the_bound) {
  EXPECT_EQ(format(Type::f16).unit(), 0x1p-11);
  EXPECT_EQ(format(Type::bf16).unit(), 0x1p-8);
  EXPECT_EQ(format(Type::f32).unit(), 0x1p-24);
  EXPECT_EQ(format(Type::f16).tiny(), 0x1p-25);
  EXPECT_EQ(format(Type::bf16).tiny(), 0x1p-134);
  EXPECT_EQ(format(Type::f32).tiny(), 0x1p-150);
  EXPECT_EQ(format(Type::f16).overflow(), 65520.0);
  EXPECT_EQ(format(Type::f32).largest(), static_cast<double>(std::numeric_limits<float>::max()));
}

TEST(Numbers, every_16_bit_pattern_round_trips) {
  for (const Type type : {Type::f16, Type::bf16}) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const double value = decode(type, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode(type, encode(type, value))));
      } else {
        ASSERT_EQ(encode(type, value), bits) << format(type).name;
      }
    }
  }
}

TEST(Numbers, ties_go_to_the_even_neighbour) {
  for (const Type type : all_types) {
    const std::uint32_t infinity = encode(type, std::numeric_limits<double>::infinity());
    const std::uint32_t step = type == Type::f32 ? 65521 : 1;  // a prime, so that odd and even patterns both come up
    for (std::uint32_t bits = 0; bits + 1 < infinity; bits += step) {
      const double low = decode(type, bits), high = decode(type, bits + 1), middle = low + (high - low) / 2;
      ASSERT_EQ(encode(type, middle), bits + (bits & 1u)) << format(type).name;
      ASSERT_EQ(encode(type, std::nextafter(middle, low)), bits) << format(type).name;
      ASSERT_EQ(encode(type, std::nextafter(middle, high)), bits + 1) << format(type).name;
      ASSERT_EQ(encode(type, -middle), encode(type, middle) | encode(type, -0.0));
    }
    const Format& f = format(type);
    EXPECT_EQ(encode(type, f.overflow()), infinity);
    EXPECT_EQ(encode(type, std::nextafter(f.overflow(), 0.0)), infinity - 1);
  }
}

TEST(Numbers, f32_agrees_with_the_compiler) {
  Random random(1);
  for (int n = 0; n < 200000; ++n) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(decode(Type::f32, bits), static_cast<double>(value));
    const double wide = std::bit_cast<double>((random.next() >> 1) | (random.next() << 63));
    if (std::fabs(wide) < 1e39 || std::isinf(wide)) {
      ASSERT_EQ(encode(Type::f32, wide), std::bit_cast<std::uint32_t>(static_cast<float>(wide))) << wide;
    }
    const double near = static_cast<double>(value) * (1.0 + random.symmetric() * 0x1p-23);
    ASSERT_EQ(encode(Type::f32, near), std::bit_cast<std::uint32_t>(static_cast<float>(near))) << near;
  }
}

}  // namespace
