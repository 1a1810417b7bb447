// Parser of .npy headers: a recursive-descent parser of the few Python literals that a header may hold.
//
// Strict on purpose. A header is the only part of a file that steers memory accesses, and what deviates from NumPy's
// own writing (unknown or doubled keys, leading zeros, text after the dict) is damage or an attack more often than a
// dialect. The dialects that exist are read: either quote, a trailing comma, any spaces, Python 2's 3L. Every error
// names the byte of the file at which the parser stood. Start at parse_npy_header, at the end.
#include "io/npy_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <tilewright/error.hpp>

#include "core/checked.hpp"
#include "core/shown.hpp"

namespace tilewright::io {
namespace {

static_assert(std::endian::native == std::endian::little, "'=' in a header means this machine's order: little-endian");

/// A piece of a header for a message.
std::string shown(std::string_view text) { return core::shown(text, 48); }

/// The dict's values, as far as syntax goes.
struct HeaderText {
  std::string_view descr;
  bool fortran_order = false;
  std::string_view shape;        // as written, for messages
  std::array<i64, 2> extents{};  // the first two
  int axes = 0;
};

class Parser {
 public:
  /// `begin` is the place of the header in the file.
  Parser(std::string_view text, i64 begin, std::string_view file) : text_(text), begin_(begin), file_(file) {}

  HeaderText dict() {
    HeaderText header;
    bool descr_seen = false, order_seen = false, shape_seen = false;
    expect('{', "a dict that starts with {");
    while (!accept('}')) {
      skip_blanks();
      const std::size_t key_place = place_;
      const std::string_view key = string("a key in quotes");
      bool* const seen = key == "descr"           ? &descr_seen
                         : key == "fortran_order" ? &order_seen
                         : key == "shape"         ? &shape_seen
                                                  : nullptr;
      if (seen == nullptr) {
        fail_at(key_place,
                fmt::format("has the unknown key '{}'; 'descr', 'fortran_order' and 'shape' are known", shown(key)));
      }
      if (*seen) fail_at(key_place, fmt::format("has the key '{}' twice", key));
      *seen = true;
      expect(':', "a colon after the key");
      if (seen == &descr_seen) header.descr = descr();
      if (seen == &order_seen) header.fortran_order = boolean();
      if (seen == &shape_seen) shape(header);
      if (!accept(',')) {
        expect('}', "a comma or }");
        break;
      }
    }
    const std::size_t end = place_;
    skip_blanks();
    if (place_ != text_.size()) {
      fail_at(place_, fmt::format("goes on after its dict with \"{}\"", shown(text_.substr(place_))));
    }
    for (const auto& [seen, key] :
         {std::pair{descr_seen, "descr"}, {order_seen, "fortran_order"}, {shape_seen, "shape"}}) {
      if (!seen) fail_at(end, fmt::format("ends without the key '{}'", key));
    }
    return header;
  }

 private:
  [[noreturn]] void fail_at(std::size_t place, const std::string& what) const {
    throw Error(ErrorCode::npy_header,
                fmt::format("{}: the .npy header {} (at byte {} of the file); save the matrix again", file_, what,
                            begin_ + static_cast<i64>(place)));
  }
  [[noreturn]] void fail_expecting(std::string_view what) const {
    if (place_ == text_.size()) fail_at(place_, fmt::format("ends where {} should be", what));
    fail_at(place_, fmt::format("has \"{}\" where {} should be", shown(text_.substr(place_, 16)), what));
  }

  void skip_blanks() { place_ = std::min(text_.find_first_not_of(" \t\r\n\f", place_), text_.size()); }
  bool at(char c) const { return place_ < text_.size() && text_[place_] == c; }
  bool at_digit() const { return place_ < text_.size() && text_[place_] >= '0' && text_[place_] <= '9'; }
  bool accept(char c) {
    skip_blanks();
    if (!at(c)) return false;
    ++place_;
    return true;
  }
  void expect(char c, std::string_view what) {
    if (!accept(c)) fail_expecting(what);
  }
  bool accept_word(std::string_view word) {
    if (!text_.substr(place_).starts_with(word)) return false;
    place_ += word.size();
    return true;
  }

