// Views as the tile language's kernels take them: typed, with the same extents and strides.
#pragma once

#include <string>

#include <tilewright/error.hpp>
#include <tilewright/tile/memory.hpp>
#include <tilewright/view.hpp>

namespace tilewright {

namespace detail {
template <class E, class View>
void check_element_type(const View& view) {
  if (view.type == dtype_of<tile::plain<E>>) return;
  std::string message = "a kernel takes a matrix of ";
  message.append(name_of(dtype_of<tile::plain<E>>)).append(", and the view is ").append(to_string(view));
  throw Error(ErrorCode::input_types, message.append("; give a view of that element type"));
}
}  // namespace detail

/// kernel_matrix<const f16>(view): what a kernel reads. Throws Error input_types if the view holds another element type.
template <class E>
requires(tile::is_same<E, const tile::plain<E>>) tile::Matrix<E> kernel_matrix(const MatrixView& view) {
  detail::check_element_type<E>(view);
  return {static_cast<E*>(view.data), view.rows, view.cols, view.row_stride, view.col_stride};
}

/// kernel_matrix<f16>(view): what a kernel writes.
template <class E>
requires(!tile::is_same<E, const tile::plain<E>>) tile::Matrix<E> kernel_matrix(const MutableMatrixView& view) {
  detail::check_element_type<E>(view);
  return {static_cast<E*>(view.data), view.rows, view.cols, view.row_stride, view.col_stride};
}

}  // namespace tilewright
