#include "core/csv.hpp"

#include <fmt/format.h>

#include <tilewright/error.hpp>

namespace tilewright::core::csv {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r";
  const std::size_t first = text.find_first_not_of(spaces);
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

}  // namespace

void refuse(const Place& place, std::string_view message) {
  throw Error(ErrorCode::problem, fmt::format("{}, line {}: {}", place.source, place.line, message));
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = text.find(at);
    cells.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return cells;
    text = text.substr(end + 1);
  }
}

void for_each_line(std::string_view text, std::string_view source,
                   const std::function<void(std::string_view line, const Place& place)>& use) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (!line.empty()) use(line, {source, number});
  }
}

}  // namespace tilewright::core::csv
