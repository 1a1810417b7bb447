// NumPy's .npy files as operands and results.
#pragma once

#include <filesystem>
#include <memory>

#include <tilewright/view.hpp>

namespace tilewright {

struct NpyOptions {
  /// Read two-byte void elements ('<V2', '|V2'), which is how NumPy saves bfloat16, as bf16. They are refused
  /// otherwise.
  bool void2_as_bf16 = false;
};

/// A matrix in a file. The file is mapped, not read: pages arrive as they are used, so a file larger than memory can be
/// an operand. (A big-endian or misaligned file is converted into memory.) The view is valid as long as the object
/// lives; the file must not be shortened meanwhile.
class NpyMatrix {
 public:
  MatrixView view() const { return view_; }
  operator MatrixView() const { return view_; }

 private:
  friend NpyMatrix read_npy(const std::filesystem::path&, const NpyOptions&);
  std::shared_ptr<const void> storage_;
  MatrixView view_;
};

/// Opens format 1, 2 or 3, C or Fortran order (which becomes strides), little- or big-endian '<f2', '<f4', '<f8'.
/// Throws file_open, the npy_* errors, and too_large where a conversion does not fit in memory; the message names the
/// file and the offending values.
NpyMatrix read_npy(const std::filesystem::path& path, const NpyOptions& options = {});

/// Writes the matrix in C order, format 1, little-endian; bf16 as '<V2'. The file appears whole or not at all: a
/// temporary file beside it is written, flushed and renamed. A file that is replaced keeps its permissions, and one
/// that this process may not write to is not replaced; a symbolic link keeps pointing to its file, which need not exist
/// yet. Throws file_open, null_data, negative_extent and address_range.
void write_npy(const std::filesystem::path& path, const MatrixView& matrix);

}  // namespace tilewright
