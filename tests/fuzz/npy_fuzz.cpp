// Fuzz target of the .npy reader: any bytes give a layout that lies within them, or an Error; nothing else.
//
// The first byte of an input says what the rest is: a whole file (0), or a header's text to which magic, version,
// length and the elements it asks for are added, so that the fuzzer need not guess lengths to get past the first
// checks. tests/fuzz/npy.dict has the words of the format.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <tilewright/error.hpp>

#include "io/npy_format.hpp"

namespace {

using tilewright::i64;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Parses a whole file as read_npy does, and reads every byte of its elements.
void parse(std::span<const std::byte> file, const tilewright::NpyOptions& options) {
  const tilewright::io::NpyLayout layout = tilewright::io::parse_npy_header(file, "input", options);
  tilewright::io::check_npy_size(layout, static_cast<i64>(file.size()), "input");
  require(layout.data_offset + layout.data_bytes == static_cast<i64>(file.size()));
  const auto elements = file.subspan(static_cast<std::size_t>(layout.data_offset));
  const tilewright::MatrixView view{elements.data(), layout.type,       layout.rows,
                                    layout.cols,     layout.row_stride, layout.col_stride};
  const tilewright::ByteRange bytes = byte_range(view);
  require(bytes.begin >= elements.data() && bytes.end <= elements.data() + elements.size());
  const tilewright::Matrix copy = converted(layout, elements);
  require(copy.rows() == layout.rows && copy.cols() == layout.cols);
}

/// The bytes of elements that the header asks for, as far as they are few.
i64 elements_wanted(std::span<const std::byte> prefix, const tilewright::NpyOptions& options) {
  const i64 bytes = tilewright::io::parse_npy_header(prefix, "input", options).data_bytes;
  return bytes <= 4096 ? bytes : 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t mode = data[0];
  const std::span<const std::byte> input = std::as_bytes(std::span(data + 1, size - 1));
  const tilewright::NpyOptions options{.void2_as_bf16 = (mode & 1) != 0};
  try {
    if (mode < 2) {
      parse(input, options);
      return 0;
    }
    const std::size_t length = std::min<std::size_t>(input.size(), 65535);
    const bool short_length = mode < 128;  // version 1
    std::vector<std::byte> file;
    for (const char c : tilewright::io::npy_magic) file.push_back(static_cast<std::byte>(c));
    file.insert(file.end(),
                {std::byte(short_length ? 1 : 2), std::byte(0), std::byte(length & 0xff), std::byte(length >> 8)});
    if (!short_length) file.insert(file.end(), {std::byte(0), std::byte(0)});
    file.insert(file.end(), input.begin(), input.begin() + static_cast<std::ptrdiff_t>(length));
    file.resize(file.size() + static_cast<std::size_t>(elements_wanted(file, options)));
    parse(file, options);
  } catch (const tilewright::Error& error) {
    // What is wrong with a file is one of the errors about files, and is said.
    require(error.code() >= tilewright::ErrorCode::npy_magic && error.code() <= tilewright::ErrorCode::npy_size);
    require(std::string_view(error.what()).starts_with("input: ") && std::string_view(error.what()).size() < 600);
  }
  return 0;
}
