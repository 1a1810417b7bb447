// What the checker must not accuse, and what else it must not let pass: kernels of other forms than the operator's.
#include <gtest/gtest.h>

#include <vector>

#include <examples/kernels/args.hpp>
#include <tilewright/check.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/tile/cpu/executor.hpp>
#include "check/layouts.hpp"
#include "check/problem.hpp"

namespace {

using namespace tilewright;
using exact::FaultKind;
using Args = kernels::MatmulArgs<f16, f16>;

struct Operands {
  exact::Operand a, b, c;
  Args args;
  Operands(i64 m, i64 n, i64 k)
      : a(exact::place("a", exact::Role::input, exact::Layout::row_padded, m, k, DType::f16, 0)),
        b(exact::place("b", exact::Role::input, exact::Layout::row_padded, k, n, DType::f16, 1)),
        c(exact::place("c", exact::Role::output, exact::Layout::row_padded, m, n, DType::f16, 2)),
        args{m, n, k, kernel_matrix<const f16>(a.view), kernel_matrix<const f16>(b.view), kernel_matrix<f16>(c.view)} {}
  template <class Kernel>
  exact::Report check(const Kernel& kernel, i64 programs) const {
    return tilewright::check(kernel, {programs}, args, {a.buffer, b.buffer, c.buffer},
                             {exact::product(a.view, b.view, c.view)});
  }
};

/// The upper and the lower half of a tile, advanced in one loop.
struct TwoAccumulators {
  void operator()(auto& p, const auto& x) const {
    const auto upper = p.id(0) * 64 + tile::arange<32, 'u'>();
    const auto lower = p.id(0) * 64 + 32 + tile::arange<32, 'l'>();
    const auto rn = tile::arange<48, 'n'>();
    auto u = tile::zeros<float, 32, 48>(p);
    auto l = tile::zeros<float, 32, 48>(p);
    for (const auto rk : tile::steps<16>(x.k)) {
      u += tile::dot(tile::load(x.a, upper, rk), tile::load(x.b, rk, rn));
      l += tile::dot(tile::load(x.a, lower, rk), tile::load(x.b, rk, rn));
    }
    tile::store(x.c, upper, rn, u);
    tile::store(x.c, lower, rn, l);
  }
};
TEST(Checker, accepts_two_accumulators_in_one_loop) {
  const exact::Report report = Operands(130, 40, 65).check(TwoAccumulators{}, 3);
  EXPECT_TRUE(report.passed()) << report.text();
}

/// Steps of 64, and the rest of K in steps of 16.
struct TwoBlockSizes {
  void operator()(auto& p, const auto& x) const {
    const auto rm = tile::arange<48, 'm'>();
    const auto rn = tile::arange<48, 'n'>();
    auto acc = tile::zeros<float, 48, 48>(p);
    i64 k = 0;
    for (; k + 64 <= x.k; k += 64) {
      const auto rk = k + tile::arange<64, 'k'>();
      acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn));
    }
    for (; k < x.k; k += 16) {
      const auto rk = k + tile::arange<16, 'k'>();
      acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn));
    }
    tile::store(x.c, rm, rn, acc);
  }
};
TEST(Checker, accepts_two_block_sizes_in_one_sum) {
  const exact::Report report = Operands(40, 40, 145).check(TwoBlockSizes{}, 1);
  EXPECT_TRUE(report.passed()) << report.text();
  EXPECT_EQ(report.partial_sums, 40 * 40 * 4);  // 2 steps of 64, 2 of 16
}

/// A pipeline over the first half of K, another over the rest, and a last step by hand.
struct TwoPipelines {
  void operator()(auto& p, const auto& x) const {
    const auto rm = tile::arange<48, 'm'>();
    const auto rn = tile::arange<48, 'n'>();
    auto acc = tile::zeros<float, 48, 48>(p);
    const auto produce = [&](auto rk) { return tile::both(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn)); };
    const auto consume = [&](auto a, auto b) { acc += tile::dot(a, b); };
    tile::pipeline(p, tile::Steps<16>{0, 64}, produce, consume);
    tile::pipeline(p, tile::Steps<32>{64, 128}, produce, consume);
    const auto rk = 128 + tile::arange<32, 'k'>();
    acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn));
    tile::store(x.c, rm, rn, acc);
  }
};
TEST(Checker, accepts_pipelines_and_steps_by_hand_in_one_sum) {
  const exact::Report report = Operands(40, 40, 145).check(TwoPipelines{}, 1);
  EXPECT_TRUE(report.passed()) << report.text();
}

