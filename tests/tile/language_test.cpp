// The language's own pieces: indices, masks, loads and values, on the CPU and in the checker.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <tilewright/check.hpp>
#include <tilewright/tile/cpu/executor.hpp>

namespace {

using namespace tilewright;

TEST(Index, arithmetic_is_64_bit_from_the_first_multiplication) {
  const int row = 65536, stride = 65536;
  const auto rm = row + tile::arange<16, 'm'>();
  const auto term = tile::rows(rm) * stride;
  EXPECT_EQ(term.index.at(0) * term.stride, i64{1} << 32);
  EXPECT_EQ(static_cast<int>(static_cast<u32>(row) * static_cast<u32>(stride)), 0);  // what 32 bits would hold
}

TEST(Index, modulo_is_never_negative) {
  const auto wrapped = (tile::arange<16, 'm'>() - 5) % 7;
  for (int i = 0; i < 16; ++i) {
    EXPECT_GE(wrapped.at(i), 0);
    EXPECT_EQ((wrapped.at(i) - (i - 5)) % 7, 0);
  }
}

TEST(Index, a_lookup_outside_of_its_table_is_no_index) {
  const std::vector<int> table = {4, 2, 9};
  const auto found = tile::lookup(table.data(), 3, tile::arange<16, 'm'>() - 1);
  EXPECT_EQ(found.at(0), tile::no_index);
  EXPECT_EQ(found.at(1), 4);
  EXPECT_EQ(found.at(3), 9);
  EXPECT_EQ(found.at(4), tile::no_index);
  EXPECT_FALSE((tile::rows(found) < 100).rows.holds(0));
}

TEST(Mask, spans_are_clamped_and_64_bit) {
  const auto span = [](i64 origin, i64 low, i64 high) {
    const auto rm = tile::arange<16, 'm'>() + origin;
    const tile::Span s = (tile::rows(rm) >= low && tile::rows(rm) < high).rows.span();
    return std::pair{s.first, s.last};
  };
  EXPECT_EQ(span(0, 0, 10), (std::pair{0, 10}));
  EXPECT_EQ(span(-3, 0, 10), (std::pair{3, 13}));
  EXPECT_EQ(span(8, 0, 10), (std::pair{0, 2}));
  EXPECT_EQ(span(10, 0, 10), (std::pair{0, 0}));
  EXPECT_EQ(span(1000, 0, 10), (std::pair{0, 0}));
  EXPECT_EQ(span(-1000, 0, 10).first, span(-1000, 0, 10).second);
  EXPECT_EQ(span(i64{1} << 40, 0, (i64{1} << 40) + 4), (std::pair{0, 4}));
  EXPECT_EQ(span(-(i64{1} << 40), 0, i64{1} << 41).first, span(-(i64{1} << 40), 0, i64{1} << 41).second);
}

TEST(Mask, span_and_holds_agree) {
  for (i64 origin = -20; origin <= 20; ++origin) {
    const auto rm = tile::arange<16, 'm'>() + origin;
    const auto bound = (tile::rows(rm) < 7 && tile::rows(rm) >= -2).rows;
    const tile::Span span = bound.span();
    for (int i = 0; i < 16; ++i) EXPECT_EQ(bound.holds(i), i >= span.first && i < span.last) << origin << " " << i;
  }
}

TEST(Mask, bounds_on_moved_ranges_of_one_name_meet) {
  const auto rk = tile::arange<16, 'k'>();
  const auto both = (tile::cols(rk) < 12 && tile::cols(rk + 4) < 12).cols;  // i < 12 and i + 4 < 12
  EXPECT_TRUE(both.holds(7));
  EXPECT_FALSE(both.holds(8));
}

/// One program that runs a function of p.
template <class F>
void on_cpu(F body) {
  struct Kernel {
    F body;
    void operator()(cpu::Program& p, const int&) const { body(p); }
  };
  cpu::launch(Kernel{body}, {}, 0);
}

template <class T>
std::vector<float> values(const T& t) {
  std::vector<float> all;
  for (i64 i = 0; i < T::rows; ++i) all.insert(all.end(), t.row(i), t.row(i) + T::cols);
  return all;
}

/// A (rows, cols) tile of a row-major array.
template <int R, int C, class P>
auto tile_of_array(P& p, const float* data) {
  const tile::Matrix<const float> m{data, R, C, C, 1};
  return p.load(tile::load(m, tile::arange<R, 'r'>(), tile::arange<C, 'c'>()));
}

TEST(Values, arithmetic_repeats_an_axis_of_extent_1) {
  on_cpu([](auto& p) {
    const float x[] = {1, 2, 3, 4, 5, 6};
    const float row[] = {10, 20, 30};
    const float col[] = {100, 200};
    const auto t = tile_of_array<2, 3>(p, x);
    EXPECT_EQ(values(t + tile_of_array<1, 3>(p, row)), (std::vector<float>{11, 22, 33, 14, 25, 36}));
    EXPECT_EQ(values(t + tile_of_array<2, 1>(p, col)), (std::vector<float>{101, 102, 103, 204, 205, 206}));
    EXPECT_EQ(values(tile_of_array<2, 1>(p, col) - tile_of_array<1, 3>(p, row)),
              (std::vector<float>{90, 80, 70, 190, 180, 170}));
    EXPECT_EQ(values(2 * t), (std::vector<float>{2, 4, 6, 8, 10, 12}));
    EXPECT_EQ(values(1.0f - t), (std::vector<float>{0, -1, -2, -3, -4, -5}));
    EXPECT_EQ(values(t / 2.0f), (std::vector<float>{0.5f, 1, 1.5f, 2, 2.5f, 3}));
    EXPECT_EQ(values(-t), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
  });
}

TEST(Values, reductions_and_transposition) {
  on_cpu([](auto& p) {
    const float x[] = {1, 5, 3, 4, 2, 6};
    const auto t = tile_of_array<2, 3>(p, x);
    EXPECT_EQ(values(tile::row_sum(t)), (std::vector<float>{9, 12}));
    EXPECT_EQ(values(tile::row_max(t)), (std::vector<float>{5, 6}));
    EXPECT_EQ(values(tile::col_sum(t)), (std::vector<float>{5, 7, 9}));
    EXPECT_EQ(values(tile::col_max(t)), (std::vector<float>{4, 5, 6}));
    EXPECT_EQ(values(tile::trans(t)), (std::vector<float>{1, 4, 5, 2, 3, 6}));
  });
}

TEST(Values, named_functions) {
  on_cpu([](auto& p) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    const float x[] = {-2, 0, 3, nan, -inf, inf};
    const auto t = tile_of_array<1, 6>(p, x);
    const auto relu = values(tile::relu(t));
    EXPECT_EQ((std::vector<float>{relu.begin(), relu.begin() + 3}), (std::vector<float>{0, 0, 3}));
    EXPECT_TRUE(std::isnan(relu[3]));  // NU-3: NaN stays NaN
    EXPECT_EQ(relu[4], 0.0f);
    EXPECT_EQ(relu[5], inf);
    EXPECT_TRUE(std::isnan(values(tile::max(t, 1.0f))[3]));
    EXPECT_TRUE(std::isnan(values(tile::min(t, 1.0f))[3]));
    EXPECT_FLOAT_EQ(values(tile::exp(t))[2], std::exp(3.0f));
    EXPECT_FLOAT_EQ(values(tile::tanh(t))[0], std::tanh(-2.0f));
    EXPECT_FLOAT_EQ(values(tile::sqrt(t))[2], std::sqrt(3.0f));
    EXPECT_FLOAT_EQ(values(tile::silu(t))[2], 3.0f / (1.0f + std::exp(-3.0f)));
    EXPECT_NEAR(values(tile::gelu(t))[2], 2.9964f, 1e-4f);
    EXPECT_EQ(values(tile::map(t, [](float v) { return v * v; }))[2], 9.0f);
  });
}

TEST(Values, cast_rounds_once_and_where_chooses) {
  on_cpu([](auto& p) {
    const float x[] = {1.0f + 0x1p-12f, 65520.0f, 1.0f + 3 * 0x1p-11f, -0x1p-25f};
    const auto t = tile_of_array<1, 4>(p, x);
    EXPECT_EQ(values(tile::cast<f16>(t)),
              (std::vector<float>{1.0f, std::numeric_limits<float>::infinity(), 1.0f + 0x1p-9f, -0.0f}));
    const auto rn = tile::arange<4, 'c'>();
    EXPECT_EQ(values(tile::where(tile::cols(rn) < 2, t, 7.0f)), (std::vector<float>{x[0], x[1], 7, 7}));
    EXPECT_EQ(values(tile::where(tile::cols(rn) < 2, t, 2 * t)), (std::vector<float>{x[0], x[1], 2 * x[2], 2 * x[3]}));
  });
}

TEST(Values, copies_are_independent_and_a_load_fills_what_the_mask_excludes) {
  on_cpu([](auto& p) {
    const float x[] = {1, 2, 3};
    const tile::Matrix<const float> m{x, 1, 3, 3, 1};
    const auto t = p.load(tile::load(m, tile::arange<2, 'r'>(), tile::arange<4, 'c'>() - 1, -tile::infinity));
    const float low = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(values(t), (std::vector<float>{low, 1, 2, 3, low, low, low, low}));
    auto copy = t;
    copy = copy + 1.0f;
    EXPECT_EQ(values(t)[1], 1.0f);
    EXPECT_EQ(values(copy)[1], 2.0f);
  });
}

TEST(Values, a_product_of_values_is_the_product_of_what_they_hold) {
  on_cpu([](auto& p) {
    std::vector<float> x(16 * 16), y(16 * 16);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(static_cast<int>(i % 7) - 3);
      y[i] = static_cast<float>(static_cast<int>(i % 5) - 2);
    }
    const auto a = tile_of_array<16, 16>(p, x.data());
    const auto b = tile_of_array<16, 16>(p, y.data());
    auto acc = tile::full<float, 16, 16>(p, 10.0f);
    acc += tile::dot(a, b);
    acc = tile::dot(a, tile::trans(b), acc);
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t j = 0; j < 16; ++j) {
        float expected = 10;
        for (std::size_t k = 0; k < 16; ++k) expected += x[i * 16 + k] * (y[k * 16 + j] + y[j * 16 + k]);
        EXPECT_EQ(acc.row(static_cast<i64>(i))[j], expected);
      }
    }
  });
}