  /// A string in either quote. No header needs an escape, so a backslash is refused.
  std::string_view string(std::string_view what) {
    skip_blanks();
    if (!at('\'') && !at('"')) fail_expecting(what);
    const std::size_t first = place_ + 1;
    const std::size_t end = text_.find_first_of(at('"') ? "\"\\\n" : "'\\\n", first);
    if (end == std::string_view::npos) fail_at(place_, "has a string without its closing quote");
    if (text_[end] != text_[place_]) {
      fail_at(end, fmt::format("has \"{}\" within a string", shown(text_.substr(end, 1))));
    }
    place_ = end + 1;
    return text_.substr(first, end - first);
  }

  std::string_view descr() {
    skip_blanks();
    const std::size_t first = place_;
    if (!at('[') && !at('(')) return string("the element type in quotes, such as '<f2',");
    const std::string written = shown(text_.substr(first, bracketed(first)));
    if (at('(')) {
      throw Error(ErrorCode::npy_type,
                  fmt::format("{}: the elements are arrays of their own (the sub-array type {}); save one element of "
                              "each, or load the file in NumPy, where they are further axes, and save a matrix of it",
                              file_, written));
    }
    throw Error(ErrorCode::npy_type,
                fmt::format("{}: the elements are records of several fields ({}); save one field, as in x['name']",
                            file_, written));
  }

  /// Characters from the bracket at `first` to the one that closes it; all that is left if none does.
  std::size_t bracketed(std::size_t first) const {
    int depth = 0;
    char quote = '\0';
    for (std::size_t i = first; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '[' || c == '(') {
        ++depth;
      } else if ((c == ']' || c == ')') && --depth == 0) {
        return i - first + 1;
      }
    }
    return text_.size() - first;
  }

  bool boolean() {
    skip_blanks();
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail_expecting("True or False");
  }

  i64 extent() {
    skip_blanks();
    const std::size_t first = place_;
    const bool negative = at('-');
    if (negative) ++place_;
    while (at_digit()) ++place_;
    const std::string_view digits = text_.substr(first, place_ - first);
    if (digits.empty() || digits == "-") fail_expecting("an extent");
    if (negative) fail_at(first, fmt::format("has the negative extent {}", shown(digits)));
    if (digits.size() > 1 && digits.front() == '0') {
      fail_at(first, fmt::format("has the extent {} with a leading zero", shown(digits)));
    }
    i64 value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) {
      fail_at(first, fmt::format("has the extent {}, which is 2^63 or more", shown(digits)));
    }
    if (at('L')) ++place_;  // a long integer of Python 2
    return value;
  }

  void shape(HeaderText& header) {
    skip_blanks();
    const std::size_t first = place_;
    expect('(', "a shape such as (2, 3)");
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail_expecting("a comma or )");
      const i64 value = extent();
      if (header.axes < 2) header.extents[static_cast<std::size_t>(header.axes)] = value;
      ++header.axes;
      comma = accept(',');
    }
    if (header.axes == 1 && !comma) {
      fail_at(first, "has a shape that is a number in parentheses; one axis is written (3,)");
    }
    header.shape = text_.substr(first, place_ - first);
  }

  std::string_view text_;
  i64 begin_;
  std::string_view file_;
  std::size_t place_ = 0;
};

struct ElementType {
  DType type;
  bool big_endian;
};

/// Whether a name that NumPy takes for floats is none of those that it saves: "float32", "f", "f4 ".
bool is_unusual_float(std::string_view type) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = type.find_first_not_of(blanks);
  if (first == std::string_view::npos) return false;
  const std::string_view bare = type.substr(first, type.find_last_not_of(blanks) - first + 1);
  if (bare == "half" || bare == "single" || bare == "double" || bare == "e" || bare == "d") return true;
  if (bare.front() != 'f') return false;
  const std::string_view digits = type.substr(1);  // of another size where these are digits, and nothing else is there
  return bare != type || digits.empty() || digits.front() == '0' ||
         digits.find_first_not_of("0123456789") != std::string_view::npos;
}

