#include "cuda/row_copy.hpp"

#include <fmt/format.h>

#include "cuda/device.hpp"
#include "cuda/loaded.hpp"

namespace tilewright::cuda {
namespace {

/// A block of threads copies parts of rows. A thread takes every 256th element of a part, the widest that any alignment
/// allows, and a warp's accesses lie side by side. Behind a row's elements are zeros up to `filled`.
constexpr const char* source = R"(
extern "C" __global__ void __launch_bounds__(256)
    tilewright_kernel(Element* to, const Element* from, long long rows, long long cols, long long to_pitch,
                      long long row_stride, long long col_stride, long long filled) {
  constexpr int each = 8, part = 256 * each;
  const long long parts = (cols + part - 1) / part;
  for (long long number = blockIdx.x; number < rows * parts; number += gridDim.x) {
    const long long row = number / parts, first = number % parts * part + threadIdx.x;
    Element values[each];
#pragma unroll
    for (int i = 0; i < each; ++i)
      values[i] = first + i * 256 < cols ? from[row * row_stride + (first + i * 256) * col_stride] : 0;
#pragma unroll
    for (int i = 0; i < each; ++i)
      if (first + i * 256 < filled) to[row * to_pitch + first + i * 256] = values[i];
  }
}
)";
constexpr i64 threads = 256, part = 8 * threads, most_blocks = 0x7fffffff;

}  // namespace

const std::string& row_copy_unit(i64 element_bytes) {
  static const std::string narrow = std::string("typedef unsigned short Element;\n") + source;
  static const std::string wide = std::string("typedef unsigned int Element;\n") + source;
  return element_bytes == 2 ? narrow : wide;
}

RowCopy::RowCopy(int device, i64 element_bytes)
    : device_(device), function_(function_of(row_copy_unit(element_bytes), device, 0)) {}

void RowCopy::enqueue(const MatrixView& from, void* to, i64 pitch, Stream stream, RowEnd end) const {
  if (from.rows == 0 || from.cols == 0) return;
  const void* data = from.data;
  const i64 chunk = 16 / size_of(from.type);
  long long extents[] = {from.rows,       from.cols,
                         pitch,           from.row_stride,
                         from.col_stride, end == RowEnd::whole_chunk ? cdiv(from.cols, chunk) * chunk : from.cols};
  void* parameters[] = {&to, &data, &extents[0], &extents[1], &extents[2], &extents[3], &extents[4], &extents[5]};
  const i64 parts = cdiv(from.cols, part);
  const i64 blocks = from.rows > most_blocks / parts ? most_blocks : from.rows * parts;
  const CurrentDevice current(device_);
  check(driver().launch_kernel(function_, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0, stream, parameters,
                               nullptr),
        fmt::format("cuLaunchKernel({} blocks that copy rows)", blocks));
}

}  // namespace tilewright::cuda
