// Copies of operands on a device into rows of another pitch: what a plan with pack(…) does before it multiplies, and the
// benchmark's peer `pad` around its product.
#pragma once

#include <string>

#include <tilewright/view.hpp>
#include "cuda/driver.hpp"

namespace tilewright::cuda {

/// The translation unit of the kernel that copies elements of so many bytes: 2 or 4.
const std::string& row_copy_unit(i64 element_bytes);

/// The copy, loaded on a device, of elements of so many bytes.
class RowCopy {
 public:
  /// Throws Error driver, kernel.
  RowCopy(int device, i64 element_bytes);
  /// Enqueues the copy of a view whose columns are adjacent, or have any other stride, to `to`, where they are adjacent
  /// and rows `pitch` elements apart, a multiple of 16 bytes. Behind a row its last chunk of 16 bytes is filled with zeros;
  /// what else is between the rows stays as it is. Throws Error driver.
  void enqueue(const MatrixView& from, void* to, i64 pitch, Stream stream) const;

 private:
  int device_;
  Function function_;
};

}  // namespace tilewright::cuda