/// acc += dot(acc, w), and what was moved away is assigned to again.
struct OwnOperand {
  tile::Matrix<const float> x, w;
  tile::Matrix<float> c;
};
struct MultipliesItself {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& arguments) const {
    const auto rm = tile::arange<16, 'm'>();
    const auto rn = tile::arange<544, 'n'>();
    const auto rk = tile::arange<544, 'k'>();
    auto acc = p.load(tile::load(arguments.x, rm, rn));
    acc += tile::dot(acc, tile::load(arguments.w, rk, rn));
    auto kept = static_cast<decltype(acc)&&>(acc);
    acc = kept;
    tile::store(arguments.c, rm, rn, acc);
  }
};

TEST(Values, an_accumulator_that_is_an_operand_is_read_before_it_changes) {
  std::vector<float> x(16 * 544), w(544 * 544), c(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 5) - 2;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 3 % 7) - 3;
  const OwnOperand arguments{{x.data(), 16, 544, 544, 1}, {w.data(), 544, 544, 544, 1}, {c.data(), 16, 544, 544, 1}};
  std::vector<float> expected = x;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t k = 0; k < 544; ++k) {
      for (std::size_t j = 0; j < 544; ++j) expected[i * 544 + j] += x[i * 544 + k] * w[k * 544 + j];
    }
  }
  for (const auto& [a, b] :
       {std::pair{Mover::pack, Mover::pack}, {Mover::direct, Mover::pack}, {Mover::pack, Mover::direct}}) {
    for (const Mma mma : cpu::instruction_sets()) {
      cpu::Launch how{{1}};
      how.mma = mma, how.a = a, how.b = b;
      cpu::launch(MultipliesItself{}, how, arguments);
      EXPECT_EQ(c, expected) << to_string(mma) << to_string(a) << to_string(b);
    }
  }
  const MatrixView x_view = view_of(x.data(), 16, 544, 544), w_view = view_of(w.data(), 544, 544, 544);
  const MatrixView c_view = view_of(c.data(), 16, 544, 544);
  const auto value = [&](const exact::Values& values, i64 i, i64 j) {
    exact::Field sum = values(x_view, i, j);
    for (i64 k = 0; k < 544; ++k) sum = sum + values(x_view, i, k) * values(w_view, k, j);
    return sum;
  };
  const auto report = check(MultipliesItself{}, {1}, arguments,
                            {buffer_of("x", exact::Role::input, x_view), buffer_of("w", exact::Role::input, w_view),
                             buffer_of("c", exact::Role::output, c_view)},
                            {{.output = c_view, .value = value, .partial = {}, .k_range = {}, .factors = {}}});
  EXPECT_TRUE(report.passed()) << report.text();
}

