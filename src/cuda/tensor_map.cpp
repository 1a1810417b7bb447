#include "cuda/tensor_map.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda/driver.hpp"

namespace tilewright::cuda {
namespace {

// Numbers of the driver's interface.
enum DataType : int { float16 = 6, bfloat16 = 9 };
enum Swizzle : int { swizzle_32 = 1, swizzle_64 = 2, swizzle_128 = 3 };
constexpr int no_interleave = 0, promote_to_256_bytes = 3, fill_with_zeros = 0;

}  // namespace

TensorMap tensor_map(const MatrixView& view, i64 rows, i64 cols, int axis) {
  constexpr i64 element = 2, row_alignment = 16;
  const bool along_cols = axis == 1;
  const i64 block_inner = along_cols ? cols : rows, block_outer = along_cols ? rows : cols;
  const int span = chunk_span(static_cast<int>(block_inner * element));
  const i64 inner = along_cols ? view.cols : view.rows, outer = along_cols ? view.rows : view.cols;
  // An extent of 0 or a stride that is never taken must be given as something that could be.
  const i64 stride = outer > 1 ? (along_cols ? view.row_stride : view.col_stride) * element : row_alignment;
  const unsigned long long extents[2] = {static_cast<unsigned long long>(std::max<i64>(inner, 1)),
                                         static_cast<unsigned long long>(std::max<i64>(outer, 1))};
  const unsigned long long strides[1] = {static_cast<unsigned long long>(stride)};
  const unsigned box[2] = {static_cast<unsigned>(span * row_alignment / element), static_cast<unsigned>(block_outer)};
  const unsigned steps[2] = {1, 1};
  TensorMap map;
  if (driver().tensor_map_encode_tiled == nullptr) {
    throw Error(ErrorCode::driver,
                "the NVIDIA driver has no cuTensorMapEncodeTiled, which plans by tma need: it is older "
                "than CUDA 12.0; ask for a=async_copy b=async_copy, or take a newer one");
  }
  check(driver().tensor_map_encode_tiled(&map, view.type == DType::f16 ? float16 : bfloat16, 2, view.data, extents,
                                         strides, box, steps, no_interleave,
                                         span == 8   ? swizzle_128
                                         : span == 4 ? swizzle_64
                                                     : swizzle_32,
                                         promote_to_256_bytes, fill_with_zeros),
        fmt::format("cuTensorMapEncodeTiled({} x {} elements, rows {} bytes apart, boxes of {} x {})", inner, outer,
                    stride, box[0], box[1]));
  return map;
}

}  // namespace tilewright::cuda
