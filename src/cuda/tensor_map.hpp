// Tensor maps: what the tensor memory accelerator must know of a matrix to copy blocks of it.
#pragma once

#include <tilewright/cuda.hpp>

namespace tilewright::cuda {

/// The map of a view from which blocks of rows x cols are taken, adjacent along an axis as Move has it. Throws Error
/// driver.
TensorMap tensor_map(const MatrixView& view, i64 rows, i64 cols, int axis);

}  // namespace tilewright::cuda
