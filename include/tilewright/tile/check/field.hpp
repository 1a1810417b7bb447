// The numbers of the exact checker: the prime field GF(2^61 - 1), and one symbol for minus infinity.
//
// There is no rounding in a field, so a sum is right or wrong, never close: an index counted twice, missed or wrapped
// changes the result of random elements with a probability of 1 - 2^-61. A float that is a ratio of integers by a power
// of two (each finite one is) has its exact counterpart, so constants in a kernel keep their meaning; nonlinear
// functions become a fixed hash.
#pragma once

#include <bit>
#include <string_view>

#include <tilewright/mix.hpp>
#include <tilewright/tile/element.hpp>

namespace tilewright::exact {

using u64 = unsigned long long;
__extension__ using u128 = unsigned __int128;

class Field {
 public:
  static constexpr u64 prime = (u64{1} << 61) - 1;

  constexpr Field() = default;
  static constexpr Field of(i64 value) {
    return value >= 0 ? Field(static_cast<u64>(value) % prime)
                      : Field(0) - Field((~static_cast<u64>(value) + 1) % prime);
  }
  /// The field element of a finite float; minus infinity for -inf.
  static constexpr Field of_float(float value);
  /// A uniformly random element, the same for the same key.
  static constexpr Field random(u64 key) { return Field(mix(key) >> 3); }
  static constexpr Field minus_infinity() { return Field(~u64{0}, 0); }

  constexpr bool is_minus_infinity() const { return value_ == ~u64{0}; }
  constexpr u64 value() const { return value_; }
  friend constexpr bool operator==(Field, Field) = default;

  friend constexpr Field operator+(Field a, Field b) {
    if (a.is_minus_infinity() || b.is_minus_infinity()) return minus_infinity();
    return Field(a.value_ + b.value_);
  }
  friend constexpr Field operator-(Field a, Field b) {
    if (a.is_minus_infinity()) return a;
    if (b.is_minus_infinity()) return a.hashed("minus minus infinity");
    return Field(a.value_ + prime - b.value_);
  }
  friend constexpr Field operator*(Field a, Field b) {
    if (a.is_minus_infinity() || b.is_minus_infinity())
      return (a.is_minus_infinity() ? b : a).hashed("times minus infinity");
    return reduce(static_cast<u128>(a.value_) * b.value_);
  }
  friend constexpr Field operator/(Field a, Field b) {
    if (b.value_ == 0 || a.is_minus_infinity() || b.is_minus_infinity()) return a.hashed("divided by no number");
    Field inverse = Field(1);
    Field power = b;
    for (u64 e = prime - 2; e != 0; e >>= 1, power = power * power) {
      if ((e & 1) != 0) inverse = inverse * power;
    }
    return a * inverse;
  }
  /// An order on the elements, by their least non-negative integers; minus infinity is below all.
  friend constexpr Field max(Field a, Field b) {
    if (a.is_minus_infinity()) return b;
    return b.is_minus_infinity() || a.value_ >= b.value_ ? a : b;
  }
  /// What a nonlinear function of that name makes of this element.
  constexpr Field hashed(std::string_view name) const {
    u64 key = mix(value_ + 0x9e3779b97f4a7c15u);
    for (const char c : name) key = mix(key ^ static_cast<unsigned char>(c));
    return random(key);
  }

  /// Any product of two elements, or a sum of at most 32 such, as an element.
  static constexpr Field reduce(u128 wide) {
    const u64 low = static_cast<u64>(wide) & prime;
    const u64 middle = static_cast<u64>(wide >> 61) & prime;
    const u64 high = static_cast<u64>(wide >> 122);
    return Field(low + middle + high);
  }

 private:
  constexpr explicit Field(u64 value) : value_((value & prime) + (value >> 61)) {
    if (value_ >= prime) value_ -= prime;
  }
  constexpr Field(u64 symbol, int) : value_(symbol) {}

  u64 value_ = 0;
};

constexpr Field Field::of_float(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  const u32 exponent = (bits >> 23) & 0xffu;
  if (exponent == 0xff)
    return (bits >> 31) != 0 && (bits & 0x7fffffu) == 0 ? minus_infinity() : Field(7).hashed("not finite");
  Field result = Field((bits & 0x7fffffu) | (exponent != 0 ? 0x800000u : 0u));
  const int shift = static_cast<int>(exponent != 0 ? exponent : 1) - 150;
  const Field half = Field((prime + 1) / 2);
  for (int i = 0; i < (shift < 0 ? -shift : shift); ++i) result = result * (shift < 0 ? half : Field(2));
  return (bits >> 31) != 0 ? Field(0) - result : result;
}

}  // namespace tilewright::exact
