// Counts that do not overflow silently, and the formatting shared by explain's parts.
#include "plan/number.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace tilewright::plan {

Count count_of(i64 value) { return {static_cast<double>(value), value, true}; }

Count product(std::initializer_list<i64> factors) {
  Count result = count_of(1);
  for (const i64 factor : factors) {
    result.value *= static_cast<double>(factor);
    if (factor == 0) return count_of(0);
    result.fits = result.fits && !__builtin_mul_overflow(result.exact, factor, &result.exact);
  }
  return result;
}

Count operator+(const Count& x, const Count& y) {
  Count result{x.value + y.value, 0, x.fits && y.fits};
  result.fits = result.fits && !__builtin_add_overflow(x.exact, y.exact, &result.exact);
  return result;
}

std::string with_separators(i64 value) {
  std::string digits = std::to_string(value);
  const std::size_t start = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > start + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string with_separators(const Count& count) {
  return count.fits ? with_separators(count.exact) : fmt::format("{:.2e}", count.value);
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (bytes >= 10240) return fmt::format("{:.2e} {}", bytes, units[unit]);
  const bool whole = bytes == std::floor(bytes) || bytes >= 1000;
  return whole ? fmt::format("{:.0f} {}", bytes, units[unit]) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string time_text(double microseconds) {
  if (microseconds < 1e3) return fmt::format("{:.3g} us", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.3g} ms", microseconds / 1e3);
  return microseconds < 1e9 ? fmt::format("{:.3g} s", microseconds / 1e6) : fmt::format("{:.2e} s", microseconds / 1e6);
}

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  const double scaled = value * scale;
  return std::abs(scaled) < 0x1p52 ? std::round(scaled) / scale : value;
}

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t width = 80;
  const std::size_t room = width - indent;
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    if (column != 0 && column + 1 + word.size() > room) {
      result += '\n';
      result.append(indent, ' ');
      column = 0;
    } else if (column != 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return result;
}

}  // namespace tilewright::plan
