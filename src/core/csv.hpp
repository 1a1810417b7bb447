// Tables in CSV text: lines with their place for messages, and cells. What the columns mean is the caller's.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace tilewright::core::csv {

/// Where a message points: "shapes.csv, line 7".
struct Place {
  std::string_view source;
  std::size_t line;
};

/// Throws Error problem with the place in front.
[[noreturn]] void refuse(const Place& place, std::string_view message);

/// Cells without the spaces around them.
std::vector<std::string_view> split(std::string_view text, char at = ',');

/// Calls use(line, place) for every line that holds more than spaces, a byte order mark and the spaces around it left out.
void for_each_line(std::string_view text, std::string_view source,
                   const std::function<void(std::string_view line, const Place& place)>& use);

}  // namespace tilewright::core::csv