/// A product is stored, then an operand's memory is written over, then the product is wanted again.
struct OverwritesOperand {
  tile::Matrix<const f16> a, b;
  tile::Matrix<f16> operand_again, c;
  tile::Matrix<float> d;
};
struct StoresTwice {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto rm = tile::arange<16, 'm'>();
    const auto rn = tile::arange<16, 'n'>();
    const auto rk = tile::arange<16, 'k'>();
    auto acc = tile::zeros<float, 16, 16>(p);
    for (int i = 0; i < 2; ++i) acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn));
    tile::store(x.c, rm, rn, acc);
    tile::store(x.operand_again, rm, rk, tile::full<float, 16, 16>(p, 9.0f));
    tile::store(x.d, rm, rn, acc);
  }
};

TEST(Values, a_product_that_is_put_off_is_of_what_its_operands_held) {
  const auto number = [](int i) { return static_cast<float>(i * 7 % 5 - 2); };
  for (const Mover mover : {Mover::pack, Mover::direct}) {
    for (const Mma mma : cpu::instruction_sets()) {
      for (const int rows : {16, 11}) {                   // of C: all of the tile or a part
        for (const char overwritten : {'a', 'b', 'c'}) {  // 'c': by C, which is A
          const bool in_place = overwritten == 'c';
          std::vector<f16> a(256), b(256), c(256);
          std::vector<float> d(256), expected(256);
          for (std::size_t i = 0; i < 256; ++i) {
            a[i] = to_f16(number(static_cast<int>(i)));
            b[i] = to_f16(number(static_cast<int>(3 * i + 1)));
          }
          for (std::size_t i = 0; i < 256; ++i) {
            for (std::size_t k = 0; k < 16; ++k) {
              expected[i] += 2 * to_float(a[i / 16 * 16 + k]) * to_float(b[k * 16 + i % 16]);
            }
          }
          f16* const to = in_place ? a.data() : c.data();
          std::vector<f16>& again = in_place ? c : overwritten == 'a' ? a : b;
          const OverwritesOperand arguments{{a.data(), 16, 16, 16, 1},
                                            {b.data(), 16, 16, 16, 1},
                                            {again.data(), 16, 16, 16, 1},
                                            {to, rows, 16, 16, 1},
                                            {d.data(), 16, 16, 16, 1}};
          cpu::Launch how{{1}};
          how.mma = mma, how.a = mover, how.operands_stay = true;
          cpu::launch(StoresTwice{}, how, arguments);
          EXPECT_EQ(d, expected) << to_string(mma) << to_string(mover) << rows << overwritten;
          for (int i = 0; i < rows * 16; ++i) {
            EXPECT_EQ(to_float(to[i]), expected[static_cast<std::size_t>(i)])
                << to_string(mma) << to_string(mover) << i;
          }
        }
      }
    }
  }
}

