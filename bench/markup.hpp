// Text inside of markup: what the page and the picture share.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::bench {

/// With the characters replaced that HTML and SVG give a meaning.
inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

}  // namespace tilewright::bench
