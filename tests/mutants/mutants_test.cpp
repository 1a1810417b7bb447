// Every planted fault must turn the exact checker red, on packed, row-padded and sliced operands, with a message that
// names its kind; where a product of ones would let the fault pass, a test shows that too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <tilewright/tile/cpu/executor.hpp>
#include "check/layouts.hpp"
#include "tests/mutants/kernels.hpp"

namespace {

using namespace tilewright;
using exact::FaultKind;
using exact::Layout;
using mutants::Fault;

struct Shape {
  i64 m, n, k;
};
constexpr Shape ragged{130, 70, 65};
constexpr Layout operand_layouts[] = {Layout::packed, Layout::row_padded, Layout::stepped};

i64 programs_of(const Shape& s) { return cdiv(s.m, 64) * cdiv(s.n, 32); }

template <class Kernel>
exact::Report check_on(const Kernel& kernel, const Shape& s, Layout layout, Order order = {}) {
  const auto a = exact::place("a", exact::Role::input, layout, s.m, s.k, DType::f16, 0);
  const auto b = exact::place("b", exact::Role::input, layout, s.k, s.n, DType::f16, 1);
  const auto c = exact::place("c", exact::Role::output, layout, s.m, s.n, DType::f16, 2);
  const kernels::MatmulArgs<f16, f16> args{s.m,
                                           s.n,
                                           s.k,
                                           kernel_matrix<const f16>(a.view),
                                           kernel_matrix<const f16>(b.view),
                                           kernel_matrix<f16>(c.view)};
  return check(kernel, {programs_of(s)}, args, {a.buffer, b.buffer, c.buffer}, {exact::product(a.view, b.view, c.view)},
               order);
}

/// The fault is caught on every layout, and every report names one of the kinds and holds the words.
template <Fault F>
void expect_caught(const Shape& s, std::initializer_list<FaultKind> kinds, const std::string& words) {
  for (const Layout layout : operand_layouts) {
    EXPECT_TRUE(check_on(mutants::Faulty<Fault::none>{}, s, layout).passed());
    const exact::Report report = check_on(mutants::Faulty<F>{}, s, layout);
    EXPECT_FALSE(report.passed()) << exact::name_of(layout);
    EXPECT_TRUE(std::any_of(kinds.begin(), kinds.end(), [&](FaultKind kind) { return report.has(kind); }))
        << exact::name_of(layout) << ":\n"
        << report.text();
    EXPECT_NE(report.text().find(words), std::string::npos) << exact::name_of(layout) << ":\n" << report.text();
  }
}

/// The usual test, which such a fault should not survive but does: all elements one (and ones all around), every result
/// K.
template <Fault F>
bool passes_with_ones(const Shape& s) {
  const std::size_t spare = 128 * static_cast<std::size_t>(std::max({s.m, s.n, s.k}) + 128);  // what a stray read finds
  const auto memory = [spare](i64 elements) {
    return std::vector<f16>(static_cast<std::size_t>(elements) + 2 * spare, to_f16(1.0f));
  };
  const std::vector<f16> a = memory(s.m * s.k), b = memory(s.k * s.n);
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n) + 2 * spare, 0.0f);
  const kernels::MatmulArgs<f16, float> args{s.m,
                                             s.n,
                                             s.k,
                                             {a.data() + spare, s.m, s.k, s.k, 1},
                                             {b.data() + spare, s.k, s.n, s.n, 1},
                                             {c.data() + spare, s.m, s.n, s.n, 1}};
  cpu::launch(mutants::Faulty<F>{}, {.grid = {programs_of(s)}}, args);
  return std::all_of(c.begin() + static_cast<std::ptrdiff_t>(spare),
                     c.begin() + static_cast<std::ptrdiff_t>(spare) + s.m * s.n,
                     [&](float value) { return value == static_cast<float>(s.k); });
}

TEST(Mutants, mutant_mask_only_at_the_store) {
  expect_caught<Fault::mask_only_at_the_store>(ragged, {FaultKind::load_outside_view}, "load outside of the view");
}

TEST(Mutants, mutant_m_mask_missing) {
  expect_caught<Fault::m_mask_missing>(ragged, {FaultKind::load_outside_view, FaultKind::store_outside_view},
                                       "row 130");
}

TEST(Mutants, mutant_n_mask_missing) {
  expect_caught<Fault::n_mask_missing>(ragged, {FaultKind::load_outside_view, FaultKind::store_outside_view},
                                       "column 70");
}