/// Memory of the kernel's own as A, written over and freed without a word of the language.
struct FillsItsOwn {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto rm = tile::arange<16, 'm'>();
    const auto rn = tile::arange<16, 'n'>();
    const auto rk = tile::arange<16, 'k'>();
    auto acc = tile::zeros<float, 16, 16>(p);
    for (const float value : {1.0f, 2.0f}) {
      std::vector<f16> own(256, to_f16(value));
      const tile::Matrix<const f16> a{own.data(), 16, 16, 16, 1};
      acc += tile::dot(tile::load(a, rm, rk), tile::load(x.b, rk, rn));
      std::fill(own.begin(), own.end(), to_f16(100.0f));
    }
    tile::store(x.d, rm, rn, acc);
  }
};

TEST(Values, products_are_of_what_a_held_unless_the_launch_says_that_it_stays) {
  std::vector<f16> b(256, to_f16(1.0f)), none(256);
  std::vector<float> d(256);
  const tile::Matrix<f16> unused{none.data(), 16, 16, 16, 1};
  const OverwritesOperand arguments{
      {none.data(), 16, 16, 16, 1}, {b.data(), 16, 16, 16, 1}, unused, unused, {d.data(), 16, 16, 16, 1}};
  for (const Mover mover : {Mover::pack, Mover::direct}) {
    for (const Mma mma : cpu::instruction_sets()) {
      cpu::Launch how{{1}};
      how.mma = mma, how.a = mover;
      cpu::launch(FillsItsOwn{}, how, arguments);
      EXPECT_EQ(d, std::vector<float>(256, 48.0f)) << to_string(mma) << to_string(mover);
    }
  }
}

/// A kept sum, moved to itself while its last product waits.
struct MovesToItself {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto rm = tile::arange<16, 'm'>();
    const auto rn = tile::arange<16, 'n'>();
    const auto rk = tile::arange<16, 'k'>();
    auto acc = tile::zeros<float, 16, 16>(p);
    acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn));
    auto& same = acc;
    acc = std::move(same);
    tile::store(x.d, rm, rn, acc);
  }
};