/// K from its end to its beginning.
struct Backwards {
  void operator()(auto& p, const auto& x) const {
    const auto rm = tile::arange<48, 'm'>();
    const auto rn = tile::arange<48, 'n'>();
    auto acc = tile::zeros<float, 48, 48>(p);
    for (i64 k = cdiv(x.k, 16) * 16 - 16; k >= 0; k -= 16) {
      const auto rk = k + tile::arange<16, 'k'>();
      acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn));
    }
    tile::store(x.c, rm, rn, acc);
  }
};
TEST(Checker, tells_how_to_check_a_sum_in_another_order) {
  const Operands o(40, 40, 65);
  const exact::Report strict = o.check(Backwards{}, 1);
  EXPECT_NE(strict.text().find("leaves Expected::partial empty"), std::string::npos) << strict.text();
  exact::Expected expected = exact::product(o.a.view, o.b.view, o.c.view);
  expected.partial = nullptr;
  const exact::Report report = check(Backwards{}, {1}, o.args, {o.a.buffer, o.b.buffer, o.c.buffer}, {expected});
  EXPECT_TRUE(report.passed()) << report.text();
}

/// A column of ones past the end of A meets a further row of B: a bias by the fill value of a load.
struct OnesPastTheEnd {
  void operator()(auto& p, const auto& x) const {
    const auto rm = tile::arange<64, 'm'>();
    const auto rn = tile::arange<48, 'n'>();
    auto acc = tile::zeros<float, 64, 48>(p);
    for (const auto rk : tile::steps<32>(x.k + 1)) {
      acc += tile::dot(tile::load(x.a, rm, rk, 1.0f), tile::load(x.b, rk, rn));
    }
    tile::store(x.c, rm, rn, acc);
  }
};
TEST(Executors, agree_on_the_fill_value_of_a_load_in_a_dot) {
  constexpr i64 m = 50, n = 40, k = 65;
  std::vector<f16> a(m * k), b((k + 1) * n), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = to_f16(static_cast<float>(i % 5) - 2);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = to_f16(static_cast<float>(i % 7) - 3);
  const Args args{m, n, k, {a.data(), m, k, k, 1}, {b.data(), k + 1, n, n, 1}, {c.data(), m, n, n, 1}};
  cpu::launch(OnesPastTheEnd{}, {}, args);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      float expected = to_float(b[k * n + j]);
      for (std::size_t q = 0; q < k; ++q) expected += to_float(a[i * k + q]) * to_float(b[q * n + j]);
      EXPECT_EQ(to_float(c[i * n + j]), expected);
    }
  }
  const MatrixView bias = view_of(b.data() + k * n, 1, n, n);
  exact::Expected expected =
      exact::product(view_of(a.data(), m, k, k), view_of(b.data(), k, n, n), view_of(c.data(), m, n, n));
  expected.value = [sum = expected.value, bias](const exact::Values& in, i64 row, i64 col) {
    return sum(in, row, col) + in(bias, 0, col);
  };
  expected.partial = nullptr;
  const exact::Report report = check(OnesPastTheEnd{}, {1}, args,
                                     {buffer_of("a", exact::Role::input, view_of(a.data(), m, k, k)),
                                      buffer_of("b", exact::Role::input, view_of(b.data(), k + 1, n, n)),
                                      buffer_of("c", exact::Role::output, view_of(c.data(), m, n, n))},
                                     {expected});
  EXPECT_TRUE(report.passed()) << report.text();
}

