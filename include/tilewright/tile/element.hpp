// The element types of matrices and their conversions to and from float.
//
// This header is part of the tile language: it includes no standard header, so that the same text compiles for a CPU,
// for a GPU by a run-time compiler, and in the exact checker. Conversions work on bits and are constexpr; they round to
// nearest, ties to even, keep subnormals, overflow to infinity past the midpoint, and keep a NaN a (quiet) NaN.
#pragma once

namespace tilewright {

#ifdef __INT64_TYPE__
using i64 = __INT64_TYPE__;  // the same type as std::int64_t
#else
using i64 = long long;
#endif
using u16 = unsigned short;
using u32 = unsigned int;

namespace detail {
template <class T>
concept HasFractions = static_cast<T>(0.5f) != static_cast<T>(0);
}  // namespace detail

/// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. Made of its bits; of a number by to_f16.
struct f16 {
  u16 bits;
  f16() = default;
  constexpr explicit f16(u16 its_bits) : bits(its_bits) {}
  template <detail::HasFractions T>
  f16(T number) = delete;                                // to_f16 rounds it
  friend constexpr bool operator==(f16, f16) = default;  // compares bits
};

/// bfloat16: the upper half of an IEEE 754 binary32. Made of its bits; of a number by to_bf16.
struct bf16 {
  u16 bits;
  bf16() = default;
  constexpr explicit bf16(u16 its_bits) : bits(its_bits) {}
  template <detail::HasFractions T>
  bf16(T number) = delete;                                 // to_bf16 rounds it
  friend constexpr bool operator==(bf16, bf16) = default;  // compares bits
};

constexpr float to_float(float value) { return value; }

constexpr float to_float(bf16 value) { return __builtin_bit_cast(float, static_cast<u32>(value.bits) << 16); }

constexpr float to_float(f16 value) {
  const u32 sign = static_cast<u32>(value.bits & 0x8000u) << 16;
  const u32 exponent = (value.bits >> 10) & 0x1fu;
  const u32 fraction = value.bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(u32, magnitude));
  }
  if (exponent == 0x1f) {  // infinity, or NaN made quiet
    return __builtin_bit_cast(float, sign | 0x7f800000u | (fraction != 0 ? 0x400000u : 0u) | (fraction << 13));
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (fraction << 13));
}

constexpr bf16 to_bf16(float value) {
  const u32 x = __builtin_bit_cast(u32, value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return bf16{static_cast<u16>((x >> 16) | 0x40u)};
  return bf16{static_cast<u16>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16)};
}

constexpr f16 to_f16(float value) {
  const u32 x = __builtin_bit_cast(u32, value);
  const u32 sign = (x >> 16) & 0x8000u;
  const u32 magnitude = x & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return f16{static_cast<u16>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
  if (magnitude >= 0x477ff000u) return f16{static_cast<u16>(sign | 0x7c00u)};  // from 65520, the midpoint past 65504
  if (magnitude >= 0x38800000u) {                                              // normal from 2^-14
    const u32 rebased = magnitude - (112u << 23);
    return f16{static_cast<u16>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13))};
  }
  if (magnitude < 0x33000000u) return f16{static_cast<u16>(sign)};  // below 2^-25, half of the smallest subnormal
  const u32 shift = 126u - (magnitude >> 23);                       // 14..24: units of 2^-24
  const u32 significand = (magnitude & 0x7fffffu) | 0x800000u;
  const u32 kept = significand >> shift;
  const u32 rest = significand & ((1u << shift) - 1u);
  const u32 half = 1u << (shift - 1u);
  return f16{static_cast<u16>(sign | (kept + (rest > half || (rest == half && (kept & 1u) != 0) ? 1u : 0u)))};
}

/// from_float<E>(value): value rounded once to element type E.
template <class E>
constexpr E from_float(float value);
template <>
constexpr float from_float<float>(float value) {
  return value;
}
template <>
constexpr f16 from_float<f16>(float value) {
  return to_f16(value);
}
template <>
constexpr bf16 from_float<bf16>(float value) {
  return to_bf16(value);
}

}  // namespace tilewright
