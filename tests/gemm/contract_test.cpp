// The contract of gemm: every violated rule throws Error with its own code and the actual values, before anything is
// written.
#include <gtest/gtest.h>

#include "tests/core/sanitizer_options.hpp"
#include "tests/gemm/harness.hpp"

namespace {

using namespace tilewright;
using harness::view_of;
using oracle::Edge;
using oracle::Input;
using oracle::Layout;
using oracle::Output;
using oracle::Type;

constexpr double ones(i64, i64) { return 1.0; }

/// Calls `call`, which must throw Error with `code` and a message that has all of `words` in it.
template <class Call>
void expect_refused(ErrorCode code, std::initializer_list<const char*> words, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected " << name_of(code);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << name_of(error.code()) << ": " << error.what();
    for (const char* word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "no \"" << word << "\" in: " << error.what();
    }
  }
}

/// A legal call, 6x4 = 6x5 * 5x4, that each test breaks in one place. c must come out of it as it was.
class Contract : public testing::Test {
 protected:
  Input a_{Type::f16, 6, 5, Layout::packed, Edge::end, ones};
  Input b_{Type::f16, 5, 4, Layout::packed, Edge::end, ones};
  Output c_{Type::f16, 6, 4, Layout::ld_plus_1, Edge::end};
  MatrixView a = view_of(a_.cells()), b = view_of(b_.cells());
  MutableMatrixView c = view_of(c_.cells());
  GemmOptions options;

  void expect_c_untouched() const {
    for (const std::uint32_t bits : oracle::bits_of(c_.cells())) EXPECT_EQ(bits, oracle::untouched_bits(Type::f16));
    EXPECT_TRUE(c_.overwritten_guards().empty());
  }
  void refused(ErrorCode code, std::initializer_list<const char*> words) {
    expect_refused(code, words, [this] { gemm_into(a, b, c, options); });
    expect_refused(code, words, [this] { plan_for(a, b, c, options); });
    expect_c_untouched();
  }
};

TEST_F(Contract, the_call_that_the_others_break_is_legal) {
  gemm_into(a, b, c, options);
  EXPECT_EQ(c_.cells().value(5, 3), 5.0);
  EXPECT_TRUE(c_.overwritten_guards().empty());
}

TEST_F(Contract, inner_extents) {
  b.rows = 3;
  refused(ErrorCode::inner_extents, {"6×5", "3×4", "inner extents 5 and 3 differ"});
  expect_refused(ErrorCode::inner_extents, {"6×5", "3×4"}, [this] { gemm(a, b, options); });
}

TEST_F(Contract, output_extents) {
  c.rows = 5;
  refused(ErrorCode::output_extents, {"5×4", "6×4"});
  c.rows = 6, c.cols = 3;
  refused(ErrorCode::output_extents, {"6×3", "6×4"});
  c = c.transposed();
  refused(ErrorCode::output_extents, {"3×6", "6×4"});
}

TEST_F(Contract, output_extents_of_an_empty_problem) {
  a.rows = 0;
  refused(ErrorCode::output_extents, {"6×4", "0×4"});
}

TEST_F(Contract, input_types) {
  b.type = DType::bf16;
  refused(ErrorCode::input_types, {"f16", "bf16"});
  expect_refused(ErrorCode::input_types, {"f16", "bf16"}, [this] { gemm(a, b, options); });
}

TEST_F(Contract, unsupported_type_says_what_to_do) {
  const std::array<double, 30> wide{};
  a = {wide.data(), DType::f64, 6, 5, 5, 1};
  b = {wide.data(), DType::f64, 5, 4, 4, 1};
  refused(ErrorCode::unsupported_type, {"a is f64", "convert", "f32"});
  expect_refused(ErrorCode::unsupported_type, {"f64", "convert"}, [this] { gemm(a, b, options); });
}

TEST_F(Contract, unsupported_type_of_the_output) {
  std::array<double, 24> wide;
  wide.fill(42.0);
  expect_refused(ErrorCode::unsupported_type, {"c is f64", "f32"}, [&] {
    gemm_into(a, b, MutableMatrixView{wide.data(), DType::f64, 6, 4, 4, 1}, options);
  });
  for (const double cell : wide) EXPECT_EQ(cell, 42.0);
  options.output = DType::f64;
  expect_refused(ErrorCode::unsupported_type, {"f64", "f32"}, [&] { gemm(a, b, options); });
}