struct Plain {
  void operator()(auto& p, const auto& x) const {
    const auto out = tile::output_ranges<64, 32>(p, x.m, x.n);
    auto acc = tile::zeros<float, 64, 32>(p);
    for (const auto rk : tile::steps<32>(x.k)) {
      acc += tile::dot(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols));
    }
    tile::store(x.c, out.rows, out.cols, acc);
  }
};
TEST(Checker, finds_memory_taken_for_another_element_type) {
  Operands o(40, 30, 65);
  // c holds f32, the kernel stores f16 through a pointer that somebody has cast.
  o.c = exact::place("c", exact::Role::output, exact::Layout::row_padded, 40, 30, DType::f32, 2);
  const exact::Report report = o.check(Plain{}, 1);
  EXPECT_TRUE(report.has(FaultKind::store_outside_view)) << report.text();
  EXPECT_NE(report.text().find("taken as f16, but the view holds f32"), std::string::npos) << report.text();
}

TEST(KernelMatrix, refuses_a_view_of_another_element_type) {
  const Operands o(40, 30, 65);
  EXPECT_EQ(kernel_matrix<f16>(o.c.view).row_stride, o.c.view.row_stride);
  try {
    kernel_matrix<const float>(o.a.view);
    FAIL() << "an f16 view was taken as f32";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input_types);
    EXPECT_STREQ(
        error.what(),
        "a kernel takes a matrix of f32, and the view is 40x65 f16, strides (68, 1); give a view of that element type");
  }
}

struct AddsToC {
  void operator()(auto& p, const auto& c) const {
    const auto r = tile::arange<16, 'r'>();
    const auto s = tile::arange<16, 's'>();
    tile::atomic_add(c, r, s, tile::full<float, 16, 16>(p, 3.0f));
  }
};
TEST(Checker, finds_an_atomic_addition_to_unknown_contents) {
  const auto c = exact::place("c", exact::Role::output, exact::Layout::packed, 16, 16, DType::f32, 0);
  exact::Expected expected;
  expected.output = c.view;
  expected.value = [](const exact::Values&, i64, i64) { return exact::Field::of(3); };
  exact::Buffer buffer = c.buffer;
  EXPECT_TRUE(
      check(AddsToC{}, {1}, kernel_matrix<float>(c.view), {buffer}, {expected}).has(FaultKind::load_from_output));
  buffer.role = exact::Role::accumulated;
  EXPECT_TRUE(check(AddsToC{}, {1}, kernel_matrix<float>(c.view), {buffer}, {expected}).passed());
}

struct TimesInfinity {
  void operator()(auto& p, const auto& c) const {
    const auto r = tile::arange<16, 'r'>();
    const auto s = tile::arange<16, 's'>();
    tile::store(c, r, s, tile::full<float, 16, 16>(p, 3.0f) * tile::infinity / tile::infinity);
  }
};
TEST(Checker, refuses_constants_without_an_exact_counterpart) {
  const auto c = exact::place("c", exact::Role::output, exact::Layout::packed, 16, 16, DType::f32, 0);
  exact::Expected expected;
  expected.output = c.view;
  expected.value = [](const exact::Values&, i64, i64) { return exact::Field::of(3); };
  EXPECT_TRUE(
      check(TimesInfinity{}, {1}, kernel_matrix<float>(c.view), {c.buffer}, {expected}).has(FaultKind::refused));
}

/// f of a product that leaves its last K step out, or not.
template <class F>
struct AfterTheSum {
  F f;
  bool whole;
  void operator()(auto& p, const auto& x) const {
    const auto out = tile::output_ranges<64, 32>(p, x.m, x.n);
    auto acc = tile::zeros<float, 64, 32>(p);
    for (const auto rk : tile::steps<32>(whole ? x.k : x.k - 1)) {
      acc += tile::dot(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols));
    }
    tile::store(x.c, out.rows, out.cols, f(acc));
  }
};

/// What the checker says of C[m,n] = value(sum) on 40 x 30 x 65.
exact::Report check_after_the_sum(auto f, bool whole, auto value, bool factors = true) {
  const Operands o(40, 30, 65);
  exact::Expected expected = exact::product(o.a.view, o.b.view, o.c.view);
  expected.value = [sum = expected.value, value](const exact::Values& in, i64 row, i64 col) {
    return value(sum(in, row, col));
  };
  if (!factors) expected.factors = nullptr;
  return check(AfterTheSum<decltype(f)>{f, whole}, {1}, o.args, {o.a.buffer, o.b.buffer, o.c.buffer}, {expected});
}