/// '<f2' and its like: an order ('<', '>', '=', '|' or none), a kind and a size in bytes.
ElementType element_type(std::string_view descr, std::string_view file, const NpyOptions& options) {
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr.front()) != std::string_view::npos;
  const bool big_endian = has_order && descr.front() == '>';
  const std::string_view type = has_order ? descr.substr(1) : descr;
  if (type == "f2") return {DType::f16, big_endian};
  if (type == "f4") return {DType::f32, big_endian};
  if (type == "f8") return {DType::f64, big_endian};
  if (type == "V2" && options.void2_as_bf16) return {DType::bf16, big_endian};

  const auto refuse = [&](std::string_view is, std::string_view remedy) {
    throw Error(ErrorCode::npy_type, fmt::format("{}: the elements are '{}', {}; {}", file, shown(descr), is, remedy));
  };
  const char kind = type.empty() ? '\0' : type.front();
  if (type == "V2") {
    refuse("two bytes of unstated meaning, which is how NumPy saves bfloat16",
           "if that is what they are, say so: --in-dtype bf16 on the command line, NpyOptions::void2_as_bf16 in C++");
  }
  if (kind == 'V') refuse("raw bytes of unstated meaning", "convert with x.astype('float32') before saving");
  if (kind == 'O') refuse("Python objects", "convert with x.astype('float32') before saving; objects are never loaded");
  if (kind == 'c') refuse("complex numbers", "save x.real and x.imag apart");
  if (is_unusual_float(type)) {
    refuse("an unusual spelling; '<f2', '<f4', '<f8' and the same with '>', '=' or '|' are read",
           "load the file in NumPy and save it again");
  }
  if (kind == 'f') {
    refuse("floats of another size than 2, 4 or 8 bytes", "convert with x.astype('float32') before saving");
  }
  if (kind == 'i' || kind == 'u' || kind == 'b') {
    refuse("not floats", "convert with x.astype('float32') before saving, or float16 if the values fit");
  }
  refuse("not numbers this library knows", "convert with x.astype('float32') before saving");
  return {};  // not reached
}

NpyLayout layout_of(const HeaderText& header, std::string_view file, const NpyOptions& options) {
  const ElementType element = element_type(header.descr, file, options);
  if (header.axes != 2) {
    const std::string_view remedy =
        header.axes == 0   ? "save x.reshape(1, 1)"
        : header.axes == 1 ? "save x.reshape(1, -1) to make it a row or x.reshape(-1, 1) to make it a column"
                           : "save one part, such as x[0], or x.reshape(-1, x.shape[-1])";
    throw Error(ErrorCode::npy_rank,
                fmt::format("{}: the shape {} has {} {} and a matrix has two; {}", file, shown(header.shape),
                            header.axes, header.axes == 1 ? "axis" : "axes", remedy));
  }
  NpyLayout layout;
  layout.type = element.type;
  layout.big_endian = element.big_endian;
  layout.rows = header.extents[0];
  layout.cols = header.extents[1];
  layout.row_stride = header.fortran_order ? 1 : layout.cols;
  layout.col_stride = header.fortran_order ? layout.rows : 1;
  const std::optional<i64> bytes = core::checked_product(layout.rows, layout.cols, size_of(layout.type));
  if (!bytes) {
    throw Error(
        ErrorCode::npy_header,
        fmt::format("{}: the .npy header has the shape {} of {}, which is 2^63 bytes or more; save the matrix again",
                    file, shown(header.shape), name_of(layout.type)));
  }
  layout.data_bytes = *bytes;
  return layout;
}

template <class Word>
void copy_swapped(std::span<const std::byte> from, void* to, Word (*swap)(Word)) {
  for (std::size_t at = 0; at < from.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, from.data() + at, sizeof word);
    word = swap(word);
    std::memcpy(static_cast<std::byte*>(to) + at, &word, sizeof word);
  }
}

}  // namespace

