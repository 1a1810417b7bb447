// The exact suite: whole numbers small enough that every FP32 sum is exact, compared bit for bit with integer
// arithmetic rounded once. It finds wrong indices: an element dropped, doubled, read from the row padding, written past
// the edge.
#include <gtest/gtest.h>

#include "tests/gemm/harness.hpp"
#include "tests/oracle/random.hpp"
#include "tests/shapes/shapes.hpp"

namespace {

using namespace tilewright;
using harness::options_of;
using oracle::Edge;
using oracle::Input;
using oracle::Layout;
using oracle::Output;
using oracle::Type;

/// Walks through the combinations of layouts, edges and types, each axis at a pace of its own, so that a long enough
/// walk meets all pairs of them.
class Walk {
 public:
  template <class Choices>
  auto next(const Choices& choices, std::size_t pace) const {
    return choices[(step_ / pace) % std::size(choices)];
  }
  void advance(std::size_t steps = 1) { step_ += steps; }

 private:
  std::size_t step_ = 0;
};

constexpr std::array<Edge, 2> edges = {Edge::end, Edge::begin};

/// Whole numbers: of both signs, or all positive and large enough that sums of more than about 80 overflow f16.
Input whole_numbers(oracle::Random& random, Type type, i64 rows, i64 cols, Layout layout, Edge edge, bool positive) {
  return Input(type, rows, cols, layout, edge,
               [&](i64, i64) { return static_cast<double>(positive ? random.whole(16, 40) : random.whole(-8, 8)); });
}

/// One shape under one tile, with every instruction set, unsplit and split, linear and grouped, with every
/// mover.
void run_all_plans(const TileShape& tile, const shapes::Shape& shape, const Walk& walk, oracle::Random& random) {
  const Type in = walk.next(oracle::all_types, 1), out = walk.next(oracle::all_types, 3);
  const bool positive = walk.next(std::array{false, false, true}, 9) && shape.k <= 1024;
  const Input a =
      whole_numbers(random, in, shape.m, shape.k, walk.next(oracle::input_layouts, 1), walk.next(edges, 1), positive);
  const Input b =
      whole_numbers(random, in, shape.k, shape.n, walk.next(oracle::input_layouts, 13), walk.next(edges, 2), positive);
  const auto bits = oracle::exact_bits_of(a.cells(), b.cells(), out);
  for (const Mma mma : this_cpu().instruction_sets) {
    if (!multiplies(mma, harness::dtype_of(in))) continue;
    for (const i64 parts : {1, 3}) {
      PlanRequest request;
      request.tile = tile;
      request.mma = mma;
      request.split = harness::split_of(parts, shape.k, tile.k);
      request.order = parts == 1 ? Order{} : Order{OrderKind::grouped, 3};
      const int movers = walk.next(std::array{0, 1, 2}, 8);
      if (parts == 3 && movers == 1) request.a = request.b = Mover::gather;
      if (movers == 2) harness::move_directly(request, harness::view_of(a.cells()), harness::view_of(b.cells()));
      if (parts == 3 && movers == 2) request.a.reset();  // of both, A alone would be direct
      const Output c(out, shape.m, shape.n, walk.next(oracle::output_layouts, 1), walk.next(edges, 4));
      const oracle::Claim claim = harness::multiply(a, b, c, options_of(request, 1 + parts % 2));
      const oracle::Verdict verdict = oracle::judge(claim, bits, c);
      ASSERT_TRUE(verdict.right()) << verdict.report;
    }
  }
}

TEST(Exact, shapes_around_every_compiled_tile) {
  oracle::Random random(1);
  Walk walk;
  for (const TileShape& tile : compiled_tiles()) {
    for (const shapes::Shape& shape : shapes::around_tile(tile.m, tile.n, tile.k, 2)) {
      ASSERT_NO_FATAL_FAILURE(run_all_plans(tile, shape, walk, random));
      walk.advance();
    }
    walk.advance(
        4);  // 29 steps a tile share no divisor with the numbers of layouts, edges and types: a shape meets all of them
  }
}

TEST(Exact, several_tiles_on_each_axis) {
  oracle::Random random(2);
  Walk walk;
  for (const TileShape& tile : compiled_tiles()) {
    if (tile.m * tile.n > 128 * 128) continue;
    ASSERT_NO_FATAL_FAILURE(run_all_plans(tile, {5 * tile.m - 3, 3 * tile.n + 1, 4 * tile.k + 5}, walk, random));
    walk.advance();
    ASSERT_NO_FATAL_FAILURE(run_all_plans(tile, {2 * tile.m + 1, 7 * tile.n - 1, 3 * tile.k - 1}, walk, random));
    walk.advance();
  }
}

TEST(Exact, shapes_of_real_models_under_the_planners_own_plans) {
  oracle::Random random(3);
  Walk walk;
  for (const shapes::Shape& shape : shapes::of_models()) {
    const Type in = walk.next(std::array{Type::f16, Type::bf16}, 1);
    const Input a = whole_numbers(random, in, shape.m, shape.k, Layout::packed, Edge::end, false);
    const Input b = whole_numbers(random, in, shape.k, shape.n,
                                  walk.next(std::array{Layout::transposed, Layout::packed}, 1), Edge::end, false);
    const Output c(Type::f32, shape.m, shape.n, Layout::packed, Edge::end);
    const oracle::Claim claim = harness::multiply(a, b, c);
    const oracle::Verdict verdict = oracle::judge(claim, oracle::exact_bits_of(a.cells(), b.cells(), Type::f32), c);
    EXPECT_TRUE(verdict.right()) << verdict.report;
    walk.advance();
  }
}

/// Every layout of A with every layout of B and every layout of C, on a shape with tails on all axes.
TEST(Exact, every_combination_of_layouts) {
  constexpr i64 m = 19, n = 35, k = 21;
  const TileShape tile = compiled_tiles().front();
  oracle::Random random(4);
  Walk walk;
  for (const Layout la : oracle::input_layouts) {
    for (const Layout lb : oracle::input_layouts) {
      for (const Edge edge : edges) {
        const Type in = walk.next(oracle::all_types, 1), out = walk.next(oracle::all_types, 3);
        const Input a = whole_numbers(random, in, m, k, la, edge, false);
        const Input b = whole_numbers(random, in, k, n, lb, walk.next(edges, 2), false);
        const auto bits = oracle::exact_bits_of(a.cells(), b.cells(), out);
        for (const Layout lc : oracle::output_layouts) {
          for (const Mma mma : this_cpu().instruction_sets) {
            if (!multiplies(mma, harness::dtype_of(in))) continue;
            PlanRequest request;
            request.tile = tile;
            request.mma = mma;
            const Output c(out, m, n, lc, edge);
            const oracle::Claim claim = harness::multiply(a, b, c, options_of(request, 1));
            const oracle::Verdict verdict = oracle::judge(claim, bits, c);
            ASSERT_TRUE(verdict.right()) << verdict.report;
          }
        }
        walk.advance();
      }
    }
  }
}

TEST(Exact, every_combination_of_types) {
  constexpr i64 m = 67, n = 45, k = 131;
  oracle::Random random(5);
  for (const Type in : oracle::all_types) {
    for (const bool positive : {false, true}) {
      const Input a = whole_numbers(random, in, m, k, Layout::ld_plus_1, Edge::end, positive);
      const Input b = whole_numbers(random, in, k, n, Layout::transposed_plus_1, Edge::end, positive);
      for (const Type out : oracle::all_types) {
        const auto bits = oracle::exact_bits_of(a.cells(), b.cells(), out);
        for (const PlanRequest& request : harness::all_programs(in)) {
          const Output c(out, m, n, Layout::ld_plus_1, Edge::end);
          const oracle::Claim claim = harness::multiply(a, b, c, options_of(request));
          const oracle::Verdict verdict = oracle::judge(claim, bits, c);
          ASSERT_TRUE(verdict.right()) << verdict.report;
        }
      }
    }
  }
}

TEST(Exact, the_result_of_gemm_is_a_new_contiguous_matrix) {
  oracle::Random random(6);
  const Input a = whole_numbers(random, Type::bf16, 40, 30, Layout::sliced, Edge::end, false);
  const Input b = whole_numbers(random, Type::bf16, 30, 50, Layout::flipped_rows, Edge::end, false);
  for (const std::optional<DType> output :
       {std::optional<DType>{}, std::optional{DType::f16}, std::optional{DType::f32}}) {
    GemmOptions options;
    options.output = output;
    Matrix c = gemm(harness::view_of(a.cells()), harness::view_of(b.cells()), options);
    EXPECT_EQ(c.type(), output.value_or(DType::bf16));
    EXPECT_EQ(c.rows(), 40);
    EXPECT_EQ(c.cols(), 50);
    EXPECT_EQ(c.view().row_stride, 50);
    EXPECT_EQ(c.view().col_stride, 1);
    const oracle::Cells cells = harness::cells_of(c.view());
    const oracle::Verdict verdict = oracle::judge(oracle::Claim{"cpu", "the planner's", "gemm", 30, oracle::ieee_unit},
                                                  oracle::exact_bits_of(a.cells(), b.cells(), cells.type), cells);
    EXPECT_TRUE(verdict.right()) << verdict.report;
  }
}

/// X = [[10, 11, 12], [20, 21, 22]] against its own transposed view: B[1, 0] is the 11 at offset 1.
TEST(Exact, a_matrix_times_its_own_transpose_is_one_memory_seen_twice) {
  const std::array<float, 6> x = {10, 11, 12, 20, 21, 22};
  const MatrixView a = tilewright::view_of(x.data(), 2, 3, 3);
  const MatrixView b = a.transposed();
  EXPECT_EQ(static_cast<const float*>(b.data)[b.row_stride], 11.0f);
  const Matrix c = gemm(a, b);
  const float* got = c.elements<float>();
  EXPECT_EQ(got[0], 365.0f);
  EXPECT_EQ(got[1], 695.0f);
  EXPECT_EQ(got[2], 695.0f);
  EXPECT_EQ(got[3], 1325.0f);
}

/// Under a K index taken modulo 3 in a block of 4, the first product would be counted twice and give 36.
TEST(Exact, one_two_three_times_four_five_six_is_32) {
  const std::array<float, 3> x = {1, 2, 3}, y = {4, 5, 6};
  for (const PlanRequest& request : harness::all_programs()) {
    const Matrix c =
        gemm(tilewright::view_of(x.data(), 1, 3, 3), tilewright::view_of(y.data(), 3, 1, 1), options_of(request));
    EXPECT_EQ(*c.elements<float>(), 32.0f);
  }
}

}  // namespace
