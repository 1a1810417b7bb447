// Matrix: memory for rows x cols elements, aligned to a cache line.
#include <fmt/format.h>

#include <cstdlib>

#include <tilewright/error.hpp>
#include <tilewright/matrix.hpp>

#include "core/checked.hpp"

namespace tilewright {

void Matrix::Free::operator()(void* memory) const noexcept { std::free(memory); }

Matrix::Matrix(i64 rows, i64 cols, DType type) : view_{nullptr, type, rows, cols, cols, 1} {
  if (rows < 0 || cols < 0) {
    throw Error(ErrorCode::negative_extent,
                fmt::format("a matrix of {}x{} cannot be made: extents are 0 or more", rows, cols));
  }
  constexpr i64 line = 64;
  const std::optional<i64> bytes = core::checked_product(rows, cols, size_of(type));
  if (bytes == 0) return;
  // aligned_alloc wants a multiple of the alignment.
  const std::optional<i64> whole_lines = bytes ? core::checked_add(*bytes, line - 1) : std::nullopt;
  if (whole_lines) {
    memory_.reset(std::aligned_alloc(line, static_cast<std::size_t>(*whole_lines / line * line)));
  }
  if (!memory_) {
    throw Error(ErrorCode::too_large,
                fmt::format("a matrix of {}x{} {} takes {} bytes, which cannot be allocated; work on parts of it", rows,
                            cols, name_of(type), bytes ? fmt::to_string(*bytes) : "more than 2^63"));
  }
  view_.data = memory_.get();
}

}  // namespace tilewright