TEST(Checker, names_the_missing_k_index_through_a_nonlinear_function) {
  const auto relu = [](const auto& sum) { return tile::relu(sum); };
  const auto hashed = [](exact::Field sum) { return sum.hashed("relu"); };
  EXPECT_TRUE(check_after_the_sum(relu, true, hashed).passed());
  const exact::Report report = check_after_the_sum(relu, false, hashed);
  EXPECT_TRUE(report.has(FaultKind::wrong_k_count)) << report.text();
  EXPECT_NE(report.text().find("written by program 0: k = 64 missing"), std::string::npos) << report.text();
}

TEST(Checker, counts_k_indices_besides_an_addend) {
  const auto relu = [](const auto& sum) { return tile::relu(sum + 3.0f); };
  const auto hashed = [](exact::Field sum) { return (sum + exact::Field::of(3)).hashed("relu"); };
  EXPECT_TRUE(check_after_the_sum(relu, true, hashed).passed());
  const exact::Report report = check_after_the_sum(relu, false, hashed);
  EXPECT_NE(report.text().find("written by program 0: k = 64 missing"), std::string::npos) << report.text();
}

TEST(Checker, says_that_the_sum_is_right_where_what_follows_it_is_wrong) {
  const exact::Report report = check_after_the_sum([](const auto& sum) { return tile::silu(sum); }, true,
                                                   [](exact::Field sum) { return sum.hashed("relu"); });
  EXPECT_TRUE(report.has(FaultKind::wrong_value)) << report.text();
  EXPECT_NE(report.text().find("it sums each K index once, so the fault is in"), std::string::npos) << report.text();
}

TEST(Checker, says_why_it_names_no_k_index) {
  const auto square = [](const auto& sum) { return sum * sum; };
  const auto squared = [](exact::Field sum) { return sum * sum; };
  EXPECT_TRUE(check_after_the_sum(square, true, squared).passed());
  const std::string nonlinear = check_after_the_sum(square, false, squared).text();
  EXPECT_NE(nonlinear.find("no K index is named, because the output is not linear in the sum"), std::string::npos)
      << nonlinear;
  const std::string silent = check_after_the_sum(square, false, squared, false).text();
  EXPECT_NE(silent.find("no K index is named, because Expected::factors does not say"), std::string::npos) << silent;
}

TEST(Checker, says_why_it_names_no_k_index_of_a_matrix_times_itself) {
  const auto x = exact::place("x", exact::Role::input, exact::Layout::packed, 40, 65, DType::f16, 0);
  const auto c = exact::place("c", exact::Role::output, exact::Layout::packed, 40, 40, DType::f16, 1);
  const MatrixView t = x.view.transposed();
  const Args args{
      40, 40, 65, kernel_matrix<const f16>(x.view), kernel_matrix<const f16>(t), kernel_matrix<f16>(c.view)};
  const auto same = [](const auto& sum) { return sum + 0.0f; };
  const exact::Report report = check(AfterTheSum<decltype(same)>{same, false}, {2}, args, {x.buffer, c.buffer},
                                     {exact::product(x.view, t, c.view)});
  EXPECT_NE(report.text().find("no K index is named, because both factors lie in one buffer"), std::string::npos)
      << report.text();
}

TEST(Checker, answers_at_once_for_an_empty_result_of_any_height) {
  constexpr i64 rows = INT64_MAX;
  const MatrixView a{nullptr, DType::f16, rows, 0, 0, 1}, b{nullptr, DType::f16, 0, 0, 0, 1};
  const MutableMatrixView c{nullptr, DType::f16, rows, 0, 0, 1};
  Plan plan;
  plan.tile = {64, 32, 32};
  EXPECT_TRUE(exact::check_problem(a, b, c, plan).passed());
}

}  // namespace