TEST_F(Contract, null_data) {
  const MatrixView whole_a = a, whole_b = b;
  a.data = nullptr;
  refused(ErrorCode::null_data, {"a is 6×5", "null"});
  expect_refused(ErrorCode::null_data, {"a is 6×5"}, [this] { gemm(a, b, options); });
  a = whole_a, b.data = nullptr;
  refused(ErrorCode::null_data, {"b is 5×4", "null"});
  b = whole_b, c.data = nullptr;
  refused(ErrorCode::null_data, {"c is 6×4", "null"});
}

TEST_F(Contract, negative_extent) {
  const MatrixView whole_a = a, whole_b = b;
  a.rows = -6;
  refused(ErrorCode::negative_extent, {"-6"});
  a = whole_a, b.cols = -4;
  refused(ErrorCode::negative_extent, {"-4"});
  b = whole_b, c.cols = -4;
  refused(ErrorCode::negative_extent, {"-4"});
}

TEST_F(Contract, address_range) {
  const MatrixView whole_a = a, whole_b = b;
  const MutableMatrixView whole_c = c;
  a.row_stride = i64{1} << 61;  // row 5 would be at byte 5 * 2^62
  refused(ErrorCode::address_range, {"2305843009213693952"});
  expect_refused(ErrorCode::address_range, {"2305843009213693952"}, [this] { gemm(a, b, options); });
  a = whole_a, b.col_stride = std::numeric_limits<i64>::min();
  refused(ErrorCode::address_range, {"-9223372036854775808"});
  b = whole_b, c.row_stride = std::numeric_limits<i64>::max();
  refused(ErrorCode::address_range, {"9223372036854775807"});
  c = whole_c, a.rows = c.rows = 1, a.row_stride = std::numeric_limits<i64>::max();  // one row has no stride
  gemm_into(a, b, c, options);
  EXPECT_EQ(c_.cells().value(0, 0), 5.0);
}

TEST_F(Contract, output_overlaps_itself) {
  const auto with_strides = [this](i64 row, i64 col) { c.row_stride = row, c.col_stride = col; };
  with_strides(0, 1);
  refused(ErrorCode::output_overlaps_itself, {"strides (0, 1)"});
  with_strides(4, 0);
  refused(ErrorCode::output_overlaps_itself, {"strides (4, 0)"});
  with_strides(3, 1);  // a row begins before the previous one has ended
  refused(ErrorCode::output_overlaps_itself, {"strides (3, 1)"});
  with_strides(1, 1);
  refused(ErrorCode::output_overlaps_itself, {"strides (1, 1)"});
  with_strides(1, 5);  // columns of 6 rows, 5 apart
  refused(ErrorCode::output_overlaps_itself, {"strides (1, 5)"});
  with_strides(3, 2);  // C[2, 0] and C[0, 3]
  refused(ErrorCode::output_overlaps_itself, {"strides (3, 2)"});
  c.data = static_cast<u16*>(c.data) + 20;
  with_strides(-3, 1);
  refused(ErrorCode::output_overlaps_itself, {"strides (-3, 1)"});
}

TEST(Outputs, of_one_row_or_column_have_no_stride_on_that_axis) {
  const Input a(Type::f32, 1, 3, Layout::packed, Edge::end, ones);
  const Input b(Type::f32, 3, 8, Layout::packed, Edge::end, ones);
  const Output row(Type::f32, 1, 8, Layout::packed, Edge::end), column(Type::f32, 8, 1, Layout::packed, Edge::end);
  MutableMatrixView c = view_of(row.cells());
  c.row_stride = 0;
  gemm_into(view_of(a.cells()), view_of(b.cells()), c);
  EXPECT_EQ(row.cells().value(0, 7), 3.0);
  c = view_of(column.cells());
  c.col_stride = 0;
  gemm_into(view_of(b.cells()).transposed(), view_of(a.cells()).transposed(), c);
  EXPECT_EQ(column.cells().value(7, 0), 3.0);
}

