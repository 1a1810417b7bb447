// Element types by name: what a view, a file or the command line says about its elements.
#pragma once

#include <optional>
#include <string_view>

#include <tilewright/tile/element.hpp>

namespace tilewright {

/// f16, bf16 and f32 can be multiplied; f64 exists for references and is refused as an operand.
enum class DType : unsigned char { f16, bf16, f32, f64 };

/// Bytes of one element.
constexpr i64 size_of(DType type) { return type == DType::f64 ? 8 : type == DType::f32 ? 4 : 2; }

/// "f16", "bf16", "f32" or "f64".
constexpr std::string_view name_of(DType type) {
  constexpr std::string_view names[] = {"f16", "bf16", "f32", "f64"};
  return names[static_cast<unsigned char>(type)];
}

/// The inverse of name_of; nothing for an unknown name.
constexpr std::optional<DType> parse_dtype(std::string_view name) {
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

/// dtype_of<E>: the DType of a C++ element type.
template <class E>
inline constexpr DType dtype_of = DType::f64;
template <>
inline constexpr DType dtype_of<f16> = DType::f16;
template <>
inline constexpr DType dtype_of<bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of<float> = DType::f32;

}  // namespace tilewright
