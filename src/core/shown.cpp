// Foreign text in messages; see shown.hpp.
#include "core/shown.hpp"

#include <algorithm>
#include <vector>

namespace tilewright::core {
namespace {

unsigned byte_at(std::string_view text, std::size_t place) { return static_cast<unsigned char>(text[place]); }

/// How many bytes the printable UTF-8 character at the beginning has; 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return first >= ' ' && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xc2 && first <= 0xdf   ? 2
                           : first >= 0xe0 && first <= 0xef ? 3
                           : first >= 0xf0 && first <= 0xf4 ? 4
                                                            : 0;
  if (size == 0 || text.size() < size) return 0;
  unsigned point = first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, i) & 0xc0u) != 0x80u) return 0;
    point = point << 6 | (byte_at(text, i) & 0x3fu);
  }
  constexpr unsigned shortest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  const bool breaks_or_turns_lines = (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
  if (point < shortest[size] || point > 0x10ffff || surrogate || point < 0xa0 || breaks_or_turns_lines) return 0;
  return size;
}

/// One character, or one escaped byte, after the other.
std::vector<std::string> pieces(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    if (size > 0) {
      result.emplace_back(text.substr(0, size));
    } else {
      result.push_back({'\\', 'x', digits[byte_at(text, 0) >> 4], digits[byte_at(text, 0) & 15]});
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (const std::string& piece : pieces(text)) result += piece;
  return result;
}

std::string shown(std::string_view text, std::size_t most) {
  const std::vector<std::string> all = pieces(text);
  const bool whole = all.size() <= most;
  const std::size_t head = whole ? all.size() : (most - 3) / 2, tail = whole ? 0 : most - 3 - head;
  std::string result;
  for (std::size_t i = 0; i < head; ++i) result += all[i];
  if (!whole) result += "...";
  for (std::size_t i = all.size() - tail; i < all.size(); ++i) result += all[i];
  return result;
}

}  // namespace tilewright::core
