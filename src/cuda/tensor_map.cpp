#include "cuda/tensor_map.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "cuda/driver.hpp"

namespace tilewright::cuda {
namespace {

// Numbers of the driver's interface.
enum DataType : int { float16 = 6, bfloat16 = 9 };
enum Swizzle : int { swizzle_32 = 1, swizzle_64 = 2, swizzle_128 = 3 };
constexpr int no_interleave = 0, promote_to_128_bytes = 2, promote_to_256_bytes = 3, fill_with_zeros = 0;

/// One axis of a map: elements, elements from one to the next, and those of a box. The first axis' are adjacent.
struct Axis {
  i64 extent, stride, box;
};

template <std::size_t Axes>
TensorMap encode(const void* data, DType type, const std::array<Axis, Axes>& axes) {
  constexpr i64 element = 2, chunk = 16;
  const int span = chunk_span(static_cast<int>(axes[0].box * element));
  std::array<unsigned long long, Axes> extents{}, strides{};
  std::array<unsigned, Axes> box{}, steps{};
  std::string text;
  // What the L2 brings around a row of a box. Of rows that begin inside of a line it is twice the lines already.
  bool whole_lines = reinterpret_cast<std::uintptr_t>(data) % 256 == 0;
  for (std::size_t i = 0; i < Axes; ++i) {
    const auto& [extent, stride, wanted] = axes[i];
    extents[i] = static_cast<unsigned long long>(std::max<i64>(extent, 1));  // 0 would be refused
    // So would be a stride that is never taken and could not be.
    if (i > 0) strides[i - 1] = static_cast<unsigned long long>(extent > 1 ? stride * element : chunk);
    whole_lines = whole_lines && (i == 0 || strides[i - 1] % 256 == 0);
    box[i] = static_cast<unsigned>(i == 0 ? span * chunk / element : wanted);
    steps[i] = 1;
    text += fmt::format("{}{} elements{}, boxes of {}", i == 0 ? "" : "; ", extents[i],
                        i == 0 ? "" : fmt::format(" {} bytes apart", strides[i - 1]), box[i]);
  }
  TensorMap map;
  if (driver().tensor_map_encode_tiled == nullptr) {
    throw Error(ErrorCode::driver,
                "the NVIDIA driver has no cuTensorMapEncodeTiled, which plans by tma need: it is older "
                "than CUDA 12.0; ask for a=async_copy b=async_copy, or take a newer one");
  }
  check(driver().tensor_map_encode_tiled(&map, type == DType::f16 ? float16 : bfloat16, static_cast<unsigned>(Axes),
                                         data, extents.data(), strides.data(), box.data(), steps.data(), no_interleave,
                                         span == 8   ? swizzle_128
                                         : span == 4 ? swizzle_64
                                                     : swizzle_32,
                                         whole_lines ? promote_to_256_bytes : promote_to_128_bytes, fill_with_zeros),
        fmt::format("cuTensorMapEncodeTiled({})", text));
  return map;
}

}  // namespace

TensorMap tensor_map(const MatrixView& view, i64 rows, i64 cols, int axis) {
  const bool along_cols = axis == 1;
  const i64 inner = along_cols ? view.cols : view.rows, outer = along_cols ? view.rows : view.cols;
  const std::array axes = {Axis{inner, 0, along_cols ? cols : rows},
                           Axis{outer, along_cols ? view.row_stride : view.col_stride, along_cols ? rows : cols}};
  return encode(view.data, view.type, axes);
}

void class_maps(const MatrixView& view, const tile::Classes& classes, i64 rows, i64 cols,
                TensorMap (&maps)[most_class_maps]) {
  const i64 chunks = classes.chunks, count = classes.count(), each = view.rows / count;
  for (i64 of = 0; of < std::min(chunks, view.rows); ++of) {
    // The longer classes are the first ones, so those of a chunk class are its first layers.
    const i64 longer = of < classes.longer ? cdiv(classes.longer - of, chunks) : 0;
    const i64 foreign = classes.foreign(static_cast<u32>(of));
    const void* const data =
        static_cast<const std::byte*>(view.data) + (of * view.row_stride - foreign) * size_of(view.type);
    const auto map = [&](i64 layers, i64 rows_of_layer) {
      const std::array axes = {Axis{view.cols + foreign, 0, cols}, Axis{layers, chunks * view.row_stride, 1},
                               Axis{rows_of_layer, count * view.row_stride, rows}};
      return encode(data, view.type, axes);
    };
    if (each > 0) maps[2 * of] = map(classes.lines, each);
    if (longer > 0) maps[2 * of + 1] = map(longer, each + 1);
  }
}

}  // namespace tilewright::cuda
