// Copies of operands on a device into rows of another pitch: what a plan with pack(…) does before it multiplies, and the
// benchmark's peer `pad` around its product.
#pragma once

#include <string>

#include <tilewright/view.hpp>
#include "cuda/driver.hpp"

namespace tilewright::cuda {

/// The translation unit of the kernel that copies elements of so many bytes: 2 or 4.
const std::string& row_copy_unit(i64 element_bytes);

/// Where a copied row ends: behind its last element, or behind the chunk of 16 bytes that this is in, filled with
/// zeros: whoever reads whole chunks then reads nothing that was never written.
enum class RowEnd : unsigned char { last_element, whole_chunk };

/// The copy, loaded on a device, of elements of so many bytes.
class RowCopy {
 public:
  /// Throws Error driver, kernel.
  RowCopy(int device, i64 element_bytes);
  /// Enqueues the copy of a view whose columns are adjacent, or have any other stride, to `to`, where they are adjacent
  /// and rows `pitch` elements apart. What is between the rows there stays as it is, but for what `end` says. Throws
  /// Error driver.
  void enqueue(const MatrixView& from, void* to, i64 pitch, Stream stream, RowEnd end = RowEnd::last_element) const;

 private:
  int device_;
  Function function_;
};

}  // namespace tilewright::cuda
