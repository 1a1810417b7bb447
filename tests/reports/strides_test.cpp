// Reports about strides: padding, transposed, overlapping, reversed and broadcast operands read as if they were
// contiguous.
#include <fstream>

#include "tests/reports/memory.hpp"

namespace {

using namespace reports;

/// Column-major A with padding between its columns: the row index was wrapped into the padding.
TEST(Reports, ST_1_padding_between_columns_is_not_read) {
  constexpr i64 m = 257, n = 32, k = 64, ld = 304;
  Memory a(Type::bf16, k * ld, not_a_number), b(Type::bf16, k * n, 1.0);
  for (i64 i = 0; i < m; ++i) {
    for (i64 j = 0; j < k; ++j) a.set(i + j * ld, 1.0);
  }
  for (const PlanRequest& request : harness::all_programs()) {
    Result(a.cells(m, k, 1, ld), b.cells(k, n, n), Type::f32, request).expect_all(64.0);
  }
}

/// B was taken as contiguous in one layout, whatever its strides said.
TEST(Reports, ST_2_both_layouts_of_b_give_the_same_bits) {
  constexpr i64 m = 64, n = 32, k = 16;
  oracle::Random random(1);
  Memory a(Type::f16, m * k, 0.0), rows(Type::f16, k * n, 0.0), columns(Type::f16, k * n, 0.0);
  for (i64 at = 0; at < m * k; ++at) a.set(at, random.symmetric());
  for (i64 i = 0; i < k; ++i) {
    for (i64 j = 0; j < n; ++j) {
      const double value = random.symmetric();
      rows.set(i * n + j, value);
      columns.set(i + j * k, value);
    }
  }
  for (const PlanRequest& request : harness::all_programs()) {
    const Result by_rows(a.cells(m, k, k), rows.cells(k, n, 32, 1), Type::f32, request);
    const Result by_columns(a.cells(m, k, k), columns.cells(k, n, 1, 16), Type::f32, request);
    EXPECT_EQ(by_rows.bits(), by_columns.bits()) << text_of(request);
  }
}

/// A guard that looked at the last stride alone let wrong rows through: A[:, 1, :] of a 4 x 2 x 8 array.
TEST(Reports, ST_3_a_slice_of_the_middle_axis) {
  Memory a = arange(Type::f16, 64), b(Type::f16, 8, 1.0);
  Result(a.cells(4, 8, 16, 1, 8), b.cells(8, 1, 1), Type::f32).expect_each([](i64 i, i64) {
    return std::array{92.0, 220.0, 348.0, 476.0}[static_cast<std::size_t>(i)];
  });
}

/// A broadcast operand gave wrong values on the CPU alone.
TEST(Reports, ST_4_broadcast_rows_of_a) {
  Memory a(Type::f16, {1, 2, 3, 4, 5, 6, 7, 8}), b(Type::f16, 16, 1.0);
  for (const PlanRequest& request : harness::all_programs()) {
    Result(a.cells(3, 8, 0, 1), b.cells(8, 2, 2), Type::f16, request).expect_all(36.0);
  }
}

/// A reversed vector was read forwards: 56 in place of 140.
TEST(Reports, ST_5_reversed_vectors) {
  Memory a = arange(Type::f16, 8), b = arange(Type::f16, 8);
  for (const PlanRequest& request : harness::all_programs()) {
    Result(a.cells(1, 8, 8, -1, 7), b.cells(8, 1, -1, 1, 7), Type::f32, request).expect_all(140.0);
  }
}

/// A wrapper handed the shape on as the leading dimension: every second column of a 3 x 4 matrix.
TEST(Reports, ST_6_every_second_column) {
  Memory a = arange(Type::f16, 12), identity(Type::f16, {1, 0, 0, 1});
  Result(a.cells(3, 2, 4, 2), identity.cells(2, 2, 2), Type::f16).expect_each([](i64 i, i64 j) {
    return static_cast<double>(4 * i + 2 * j);
  });
}

/// One row with a large row stride was refused as not contiguous.
TEST(Reports, ST_7_one_row_with_a_large_row_stride) {
  Memory a(Type::f16, 2048, 1.0), b(Type::f16, 32 * 2048, 1.0);
  Result(a.cells(1, 2048, 16384, 1), b.cells(2048, 32, 1, 2048), Type::f16).expect_all(2048.0);
}

/// Peak resident memory of this process so far, in bytes; the mark starts afresh when it is reset.
i64 peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") {
      i64 kib = 0;
      status >> kib;
      return kib * 1024;
    }
  }
  ADD_FAILURE() << "no VmHWM in /proc/self/status";
  return 0;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

/// An operand whose elements overlap was silently written out in full (here 32 MiB) before it was multiplied.
TEST(Reports, ST_8_an_overlapping_operand_is_never_materialised) {
  constexpr i64 extent = 4096;
  Memory a(Type::f16, 2 * extent - 1, 1.0), b(Type::f16, extent * 8, 1.0);
  const Cells overlapping = a.cells(extent, extent, 1, 1);
  Result(overlapping, b.cells(extent, 8, 8), Type::f16).expect_all(4096.0);  // threads and their scratch exist now
  reset_peak();
  const i64 before = peak_bytes();
  Result(overlapping, b.cells(extent, 8, 8), Type::f16).expect_all(4096.0);
  EXPECT_LT(peak_bytes() - before, 8 << 20);
}

/// A right operand expanded to stride 0 gave a message about an illegal parameter, and zeros.
TEST(Reports, ST_9_a_column_of_b_expanded) {
  Memory a(Type::f16, {1, 2}), b(Type::f16, {3, 4});
  for (const PlanRequest& request : harness::all_programs()) {
    Result(a.cells(1, 2, 2), b.cells(2, 2, 1, 0), Type::f16, request).expect_all(11.0);
  }
}

}  // namespace
