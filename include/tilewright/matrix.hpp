// A matrix that owns its memory: contiguous, row-major, 64-byte aligned.
#pragma once

#include <memory>
#include <utility>

#include <tilewright/view.hpp>

namespace tilewright {

class Matrix {
 public:
  Matrix() = default;
  /// rows x cols elements, not initialised. Throws negative_extent, and too_large where memory does not suffice.
  Matrix(i64 rows, i64 cols, DType type);
  /// A matrix moved from is empty.
  Matrix(Matrix&& other) noexcept : memory_(std::move(other.memory_)), view_(std::exchange(other.view_, {})) {}
  Matrix& operator=(Matrix&& other) noexcept {
    memory_ = std::move(other.memory_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }

  i64 rows() const { return view_.rows; }
  i64 cols() const { return view_.cols; }
  DType type() const { return view_.type; }

  MatrixView view() const { return view_; }
  MutableMatrixView view() { return view_; }
  operator MatrixView() const { return view_; }
  operator MutableMatrixView() { return view_; }

  /// The elements, row by row. E must be the matrix's element type.
  template <class E>
  E* elements() {
    return static_cast<E*>(view_.data);
  }
  template <class E>
  const E* elements() const {
    return static_cast<const E*>(view_.data);
  }

 private:
  struct Free {
    void operator()(void* memory) const noexcept;
  };
  std::unique_ptr<void, Free> memory_;
  MutableMatrixView view_;
};

}  // namespace tilewright
