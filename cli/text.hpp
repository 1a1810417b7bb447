// Numbers and sentences as people read them, and as JSON can hold them.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

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

/// Words of text in lines of at most `width` columns; a line break in the text stays one.
inline std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    if (end < text.size() && text[end] == '\n') lines.emplace_back();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// One line of JSON. A file's name may be any bytes; those that are not UTF-8 become U+FFFD.
inline std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// JSON has no infinity and no NaN: they become the strings "inf", "-inf" and "nan".
inline Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace tilewright::cli
