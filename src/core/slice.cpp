// parse_slices: the text "r0:r1:rs,c0:c1:cs" into two slices.
//
// Python's syntax where it means a range: missing parts, None, signs, spaces, numbers of any length (they saturate,
// since out-of-range ones are clamped anyway). What would be another kind of index in NumPy is refused with what to
// write instead.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <tilewright/error.hpp>
#include <tilewright/view.hpp>

namespace tilewright {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Splits at every separator, into at most `Most` fields: more are counted but not kept.
template <std::size_t Most>
struct Fields {
  std::array<std::string_view, Most> field{};
  std::size_t count = 0;

  Fields(std::string_view text, char separator) {
    for (;;) {
      const std::size_t end = text.find(separator);
      if (count < Most) field[count] = trimmed(text.substr(0, end));
      ++count;
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }
};

[[noreturn]] void fail(std::string_view text, const std::string& what) {
  throw Error(ErrorCode::slice_syntax, fmt::format("slice \"{}\": {}", text, what));
}

bool is_number(std::string_view word) {
  if (!word.empty() && (word.front() == '-' || word.front() == '+')) word.remove_prefix(1);
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A number as is_number accepts it, clamped to 64 bits.
i64 number(std::string_view word) {
  const bool negative = word.front() == '-';
  if (word.front() == '+') word.remove_prefix(1);
  i64 value = 0;
  if (std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc::result_out_of_range) {
    value = negative ? std::numeric_limits<i64>::min() : std::numeric_limits<i64>::max();
  }
  return value;
}

/// The range that keeps what one index names: "3" -> "3:4". -1 has no index after it.
std::string range_of(std::string_view index) {
  const i64 value = number(index);
  if (value == -1 || value == std::numeric_limits<i64>::max()) return fmt::format("{}:", value);
  return fmt::format("{}:{}", value, value + 1);
}

Slice parse_axis(std::string_view text, std::string_view part, std::string_view axis) {
  const Fields<3> fields(part, ':');
  if (fields.count == 1) {
    if (part.empty()) fail(text, fmt::format("nothing is given for the {}; write : for all of them", axis));
    if (is_number(part)) {
      fail(text, fmt::format("the single index {} for the {} would give a one-dimensional array; write {}", part, axis,
                             range_of(part)));
    }
    fail(text, fmt::format("\"{}\" for the {} is not a range; write start:stop or start:stop:step", part, axis));
  }
  if (fields.count > 3) {
    fail(text, fmt::format("\"{}\" for the {} has {} colons; start:stop:step has two", part, axis, fields.count - 1));
  }
  Slice slice;
  const std::array<std::optional<i64>*, 3> values = {&slice.start, &slice.stop, &slice.step};
  for (std::size_t i = 0; i < fields.count; ++i) {
    const std::string_view word = fields.field[i];
    if (word.empty() || word == "None") continue;
    if (!is_number(word)) fail(text, fmt::format("\"{}\" for the {} is not an integer", word, axis));
    *values[i] = number(word);
  }
  if (slice.step == 0) {
    throw Error(ErrorCode::slice_step_zero,
                fmt::format("slice \"{}\": the {} have step 0; use 1 or more, or a negative step to walk backwards",
                            text, axis));
  }
  return slice;
}

}  // namespace

Slices parse_slices(std::string_view text) {
  const Fields<2> axes(text, ',');
  if (axes.count > 2) fail(text, fmt::format("{} axes are given; a matrix has rows and columns", axes.count));
  Slices slices;
  slices.rows = parse_axis(text, axes.field[0], "rows");
  if (axes.count == 2) slices.cols = parse_axis(text, axes.field[1], "columns");
  return slices;
}

}  // namespace tilewright