NpyLayout parse_npy_header(std::span<const std::byte> bytes, std::string_view file, const NpyOptions& options) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(npy_magic)) {
    const std::string_view hint = text.starts_with("PK")
                                      ? "it looks like an .npz archive: save one matrix with numpy.save"
                                      : "save one matrix with numpy.save";
    throw Error(ErrorCode::npy_magic, fmt::format("{}: not an .npy file: it starts with \"{}\" and not with \"{}\"; {}",
                                                  file, shown(text.substr(0, 6)), shown(npy_magic), hint));
  }
  const auto byte = [&](std::size_t place) -> i64 {
    if (place >= bytes.size()) {
      throw Error(ErrorCode::npy_size,
                  fmt::format("{}: the file has {} bytes and ends within the first bytes of its .npy "
                              "header; copy or save it again",
                              file, bytes.size()));
    }
    return std::to_integer<i64>(bytes[place]);
  };
  const i64 major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(ErrorCode::npy_version,
                fmt::format("{}: .npy format version {}.{} is unknown; 1.0, 2.0 and 3.0 are read", file, major, minor));
  }
  const i64 begin = major == 1 ? 10 : 12;
  i64 length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > npy_header_cap) {
    throw Error(ErrorCode::npy_header,
                fmt::format("{}: the .npy header says that it has {} bytes (at byte 8 of the file); at "
                            "most {} are read; save the matrix again",
                            file, length, npy_header_cap));
  }
  if (begin + length > static_cast<i64>(bytes.size())) {
    throw Error(ErrorCode::npy_size,
                fmt::format("{}: the file ends within its .npy header: expected at least {} bytes, found "
                            "{}; copy or save it again",
                            file, begin + length, bytes.size()));
  }
  Parser parser(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(length)), begin, file);
  NpyLayout layout = layout_of(parser.dict(), file, options);
  layout.data_offset = begin + length;
  return layout;
}

void check_npy_size(const NpyLayout& layout, i64 file_bytes, std::string_view file) {
  const i64 found = file_bytes - layout.data_offset;
  if (found == layout.data_bytes) return;
  throw Error(
      ErrorCode::npy_size,
      fmt::format("{}: {}x{} {} takes {} bytes after the header; expected {}, found {}: the file is {}; copy or save "
                  "it again",
                  file, layout.rows, layout.cols, name_of(layout.type), layout.data_bytes, layout.data_bytes, found,
                  found < layout.data_bytes ? "truncated" : "longer than its header says"));
}

Matrix converted(const NpyLayout& layout, std::span<const std::byte> elements) {
  // The order of the elements in memory stays: the layout's strides go on to apply.
  Matrix copy(layout.rows, layout.cols, layout.type);
  if (elements.empty()) return copy;
  void* const to = copy.view().data;
  if (!layout.big_endian) {
    std::memcpy(to, elements.data(), elements.size());
  } else if (size_of(layout.type) == 2) {
    copy_swapped<std::uint16_t>(elements, to, [](std::uint16_t word) { return __builtin_bswap16(word); });
  } else if (size_of(layout.type) == 4) {
    copy_swapped<std::uint32_t>(elements, to, [](std::uint32_t word) { return __builtin_bswap32(word); });
  } else {
    copy_swapped<std::uint64_t>(elements, to, [](std::uint64_t word) { return __builtin_bswap64(word); });
  }
  return copy;
}

std::string npy_header(DType type, i64 rows, i64 cols) {
  constexpr std::array<std::string_view, 4> descr = {"<f2", "<V2", "<f4", "<f8"};  // in the order of DType
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                                 descr[static_cast<std::size_t>(type)], rows, cols);
  constexpr std::size_t begin = 10, line = 64;
  const std::size_t total = (begin + dict.size() + 1 + line - 1) / line * line;
  dict.append(total - begin - dict.size() - 1, ' ');
  dict += '\n';
  std::string header(npy_magic);
  header += {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace tilewright::io
