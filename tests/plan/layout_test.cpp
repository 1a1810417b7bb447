// Layout classes: by example, and against addresses enumerated one by one.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>

#include <tilewright/explain.hpp>

namespace tilewright {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

MatrixView view(std::uintptr_t base, i64 rows, i64 cols, i64 row_stride, i64 col_stride, DType type = DType::f16) {
  return {at(base), type, rows, cols, row_stride, col_stride};
}

/// Of a view whose rows do not all start at multiples of 128 bytes.
LayoutClass inside_of_lines(UnitAxis unit, i64 alignment, bool forward = true) {
  return {unit, alignment, forward, false};
}

TEST(LayoutClass, PackedRowsOfEvenAndOddLength) {
  EXPECT_EQ(layout_class(view(64, 130, 64, 64, 1), true), inside_of_lines(UnitAxis::k, 16));
  EXPECT_EQ(layout_class(view(64, 130, 65, 65, 1), true), inside_of_lines(UnitAxis::k, 2));
  EXPECT_EQ(layout_class(view(64, 130, 68, 68, 1), true), inside_of_lines(UnitAxis::k, 8));
  EXPECT_EQ(layout_class(view(64, 130, 65, 65, 1, DType::f32), true), inside_of_lines(UnitAxis::k, 4));
}

TEST(LayoutClass, BaseAddressAndOtherStrideTogether) {
  EXPECT_EQ(layout_class(view(66, 130, 64, 64, 1), true).alignment, 2);
  EXPECT_EQ(layout_class(view(68, 130, 64, 64, 1), true).alignment, 4);
  EXPECT_EQ(layout_class(view(65, 130, 64, 64, 1), true).alignment, 1);
  EXPECT_EQ(layout_class(view(1 << 20, 130, 64, 1 << 20, 1), true).alignment, 16);
}

TEST(LayoutClass, WholeLinesAreMultiplesOf128Bytes) {
  const auto whole = [](std::uintptr_t base, i64 ld, DType type = DType::f16) {
    return layout_class(view(base, 130, 64, ld, 1, type), true).whole_lines;
  };
  EXPECT_TRUE(whole(128, 64));
  EXPECT_FALSE(whole(64, 64)) << "the base";
  EXPECT_FALSE(whole(128, 72)) << "the rows after the first";
  EXPECT_TRUE(whole(128, 32, DType::f32));
  EXPECT_TRUE(layout_class(view(128, 1, 64, 72, 1), true).whole_lines) << "a single row";
}

TEST(LayoutClass, WhichAxisIsUnitDependsOnTheOperand) {
  EXPECT_EQ(layout_class(view(64, 10, 20, 20, 1), true).unit, UnitAxis::k);
  EXPECT_EQ(layout_class(view(64, 10, 20, 20, 1), false).unit, UnitAxis::mn);
  EXPECT_EQ(layout_class(view(64, 10, 20, 1, 10), true).unit, UnitAxis::mn);
  EXPECT_EQ(layout_class(view(64, 10, 20, 1, 10), false).unit, UnitAxis::k);
}

TEST(LayoutClass, OnlyStrideOneIsUnit) {
  for (const i64 stride : {-1, 0, 2, -2}) {
    EXPECT_EQ(layout_class(view(64, 10, 20, 64, stride), true).unit, UnitAxis::none) << stride;
  }
  EXPECT_EQ(layout_class(view(64, 10, 20, -64, 1), true),
            inside_of_lines(UnitAxis::k, 16, false));  // flipped rows stay wide
  EXPECT_EQ(layout_class(view(64, 10, 20, 0, 1), true), inside_of_lines(UnitAxis::k, 16, false));  // one row, repeated
}

TEST(LayoutClass, NothingRunsBackward) {
  EXPECT_TRUE(layout_class(view(64, 10, 0, 0, 1), true).forward);
  EXPECT_TRUE(layout_class(view(64, 0, 10, -10, 1), true).forward);
  EXPECT_FALSE(layout_class(view(64, 10, 1, 0, 1), true).forward);
}

TEST(LayoutClass, AxesOfOneIndexHaveNoStride) {
  EXPECT_EQ(layout_class(view(64, 1, 20, 12345, 1), true), inside_of_lines(UnitAxis::both, 16));
  EXPECT_EQ(layout_class(view(64, 20, 1, 1, -7), true), inside_of_lines(UnitAxis::both, 16));
  EXPECT_EQ(layout_class(view(64, 1, 1, 0, 0), true), inside_of_lines(UnitAxis::both, 16));
  EXPECT_EQ(layout_class(view(64, 0, 5, 9, 9), true).unit, UnitAxis::mn);
  // A single row with gaps: each element starts a column of one.
  EXPECT_EQ(layout_class(view(64, 1, 20, 1, 4), true), inside_of_lines(UnitAxis::mn, 8));
}

TEST(LayoutClass, KnowsTheAxisOfAStepOfTwo) {
  const auto axis = [](i64 row_stride, i64 col_stride, bool k_is_cols = true) {
    return layout_class(view(64, 20, 30, row_stride, col_stride), k_is_cols).every_second;
  };
  EXPECT_EQ(axis(60, 2), UnitAxis::k);
  EXPECT_EQ(axis(60, 2, false), UnitAxis::mn);
  EXPECT_EQ(axis(2, 61), UnitAxis::mn);
  EXPECT_EQ(axis(2, 1), UnitAxis::none) << "an axis is unit";
  EXPECT_EQ(axis(90, 3), UnitAxis::none);
  EXPECT_EQ(axis(60, -2), UnitAxis::none);
  EXPECT_EQ(to_string(layout_class(view(64, 20, 30, 60, 2), true)), "unit=none align=4 every-second=k");
}

TEST(LayoutClass, WithoutMemoryCountsAsAligned) {
  EXPECT_EQ(layout_class(view(0, 130, 64, 64, 1), true), (LayoutClass{UnitAxis::k, 16}));
  const Problem problem = problem_of(130, 70, 65, DType::f16, DType::f32, {65, 1, 70, 1, 70, 1});
  EXPECT_EQ(problem.a, inside_of_lines(UnitAxis::k, 2));
  EXPECT_EQ(problem.b, inside_of_lines(UnitAxis::mn, 4));
  EXPECT_EQ(problem.c, (LayoutClass{UnitAxis::mn, 8})) << "of outputs nobody asks about lines";
}

TEST(LayoutClass, AlignmentHoldsForEveryStartAndNoLargerOneDoes) {
  EXPECT_TRUE(rc::check("against enumerated addresses", [] {
    const auto base = *rc::gen::inRange<std::uintptr_t>(1 << 20, (1 << 20) + 64);
    const i64 rows = *rc::gen::inRange<i64>(2, 9), cols = *rc::gen::inRange<i64>(2, 9);
    const i64 other = *rc::gen::inRange<i64>(-70, 70);
    const bool transposed = *rc::gen::arbitrary<bool>();
    const DType type = *rc::gen::element(DType::f16, DType::f32);
    RC_PRE(other != 1);
    const MatrixView matrix =
        transposed ? view(base, rows, cols, 1, other, type) : view(base, rows, cols, other, 1, type);
    const i64 alignment = layout_class(matrix, true).alignment;
    bool holds = true, twice_holds = true;
    for (i64 i = 0; i < (transposed ? cols : rows); ++i) {
      const i64 address = static_cast<i64>(base) + i * other * size_of(type);
      holds = holds && address % alignment == 0;
      twice_holds = twice_holds && address % (2 * alignment) == 0;
    }
    RC_ASSERT(holds);
    RC_ASSERT(alignment == 16 || !twice_holds);
  }));
}

}  // namespace
}  // namespace tilewright