TEST(Values, a_sum_that_is_moved_to_itself_stays) {
  std::vector<f16> ones(256, to_f16(1.0f)), none(256);
  std::vector<float> d(256);
  const tile::Matrix<f16> unused{none.data(), 16, 16, 16, 1};
  const OverwritesOperand arguments{
      {ones.data(), 16, 16, 16, 1}, {ones.data(), 16, 16, 16, 1}, unused, unused, {d.data(), 16, 16, 16, 1}};
  cpu::Launch how{{1}};
  how.a = Mover::direct, how.operands_stay = true;
  cpu::launch(MovesToItself{}, how, arguments);
  EXPECT_EQ(d, std::vector<float>(256, 16.0f));
}

TEST(Field, is_a_field) {
  using exact::Field;
  EXPECT_EQ(Field::of(-1) + Field::of(1), Field());
  EXPECT_EQ(Field::of(INT64_MIN) + Field::of(INT64_MAX) + Field::of(1), Field());
  for (exact::u64 seed = 1; seed < 200; ++seed) {
    const Field a = Field::random(seed), b = Field::random(seed + 1000), c = Field::random(seed + 2000);
    EXPECT_LT(a.value(), Field::prime);
    EXPECT_EQ(a * (b + c), a * b + a * c);
    EXPECT_EQ((a - b) + b, a);
    EXPECT_EQ(a / b * b, a);
    EXPECT_EQ((a * b).value(), static_cast<exact::u64>(static_cast<exact::u128>(a.value()) * b.value() % Field::prime));
  }
}

TEST(Field, floats_keep_their_meaning) {
  using exact::Field;
  EXPECT_EQ(Field::of_float(3.0f), Field::of(3));
  EXPECT_EQ(Field::of_float(-0.75f) * Field::of(4), Field::of(-3));
  EXPECT_EQ(Field::of_float(0x1p-149f) * Field::of_float(0x1p100f) * Field::of_float(0x1p49f), Field::of(1));
  EXPECT_EQ(Field::of_float(-std::numeric_limits<float>::infinity()), Field::minus_infinity());
  EXPECT_EQ(max(Field::minus_infinity(), Field()), Field());
}

TEST(Locate, finds_what_a_view_holds_and_nothing_else) {
  for (const i64 row_stride : {i64{1}, i64{4}, i64{7}, i64{-9}, i64{0}, i64{30}}) {
    for (const i64 col_stride : {i64{1}, i64{3}, i64{-2}, i64{0}, i64{-40}}) {
      const MatrixView view{nullptr, DType::f16, 5, 4, row_stride, col_stride};
      for (i64 offset = -300; offset <= 300; ++offset) {
        bool expected = false;
        for (i64 i = 0; i < 5; ++i) {
          for (i64 j = 0; j < 4; ++j) expected = expected || i * row_stride + j * col_stride == offset;
        }
        const exact::Logical at = exact::locate(view, offset);
        EXPECT_EQ(at.found, expected) << row_stride << " " << col_stride << " " << offset;
        if (at.found) {
          EXPECT_EQ(at.row * row_stride + at.col * col_stride, offset);
          EXPECT_TRUE(at.row >= 0 && at.row < 5 && at.col >= 0 && at.col < 4);
        }
      }
    }
  }
}

/// A user's function of floats has no exact meaning; the checker says so by name.
TEST(Checker, refuses_a_function_of_floats) {
  struct Kernel {
    void operator()(exact::Program& p, const tile::Matrix<float>& c) const {
      const auto r = tile::arange<16, 'r'>();
      const auto s = tile::arange<16, 's'>();
      tile::store(c, r, s, tile::map(tile::zeros<float, 16, 16>(p), [](float v) { return v + 1; }));
    }
  };
  float* const base = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
  const MatrixView c = view_of(base, 16, 16, 16);
  exact::Expected expected;
  expected.output = c;
  expected.value = [](const exact::Values&, i64, i64) { return exact::Field::of(1); };
  const exact::Report report = check(Kernel{}, {1}, tile::Matrix<float>{base, 16, 16, 16, 1},
                                     {buffer_of("c", exact::Role::output, c)}, {expected});
  EXPECT_TRUE(report.has(exact::FaultKind::refused)) << report.text();
  EXPECT_NE(report.text().find("tile::map"), std::string::npos) << report.text();
}

}  // namespace