/// An axis of one element has no stride: whatever stands there, even where any product with it overflows, is not used.
TEST(Strides, of_an_axis_of_one_element_mean_nothing) {
  for (const auto& [m, n, k] :
       {std::array<i64, 3>{1, 40, 40}, {40, 1, 40}, {40, 40, 1}, {1, 1, 40}, {40, 1, 1}, {1, 40, 1}}) {
    for (const i64 odd : {i64{0}, i64{-1}, std::numeric_limits<i64>::max(), std::numeric_limits<i64>::min()}) {
      for (const bool by_columns : {false, true}) {
        const Layout layout = by_columns ? Layout::transposed : Layout::packed;
        const Input left(Type::f16, m, k, layout, Edge::end, ones), right(Type::f16, k, n, layout, Edge::end, ones);
        const Output result(Type::f16, m, n, layout, Edge::end);
        MatrixView a = view_of(left.cells()), b = view_of(right.cells());
        MutableMatrixView c = view_of(result.cells());
        if (m == 1) a.row_stride = c.row_stride = odd;
        if (n == 1) b.col_stride = c.col_stride = odd;
        if (k == 1) a.col_stride = b.row_stride = odd;
        for (const PlanRequest& request : harness::all_programs()) {
          gemm_into(a, b, c, harness::options_of(request));
          for (const std::uint32_t bits : oracle::bits_of(result.cells())) {
            ASSERT_EQ(bits, oracle::encode(Type::f16, static_cast<double>(k)))
                << m << "x" << n << "x" << k << ", stride " << odd;
          }
        }
      }
    }
  }
}

/// Views into one buffer of 64 x 64, which a call may use as operand and result only where they are apart.
class Overlap : public testing::Test {
 protected:
  std::vector<u16> memory_ = std::vector<u16>(64 * 64, 0x3c00);  // ones
  Input ones_{Type::f16, 16, 16, Layout::packed, Edge::end, ones};
  MatrixView other = view_of(ones_.cells());
  MutableMatrixView all{memory_.data(), DType::f16, 64, 64, 64, 1};
  MutableMatrixView part(i64 row, i64 col) const { return all.slice({row, row + 16, {}}, {col, col + 16, {}}); }

  void refused(const MatrixView& in, const MutableMatrixView& out) {
    for (const bool left : {true, false}) {
      expect_refused(ErrorCode::output_overlaps_input, {left ? "a (" : "b (", "c ("}, [&] {
        if (left) {
          gemm_into(in, other, out);
        } else {
          gemm_into(other, in, out);
        }
      });
      for (const u16 bits : memory_) ASSERT_EQ(bits, 0x3c00);
    }
  }
  void legal(const MatrixView& in, const MutableMatrixView& out) {
    for (const bool left : {true, false}) {
      const oracle::Cells got = harness::cells_of(out);
      for (i64 i = 0; i < 16; ++i) {
        for (i64 j = 0; j < 16; ++j) got.set(i, j, std::numeric_limits<double>::quiet_NaN());
      }
      ASSERT_NO_THROW(left ? gemm_into(in, other, out) : gemm_into(other, in, out));
      i64 sixteens = 0, written = 0;
      for (i64 i = 0; i < 16; ++i) {
        for (i64 j = 0; j < 16; ++j) sixteens += got.value(i, j) == 16.0;
      }
      for (const u16 bits : memory_) written += bits != 0x3c00;
      EXPECT_EQ(sixteens, 256);
      EXPECT_EQ(written, 256);
    }
  }
};

TEST_F(Overlap, output_overlaps_input_whole) { refused(part(0, 0), part(0, 0)); }
TEST_F(Overlap, output_overlaps_input_partly) { refused(part(0, 0), part(8, 8)); }
TEST_F(Overlap, output_overlaps_input_in_one_element) { refused(part(0, 0), part(15, 15)); }
TEST_F(Overlap, output_overlaps_input_transposed) { refused(MatrixView(part(4, 4)).transposed(), part(4, 4)); }
TEST_F(Overlap, output_overlaps_input_shifted_by_one_row) { refused(part(0, 0), part(1, 0)); }
TEST_F(Overlap, output_overlaps_input_shifted_by_one_column) { refused(part(0, 1), part(0, 0)); }
TEST_F(Overlap, output_overlaps_input_flipped) { refused(MatrixView(part(0, 0)).flipped_rows(), part(1, 0)); }

TEST_F(Overlap, output_overlaps_input_of_another_type) {
  // One f32 element of c covers two f16 elements of a.
  const MutableMatrixView c{memory_.data() + 14, DType::f32, 16, 16, 32, 1};
  refused(part(0, 0), c);
}

TEST_F(Overlap, output_overlaps_input_broadcast) {
  MatrixView row = part(3, 0);
  row.row_stride = 0;
  refused(row, part(0, 0));
}

