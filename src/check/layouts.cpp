#include "check/layouts.hpp"

namespace tilewright::exact {

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::packed:
      return "packed";
    case Layout::row_padded:
      return "row-padded";
    case Layout::transposed:
      return "transposed";
    case Layout::transposed_padded:
      return "transposed, padded";
    case Layout::stepped:
      return "stepped slice";
    case Layout::shifted:
      return "base off by one";
    case Layout::flipped_rows:
      return "rows flipped";
    case Layout::flipped:
      return "both axes flipped";
  }
  return "";
}

Operand place(std::string name, Role role, Layout layout, i64 rows, i64 cols, DType type, int slot) {
  // The buffer as a matrix of its own, of which the operand is a view.
  const i64 size = size_of(type);
  char* const base = reinterpret_cast<char*>(static_cast<u64>(slot + 1) << 40);
  const auto whole = [&](i64 buffer_rows, i64 buffer_cols) {
    return MutableMatrixView{base, type, buffer_rows, buffer_cols, buffer_cols, 1};
  };
  MutableMatrixView memory;
  MutableMatrixView view;
  const Slice all;
  switch (layout) {
    case Layout::packed:
      memory = whole(rows, cols);
      view = memory;
      break;
    case Layout::row_padded:
      memory = whole(rows, cols + 3);
      view = memory.slice(all, {0, cols, 1});
      break;
    case Layout::transposed:
      memory = whole(cols, rows);
      view = memory.transposed();
      break;
    case Layout::transposed_padded:
      memory = whole(cols, rows + 5);
      view = memory.slice(all, {0, rows, 1}).transposed();
      break;
    case Layout::stepped:
      memory = whole(2 * rows, 3 * cols);
      view = memory.slice({1, 2 * rows, 2}, {2, 3 * cols, 3});
      break;
    case Layout::shifted:
      memory = whole(1, rows * cols + 1);
      view = {base + size, type, rows, cols, cols, 1};
      break;
    case Layout::flipped_rows:
      memory = whole(rows, cols);
      view = memory.flipped_rows();
      break;
    case Layout::flipped:
      memory = whole(rows, cols);
      view = memory.flipped_rows().flipped_cols();
      break;
  }
  return {view, {std::move(name), role, base, memory.rows * memory.cols * size, {view}}};
}

}  // namespace tilewright::exact
