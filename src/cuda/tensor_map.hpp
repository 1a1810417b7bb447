// Tensor maps: what the tensor memory accelerator must know of a matrix to copy blocks of it.
#pragma once

#include <tilewright/cuda.hpp>
#include <tilewright/tile/cuda/parts.hpp>

namespace tilewright::cuda {

/// The map of a view from which blocks of rows x cols are taken, adjacent along an axis as Move has it. Throws Error
/// driver.
TensorMap tensor_map(const MatrixView& view, i64 rows, i64 cols, int axis);

/// The maps of the classes of a matrix whose rows run along its columns, from which blocks of rows x cols are taken:
/// Classes::map says which is whose.
void class_maps(const MatrixView& view, const tile::Classes& classes, i64 rows, i64 cols,
                TensorMap (&maps)[most_class_maps]);

}  // namespace tilewright::cuda
