#include "gemm/contract.hpp"

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include "core/overlap.hpp"

namespace tilewright::gemm_detail {
namespace {

void check_view(const char* name, const MatrixView& view) {
  const ByteRange range = byte_range(view);  // throws for negative extents and for addresses that do not fit
  if (view.data == nullptr && view.rows > 0 && view.cols > 0) {
    throw Error(ErrorCode::null_data,
                fmt::format("{} is {}×{} but its data pointer is null", name, view.rows, view.cols));
  }
  static_cast<void>(range);
}

}  // namespace

void check_operands(const MatrixView& a, const MatrixView& b) {
  check_view("a", a);
  check_view("b", b);
  for (const auto& [name, view] : {std::pair{"a", &a}, std::pair{"b", &b}}) {
    if (view->type == DType::f64) {
      throw Error(ErrorCode::unsupported_type,
                  fmt::format("{} is f64, which cannot be multiplied; convert it to f32, f16 or bf16 first", name));
    }
  }
  if (a.type != b.type) {
    throw Error(
        ErrorCode::input_types,
        fmt::format("a is {} and b is {}: both inputs must have the same element type; convert one of them first",
                    name_of(a.type), name_of(b.type)));
  }
  if (a.cols != b.rows) {
    throw Error(ErrorCode::inner_extents, fmt::format("a is {}×{} and b is {}×{}: inner extents {} and {} differ",
                                                      a.rows, a.cols, b.rows, b.cols, a.cols, b.rows));
  }
}

void check_output(const MatrixView& a, const MatrixView& b, const MatrixView& c) {
  check_view("c", c);
  if (c.type == DType::f64) {
    throw Error(ErrorCode::unsupported_type, "c is f64, which cannot be written; give an output of f32, f16 or bf16");
  }
  if (c.rows != a.rows || c.cols != b.cols) {
    throw Error(ErrorCode::output_extents, fmt::format("c is {}×{} but a is {}×{} and b is {}×{}: c must be {}×{}",
                                                       c.rows, c.cols, a.rows, a.cols, b.rows, b.cols, a.rows, b.cols));
  }
  if (core::overlaps_itself(c)) {
    throw Error(
        ErrorCode::output_overlaps_itself,
        fmt::format(
            "c is {}: two of its elements share memory, so a result would be lost; give an output whose elements "
            "are apart",
            to_string(c)));
  }
  for (const auto& [name, view] : {std::pair{"a", &a}, std::pair{"b", &b}}) {
    if (core::overlap(c, *view)) {
      throw Error(
          ErrorCode::output_overlaps_input,
          fmt::format(
              "c ({}) shares memory with {} ({}), which would be overwritten while it is still read; give an output "
              "of its own",
              to_string(c), name, to_string(*view)));
    }
  }
}

}  // namespace tilewright::gemm_detail
