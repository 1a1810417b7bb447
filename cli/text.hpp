// Numbers as people read them, and as JSON can hold them.
#pragma once

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include <tilewright/dtype.hpp>

namespace tilewright::cli {

using Json = nlohmann::ordered_json;

/// 1183000 as "1,183,000".
inline std::string grouped(i64 value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

/// JSON has no infinity and no NaN: they become the strings "inf", "-inf" and "nan".
inline Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace tilewright::cli