TEST(Mutants, mutant_k_mask_missing_on_a_only) {
  // The values stay right, since B's zeros meet what A read too much: only the addresses tell.
  EXPECT_TRUE(passes_with_ones<Fault::k_mask_missing_on_a>(ragged));
  expect_caught<Fault::k_mask_missing_on_a>(ragged, {FaultKind::load_outside_view}, "column 65 of a");
}

TEST(Mutants, mutant_k_mask_missing_on_b_only) {
  EXPECT_TRUE(passes_with_ones<Fault::k_mask_missing_on_b>(ragged));
  expect_caught<Fault::k_mask_missing_on_b>(ragged, {FaultKind::load_outside_view}, "row 65, column 0 of b");
}

TEST(Mutants, mutant_k_mask_missing_on_both) {
  expect_caught<Fault::k_mask_missing_on_both>(ragged, {FaultKind::wrong_value, FaultKind::load_outside_view},
                                               "column 65 of a");
}

TEST(Mutants, mutant_k_index_modulo_k) {
  expect_caught<Fault::k_index_modulo_k>(ragged, {FaultKind::wrong_k_count}, "k = 0..30 counted twice");
}

TEST(Mutants, mutant_k_offset_advanced_twice) {
  expect_caught<Fault::k_offset_advanced_twice>(ragged, {FaultKind::wrong_k_count}, "k = 32..63 missing");
}

TEST(Mutants, mutant_last_k_step_skipped) {
  expect_caught<Fault::last_k_step_skipped>(ragged, {FaultKind::wrong_k_count}, "k = 64 missing");
}

TEST(Mutants, mutant_strides_of_a_swapped) {
  EXPECT_TRUE(passes_with_ones<Fault::strides_of_a_swapped>(ragged));
  expect_caught<Fault::strides_of_a_swapped>(ragged, {FaultKind::wrong_k_count}, "missing");
  // Square and inside of the view: no stray address, only wrong sums.
  const exact::Report square = check_on(mutants::Faulty<Fault::strides_of_a_swapped>{}, {64, 64, 64}, Layout::packed);
  EXPECT_TRUE(square.has(FaultKind::wrong_k_count)) << square.text();
  EXPECT_FALSE(square.has(FaultKind::load_outside_buffer)) << square.text();
}

TEST(Mutants, mutant_contiguous_strides_assumed_for_a_transposed_b) {
  EXPECT_TRUE(passes_with_ones<Fault::contiguous_strides_assumed_for_b>(ragged));
  for (const Layout layout : {Layout::transposed, Layout::transposed_padded, Layout::stepped}) {
    EXPECT_TRUE(check_on(mutants::Faulty<Fault::none>{}, ragged, layout).passed());
    const exact::Report report = check_on(mutants::Faulty<Fault::contiguous_strides_assumed_for_b>{}, ragged, layout);
    EXPECT_TRUE(report.has(FaultKind::wrong_k_count)) << report.text();
  }
  // On a packed B the assumption happens to hold.
  EXPECT_TRUE(check_on(mutants::Faulty<Fault::contiguous_strides_assumed_for_b>{}, ragged, Layout::packed).passed());
}

TEST(Mutants, mutant_row_times_stride_in_32_bits) {
  // A view whose rows are 2^26 elements apart: row 64 lies 2^32 elements from the first, which 32 bits hold as 0. No
  // memory behind it.
  const Shape s{130, 33, 40};
  EXPECT_EQ(mutants::product_in_32_bits(64, i64{1} << 26), 0);
  for (const i64 col_stride : {1, 2}) {
    const char* const base = reinterpret_cast<const char*>(std::uintptr_t{1} << 41);
    const MatrixView a{base, DType::f16, s.m, s.k, i64{1} << 26, col_stride};
    const auto b = exact::place("b", exact::Role::input, Layout::packed, s.k, s.n, DType::f16, 4);
    const auto c = exact::place("c", exact::Role::output, Layout::packed, s.m, s.n, DType::f16, 5);
    const kernels::MatmulArgs<f16, f16> args{s.m,
                                             s.n,
                                             s.k,
                                             kernel_matrix<const f16>(a),
                                             kernel_matrix<const f16>(b.view),
                                             kernel_matrix<f16>(c.view)};
    const auto run = [&](const auto& kernel) {
      return check(kernel, {programs_of(s)}, args, {buffer_of("a", exact::Role::input, a), b.buffer, c.buffer},
                   {exact::product(a, b.view, c.view)});
    };
    EXPECT_TRUE(run(mutants::Faulty<Fault::none>{}).passed());
    const exact::Report report = run(mutants::Faulty<Fault::row_times_stride_in_32_bits>{});
    EXPECT_TRUE(report.has(FaultKind::wrong_k_count)) << report.text();
  }
}

