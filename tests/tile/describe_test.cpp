// What kernels state through the describe target against what explain counts: two ways to the same boxes, strides and
// bounds.
#include <gtest/gtest.h>

#include <examples/kernels/gathered.hpp>
#include <programs/gemm.hpp>

#include <tilewright/describe.hpp>
#include "check/layouts.hpp"
#include "plan/facts.hpp"

namespace {

using namespace tilewright;

constexpr programs::Tiles tiles{64, 32, 32};

struct Operands {
  exact::Operand a, b, c;
  programs::GemmArgs<f16, f16> args;
  Operands(i64 m, i64 n, i64 k, exact::Layout layout)
      : a(exact::place("a", exact::Role::input, layout, m, k, DType::f16, 0)),
        b(exact::place("b", exact::Role::input, layout, k, n, DType::f16, 1)),
        c(exact::place("c", exact::Role::output, layout, m, n, DType::f16, 2)),
        args{m,
             n,
             k,
             kernel_matrix<const f16>(a.view),
             kernel_matrix<const f16>(b.view),
             kernel_matrix<f16>(c.view)} {}
};

/// Lowest and highest offset that an access admits, by enumeration.
plan::OffsetRange admitted_offsets(const describe::Access& access) {
  plan::OffsetRange range{INT64_MAX, INT64_MIN};
  for (int i = access.rows.first; i < access.rows.last; ++i) {
    for (int j = access.cols.first; j < access.cols.last; ++j) {
      const i64 offset =
          access.offset + (access.rows.origin + i) * access.rows.stride + (access.cols.origin + j) * access.cols.stride;
      range.low = std::min(range.low, offset);
      range.high = std::max(range.high, offset);
    }
  }
  return range;
}

TEST(Describe, agrees_with_explain_on_every_program_and_step) {
  for (const exact::Layout layout : exact::layouts) {
    for (const Order order : {Order{}, Order{OrderKind::grouped, 2}}) {
      const Operands s(130, 70, 65, layout);
      Plan plan;
      plan.tile = {tiles.m, tiles.n, tiles.k};
      plan.order = order;
      const OperandStrides strides{s.a.view.row_stride, s.a.view.col_stride, s.b.view.row_stride,
                                   s.b.view.col_stride, s.c.view.row_stride, s.c.view.col_stride};
      const plan::Geometry geometry(problem_of(130, 70, 65, DType::f16, DType::f16, strides), strides, plan);
      ASSERT_EQ(geometry.programs, 9);
      for (i64 number = 0; number < geometry.programs; ++number) {
        const plan::Program program = geometry.program(number);
        const auto accesses = accesses_of(programs::Gemm<tiles>{}, {geometry.tiles}, number, s.args, order);
        ASSERT_EQ(accesses.size(), static_cast<std::size_t>(2 * geometry.steps + 1));
        for (i64 step = 0; step < geometry.steps; ++step) {
          const plan::IndexRange k = geometry.k_of(step);
          const describe::Access& a = accesses[static_cast<std::size_t>(2 * step)];
          const describe::Access& b = accesses[static_cast<std::size_t>(2 * step + 1)];
          EXPECT_EQ(a.root, s.a.view.data);
          EXPECT_EQ(a.step, step);
          EXPECT_EQ(a.rows.origin, program.rows.first);
          EXPECT_EQ(a.rows.admitted, program.rows.valid);
          EXPECT_EQ(a.cols.origin, k.first);
          EXPECT_EQ(a.cols.admitted, k.valid);
          EXPECT_EQ(admitted_offsets(a), *plan::valid_offsets(geometry.a, program.rows, k));
          EXPECT_EQ(b.cols.origin, program.cols.first);
          EXPECT_EQ(admitted_offsets(b), *plan::valid_offsets(geometry.b, k, program.cols));
        }
        const describe::Access& c = accesses.back();
        EXPECT_EQ(c.kind, describe::AccessKind::store);
        EXPECT_EQ(c.rows.admitted * c.cols.admitted, program.rows.valid * program.cols.valid);
        EXPECT_EQ(admitted_offsets(c), *plan::valid_offsets(geometry.c, program.rows, program.cols));
      }
    }
  }
}

TEST(Describe, says_an_access_in_words) {
  const Operands s(130, 70, 65, exact::Layout::packed);
  const std::string text = describe_program(programs::Gemm<tiles>{}, {9}, 8, s.args,
                                            {{"a", s.a.view.data}, {"b", s.b.view.data}, {"c", s.c.view.data}});
  EXPECT_NE(text.find("step 2: load a[rows 128..191 of stride 65, cols 64..95 of stride 1], the mask admits 2 x 1 of "
                      "64 x 32 elements of 2 bytes"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("step 3: store c[rows 128..191 of stride 70, cols 64..95 of stride 1], the mask admits 2 x 6"),
            std::string::npos)
      << text;
}

TEST(Describe, tells_a_lookup_from_an_affine_index) {
  const Operands s(130, 70, 65, exact::Layout::packed);
  const std::vector<i64> index(130, 5);
  const kernels::GatheredArgs<f16, f16> args{130, 70, 65, s.args.a, {index.data(), 130}, s.args.b, s.args.c};
  const auto accesses = accesses_of(kernels::GatheredRows<64, 32, 32>{}, {9}, 0, args);
  EXPECT_FALSE(accesses[0].rows.affine);
  EXPECT_TRUE(accesses[0].cols.affine);
  EXPECT_TRUE(accesses[1].rows.affine);
}

}  // namespace
