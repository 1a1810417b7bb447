// The .npy format as bytes: what a file says about the matrix in it.
//
// Layout of a file: 6 bytes of magic, 2 of version (major, minor), the length of the header (little-endian: 2 bytes in
// version 1, 4 in versions 2 and 3), the header (a Python dict literal of 'descr', 'fortran_order' and 'shape'), the
// elements. Everything here works on bytes at hand and allocates nothing but messages, so that a hostile header can
// cost nothing; the fuzz target (tests/fuzz/) drives these functions. read_npy (npy_read.cpp) maps a file and calls
// them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <tilewright/matrix.hpp>
#include <tilewright/npy.hpp>

namespace tilewright::io {

inline constexpr std::string_view npy_magic("\x93NUMPY", 6);

/// The longest header accepted. Version 1 cannot say more than 65535; a real one needs about a hundred bytes.
inline constexpr i64 npy_header_cap = i64{1} << 20;

/// What a header says. Element (i, j) is at data_offset + (i * row_stride + j * col_stride) * size_of(type).
struct NpyLayout {
  DType type = DType::f16;
  bool big_endian = false;
  i64 rows = 0, cols = 0;
  i64 row_stride = 0, col_stride = 0;  // in elements
  i64 data_offset = 0, data_bytes = 0;
};

/// Reads magic, version and header from the first bytes of a file. `file` is its name, for messages.
/// Throws npy_magic, npy_version, npy_header, npy_type, npy_rank, and npy_size where the bytes end within the header.
NpyLayout parse_npy_header(std::span<const std::byte> bytes, std::string_view file, const NpyOptions& options);

/// Throws npy_size unless a file of so many bytes is exactly header and elements.
void check_npy_size(const NpyLayout& layout, i64 file_bytes, std::string_view file);

/// The elements, copied and brought into this machine's byte order. `elements` are the layout's data_bytes bytes.
/// Throws too_large.
Matrix converted(const NpyLayout& layout, std::span<const std::byte> elements);

/// Magic, version 1, length and header of a C-order matrix: a multiple of 64 bytes.
std::string npy_header(DType type, i64 rows, i64 cols);

}  // namespace tilewright::io