TEST(Mutants, mutant_two_programs_on_one_tile) {
  expect_caught<Fault::two_programs_on_one_tile>(ragged, {FaultKind::written_by_two_programs},
                                                 "was already written by program 0");
}

TEST(Mutants, mutant_a_tile_left_out) {
  expect_caught<Fault::a_tile_left_out>(ragged, {FaultKind::never_written}, "element (128, 64) of c");
}

TEST(Mutants, mutant_output_sharing_storage_with_an_input) {
  const Shape s{64, 64, 64};
  for (const Layout layout : operand_layouts) {
    const auto a = exact::place("a", exact::Role::input, layout, s.m, s.k, DType::f16, 0);
    const auto b = exact::place("b", exact::Role::input, layout, s.k, s.n, DType::f16, 1);
    exact::Operand c = exact::place("c", exact::Role::output, layout, s.m, s.n, DType::f16, 0);  // where a is
    const kernels::MatmulArgs<f16, f16> args{s.m,
                                             s.n,
                                             s.k,
                                             kernel_matrix<const f16>(a.view),
                                             kernel_matrix<const f16>(b.view),
                                             kernel_matrix<f16>(c.view)};
    const exact::Report report = check(mutants::Faulty<Fault::none>{}, {programs_of(s)}, args,
                                       {a.buffer, b.buffer, c.buffer}, {exact::product(a.view, b.view, c.view)});
    EXPECT_TRUE(report.has(FaultKind::output_overlaps_input)) << report.text();
  }
}

TEST(Mutants, mutant_split_k_partial_added_twice) {
  constexpr programs::Tiles tiles{64, 32, 32};
  constexpr i64 parts = 3;
  const Shape s = ragged;
  for (const Layout layout : operand_layouts) {
    for (const bool faulty : {false, true}) {
      const auto a = exact::place("a", exact::Role::input, layout, s.m, s.k, DType::f16, 0);
      const auto b = exact::place("b", exact::Role::input, layout, s.k, s.n, DType::f16, 1);
      const auto c = exact::place("c", exact::Role::output, layout, s.m, s.n, DType::f16, 2);
      const auto planes = exact::place("parts", exact::Role::scratch, Layout::packed, parts * s.m, s.n, DType::f32, 3);
      const programs::SplitKArgs<f16, f16> args{s.m,
                                                s.n,
                                                s.k,
                                                kernel_matrix<const f16>(a.view),
                                                kernel_matrix<const f16>(b.view),
                                                kernel_matrix<f16>(c.view),
                                                kernel_matrix<float>(planes.view).ptr,
                                                parts};
      exact::Checker checker({a.buffer, b.buffer, c.buffer, planes.buffer}, {exact::product(a.view, b.view, c.view)});
      checker.run([&](exact::Run& run) {
        return exact::launch(programs::SplitKSum<tiles>{}, {programs_of(s), parts}, {}, args, run);
      });
      checker.run([&](exact::Run& run) {
        return faulty ? exact::launch(mutants::SplitPartAddedTwice<tiles>{}, {programs_of(s)}, {}, args, run)
                      : exact::launch(programs::SplitKReduce<tiles>{}, {programs_of(s)}, {}, args, run);
      });
      const exact::Report report = checker.finish();
      EXPECT_EQ(report.passed(), !faulty) << report.text();
      if (faulty) {
        EXPECT_NE(report.text().find("k = 64 counted twice"), std::string::npos) << report.text();
      }
    }
  }
}

TEST(Mutants, mutant_grouped_order_wrong_in_the_last_short_group) {
  // Three rows of tiles in groups of two: the last group has one row. The fault sends programs to a row of tiles that
  // does not exist, where every mask is false, and leaves tiles out.
  for (const Layout layout : operand_layouts) {
    const exact::Report report = check_on(mutants::GroupedAlwaysFull<>{2}, ragged, layout);
    EXPECT_TRUE(report.has(FaultKind::never_written)) << report.text();
    EXPECT_TRUE(check_on(mutants::GroupedAlwaysFull<>{3}, ragged, layout).passed());
  }
}

TEST(Mutants, mutant_where_in_place_of_a_masked_load) {
  EXPECT_TRUE(passes_with_ones<Fault::where_in_place_of_a_masked_load>(ragged));
  expect_caught<Fault::where_in_place_of_a_masked_load>(ragged, {FaultKind::load_outside_view},
                                                        "load outside of the view");
}

}  // namespace