TEST_F(Overlap, interleaved_columns_are_apart) {
  const auto even = all.slice({0, 16, {}}, {0, 32, 2}), odd = all.slice({0, 16, {}}, {1, 32, 2});
  legal(even, odd);
}
TEST_F(Overlap, interleaved_rows_are_apart) {
  const auto even = all.slice({0, 32, 2}, {0, 16, {}}), odd = all.slice({1, 32, 2}, {0, 16, {}});
  legal(odd, even);
}
TEST_F(Overlap, left_and_right_half_of_one_matrix_are_apart) { legal(part(0, 0), part(0, 16)); }
TEST_F(Overlap, a_transposed_view_beside_the_output_is_apart) {
  legal(MatrixView(part(0, 16)).transposed(), part(0, 0));
}
TEST_F(Overlap, neighbours_that_touch_are_apart) { legal(part(0, 0), part(16, 0)); }

TEST(Overlaps, inputs_may_share_memory_with_each_other) {
  const Input a(Type::f16, 16, 16, Layout::packed, Edge::end, ones);
  const Output c(Type::f16, 16, 16, Layout::packed, Edge::end);
  gemm_into(view_of(a.cells()), view_of(a.cells()).transposed(), view_of(c.cells()));
  EXPECT_EQ(c.cells().value(15, 15), 16.0);
}

TEST_F(Contract, workspace) {
  const Input wide_a(Type::f16, 6, 64, Layout::packed, Edge::end, ones),
      wide_b(Type::f16, 64, 4, Layout::packed, Edge::end, ones);
  a = view_of(wide_a.cells()), b = view_of(wide_b.cells());
  options.plan.tile = TileShape{16, 16, 16};
  options.plan.split = Split{SplitKind::split_k, 3};
  refused(ErrorCode::workspace, {"288", "0"});  // 3 parts * 6 * 4 * 4 bytes
  options.workspace_bytes = 287;
  refused(ErrorCode::workspace, {"288", "287"});
  expect_refused(ErrorCode::workspace, {"288"}, [this] { gemm(a, b, options); });
  options.workspace_bytes = 288;
  gemm_into(a, b, c, options);
  EXPECT_EQ(c_.cells().value(5, 3), 64.0);
}

TEST(TooLarge, an_output_that_cannot_be_allocated) {
  const float one = 1.0f;
  for (const i64 extent : {i64{1} << 24, i64{1} << 31, i64{1} << 40}) {
    const MatrixView a{&one, DType::f32, extent, 1, 0, 0}, b{&one, DType::f32, 1, extent, 0, 0};
    expect_refused(ErrorCode::too_large, {std::to_string(extent).c_str()}, [&] { gemm(a, b); });
  }
}

TEST_F(Contract, plan_unavailable) {
  options.plan.tile = TileShape{17, 16, 16};
  refused(ErrorCode::plan_unavailable, {"17x16x16", "16x16x16"});
  options.plan = {};
  options.plan.warps = 8;
  refused(ErrorCode::plan_unavailable, {"w8", "w1"});
  options.plan = {};
  options.plan.stages = 4;
  refused(ErrorCode::plan_unavailable, {"s4", "s1"});
  // An instruction set that a machine lacks, on a machine invented for it.
  PlanRequest request;
  request.mma = Mma::avx512;
  expect_refused(ErrorCode::plan_unavailable, {"avx512", "portable"},
                 [&] { choose_plan(problem_of(a, b, c), request, CpuDescription{}, 1, 0); });
  // One that the machine has, for inputs that it does not multiply.
  CpuDescription cpu;
  cpu.mma = Mma::avx512_bf16;
  cpu.instruction_sets = {Mma::avx512_bf16, Mma::portable};
  request.mma = Mma::avx512_bf16;
  expect_refused(ErrorCode::plan_unavailable, {"avx512_bf16", "f16", "portable"},
                 [&] { choose_plan(problem_of(a, b, c), request, cpu, 1, 0); });
}

TEST_F(Contract, plan_value) {
  options.plan.split = Split{SplitKind::split_k, 100};
  options.workspace_bytes = harness::workspace_bytes;
  refused(ErrorCode::plan_value, {"100", "5"});  // K = 5 has one block
  options.plan = {};
  options.threads = -1;
  refused(ErrorCode::plan_value, {"-1"});
  options = {};
  options.workspace_bytes = -1;
  refused(ErrorCode::plan_value, {"-1 bytes"});
  options = {};
  const Input sliced(Type::f16, 6, 5, Layout::sliced, Edge::end, ones);
  a = view_of(sliced.cells());
  options.plan.a = Mover::pack;
  refused(ErrorCode::plan_value, {"a=pack", "gather"});
}

}  // namespace
