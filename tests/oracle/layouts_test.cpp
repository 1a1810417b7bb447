// The layouts and guarded pages, and that they catch what they are for.
#include <gtest/gtest.h>

#include <set>

#include "tests/oracle/layouts.hpp"

namespace {

using namespace oracle;

double numbered(i64 i, i64 j) { return static_cast<double>(10 * i + j); }

TEST(Layouts, hold_the_same_matrix) {
  for (const Type type : all_types) {
    for (const Layout layout : input_layouts) {
      for (const Edge edge : {Edge::begin, Edge::end}) {
        const Input input(type, 5, 7, layout, edge, numbered);
        const bool one_row = input.cells().row_stride == 0, one_col = input.cells().col_stride == 0;
        for (i64 i = 0; i < 5; ++i) {
          for (i64 j = 0; j < 7; ++j) {
            ASSERT_EQ(input.cells().value(i, j), numbered(one_row ? 0 : i, one_col ? 0 : j)) << input.describe();
          }
        }
      }
    }
  }
}

TEST(Layouts, elements_of_an_output_are_distinct_and_inside_its_block) {
  for (const Layout layout : output_layouts) {
    for (const i64 rows : {1, 2, 5}) {
      for (const i64 cols : {1, 3, 8}) {
        const Placement p = place(layout, rows, cols);
        std::set<i64> seen;
        for (i64 i = 0; i < rows; ++i) {
          for (i64 j = 0; j < cols; ++j) seen.insert(p.origin + i * p.row_stride + j * p.col_stride);
        }
        EXPECT_EQ(static_cast<i64>(seen.size()), rows * cols) << name_of(layout);
        EXPECT_EQ(*seen.rbegin(), p.span - 1) << name_of(layout);
        EXPECT_EQ(*seen.begin(), layout == Layout::off_by_one ? 1 : 0) << name_of(layout);
      }
    }
  }
}

TEST(Layouts, of_nothing_take_no_memory) {
  for (const Layout layout : input_layouts) {
    EXPECT_EQ(place(layout, 0, 3).span, 0);
    EXPECT_EQ(place(layout, 3, 0).span, 0);
    EXPECT_EQ(Input(Type::f16, 0, 3, layout, Edge::end, numbered).cells().rows, 0);
  }
}

TEST(Layouts, poison_every_gap_of_an_input) {
  const Input input(Type::f16, 3, 4, Layout::ld_plus_8, Edge::begin, numbered);
  for (i64 i = 0; i < 2; ++i) {
    for (i64 j = 4; j < 12; ++j) EXPECT_FALSE(std::isfinite(input.cells().value(i, j)));
  }
  EXPECT_FALSE(std::isfinite(input.cells().value(2, 4)));
}

TEST(LayoutsDeathTest, end_or_begin_at_an_unmapped_page) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const Input ends(Type::f16, 3, 5, Layout::ld_plus_1, Edge::end, numbered);
  const Input begins(Type::f32, 3, 5, Layout::packed, Edge::begin, numbered);
  [[maybe_unused]] volatile std::uint32_t sink = 0;
  EXPECT_DEATH(sink = ends.cells().bits(2, 5), "");
  EXPECT_DEATH(sink = begins.cells().bits(0, -1), "");
  EXPECT_DEATH(ends.cells().set(0, 0, 1.0), "");  // inputs are sealed
}

TEST(Layouts, outputs_are_untouched_and_guarded) {
  for (const Type type : all_types) {
    for (const Layout layout : output_layouts) {
      for (const Edge edge : {Edge::begin, Edge::end}) {
        const Output output(type, 4, 6, layout, edge);
        EXPECT_TRUE(output.overwritten_guards().empty()) << output.describe();
        for (const std::uint32_t bits : bits_of(output.cells())) EXPECT_EQ(bits, untouched_bits(type));
        EXPECT_TRUE(std::isnan(decode(type, untouched_bits(type))));
        EXPECT_TRUE(std::isnan(decode(type, guard_bits(type))));
      }
    }
  }
}

TEST(Repeated, shows_one_piece_of_memory_over_and_over) {
  const i64 page = page_bytes();
  const Repeated memory(1000 * page, 3 * page);
  memory.base()[7 * page + 5] = std::byte{42};
  EXPECT_EQ(memory.base()[page + 5], std::byte{42});
  EXPECT_EQ(memory.base()[997 * page + 5], std::byte{42});
  EXPECT_EQ(memory.base()[5], std::byte{0});
}

}  // namespace
