// Every teaching kernel on the CPU, over shapes and layouts in guarded memory, against FP64; the same sources run in
// the exact checker (battery_test.cpp).
#include <gtest/gtest.h>

#include <examples/kernels/advancing.hpp>
#include <examples/kernels/atomic_split.hpp>
#include <examples/kernels/batched.hpp>
#include <examples/kernels/bias_activation.hpp>
#include <examples/kernels/gathered.hpp>
#include <examples/kernels/masked.hpp>
#include <examples/kernels/modulo.hpp>
#include <examples/kernels/softmax.hpp>
#include <examples/kernels/transposed_store.hpp>

#include <tilewright/tile/cpu/executor.hpp>
#include "tests/oracle/judge.hpp"
#include "tests/oracle/random.hpp"

namespace {

using namespace tilewright;
using oracle::Edge;
using oracle::Input;
using oracle::Layout;
using oracle::Output;
using oracle::Type;

constexpr int bm = 64, bn = 32, bk = 32;

struct Shape {
  i64 m, n, k;
};
constexpr Shape shapes[] = {{130, 70, 65}, {1, 1, 1},    {64, 32, 32}, {65, 33, 33},
                            {63, 31, 31},  {7, 96, 129}, {97, 5, 64}};

template <class E>
tile::Matrix<E> kernel_matrix(const oracle::Cells& cells) {
  return {reinterpret_cast<E*>(cells.base), cells.rows, cells.cols, cells.row_stride, cells.col_stride};
}

i64 tile_count(const Shape& s) { return cdiv(s.m, bm) * cdiv(s.n, bn); }

/// Values in [-1, 1] that depend on the place alone.
double value_at(i64 seed, i64 i, i64 j) {
  const auto mixed = static_cast<std::uint64_t>(seed * 1000003 + i * 7919 + j * 104729) * 0x9e3779b97f4a7c15u;
  return static_cast<double>(static_cast<std::int64_t>(mixed >> 11)) * 0x1p-52 - 1.0;
}

/// One case: a shape, layouts that rotate with it, an instruction set.
struct Case {
  Shape shape;
  Layout a, b, c;
  Mma mma;
  cpu::Launch how(tile::Grid grid) const { return {grid, {}, mma, 2}; }
};

template <class F>
void for_each_case(F test) {
  std::size_t turn = 0;
  for (const Mma mma : this_cpu().instruction_sets) {
    for (const Shape& shape : shapes) {
      for (std::size_t i = 0; i < oracle::output_layouts.size(); ++i, ++turn) {
        test(Case{shape, oracle::output_layouts[i], oracle::output_layouts[(3 * i + turn) % 10],
                  oracle::output_layouts[(7 * i + 1) % 10], mma});
      }
    }
  }
}

struct Operands {
  Input a, b;
  Output c;
  explicit Operands(const Case& t, Type output = Type::f16)
      : a(Type::f16, t.shape.m, t.shape.k, t.a, Edge::end, [](i64 i, i64 j) { return value_at(1, i, j); }),
        b(Type::f16, t.shape.k, t.shape.n, t.b, Edge::begin, [](i64 i, i64 j) { return value_at(2, i, j); }),
        c(output, t.shape.m, t.shape.n, t.c, Edge::end) {}
  template <class Out>
  kernels::MatmulArgs<f16, Out> args() const {
    return {c.cells().rows,
            c.cells().cols,
            a.cells().cols,
            kernel_matrix<const f16>(a.cells()),
            kernel_matrix<const f16>(b.cells()),
            kernel_matrix<Out>(c.cells())};
  }
};

oracle::Claim claim_of(const char* kernel, const Case& t) {
  oracle::Claim claim;
  claim.target = "cpu";
  claim.plan = std::string(kernel) + " 64x32x32, instruction set " + std::to_string(static_cast<int>(t.mma));
  claim.what = std::string("a ") + oracle::name_of(t.a) + ", b " + oracle::name_of(t.b) + ", c " + oracle::name_of(t.c);
  claim.k = t.shape.k;
  return claim;
}

template <class Kernel>
void test_product(const char* name, const Kernel& kernel) {
  for_each_case([&](const Case& t) {
    const Operands o(t);
    cpu::launch(kernel, t.how({tile_count(t.shape)}), o.args<f16>());
    const oracle::Verdict verdict =
        oracle::judge(claim_of(name, t), oracle::reference_of(o.a.cells(), o.b.cells()), o.c);
    EXPECT_TRUE(verdict.right()) << verdict.report;
  });
}

TEST(KernelsOnCpu, masked) { test_product("masked", kernels::Masked<bm, bn, bk>{}); }
TEST(KernelsOnCpu, advancing) { test_product("advancing", kernels::Advancing<bm, bn, bk>{}); }
TEST(KernelsOnCpu, modulo) { test_product("modulo", kernels::ModuloRows<bm, bn, bk>{}); }

TEST(KernelsOnCpu, bias_activation) {
  for_each_case([](const Case& t) {
    const Operands o(t);
    const Input bias(Type::f32, 1, t.shape.n, Layout::off_by_one, Edge::end,
                     [](i64, i64 j) { return value_at(3, 0, j); });
    const auto x = o.args<f16>();
    const kernels::BiasArgs<f16, f16> args{
        x.m, x.n, x.k, x.a, x.b, {reinterpret_cast<const float*>(bias.cells().base), x.n, 1}, x.c};
    cpu::launch(kernels::BiasActivation<bm, bn, bk>{}, t.how({tile_count(t.shape)}), args);
    // The bias is one more product by 1; relu moves no value further from the truth than it was.
    oracle::Reference reference = oracle::reference_of(o.a.cells(), o.b.cells());
    for (std::size_t i = 0; i < reference.value.size(); ++i) {
      const double b = bias.cells().value(0, static_cast<i64>(i) % t.shape.n);
      reference.value[i] = std::max(0.0, reference.value[i] + b);
      reference.magnitude[i] += std::fabs(b);
    }
    reference.k += 1;
    oracle::Claim claim = claim_of("bias_activation", t);
    claim.k += 1;
    const oracle::Verdict verdict = oracle::judge(claim, reference, o.c);
    EXPECT_TRUE(verdict.right()) << verdict.report;
  });
}

TEST(KernelsOnCpu, gathered) {
  for_each_case([](const Case& t) {
    const Operands o(t);
    std::vector<i64> index(static_cast<std::size_t>(t.shape.m));
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<i64>(i * 7 + 3) % t.shape.m;
    if (t.shape.m > 2) index[1] = t.shape.m;  // outside of A: a row of zeros
    const auto x = o.args<f16>();
    const kernels::GatheredArgs<f16, f16> args{x.m, x.n, x.k, x.a, {index.data(), x.m}, x.b, x.c};
    cpu::launch(kernels::GatheredRows<bm, bn, bk>{}, t.how({tile_count(t.shape)}), args);
    std::vector<double> a;
    for (const i64 row : index) {
      for (i64 k = 0; k < x.k; ++k) a.push_back(row < x.m ? o.a.cells().value(row, k) : 0.0);
    }
    const auto reference = oracle::reference_of(x.m, x.n, x.k, a, oracle::values_of(o.b.cells()));
    const oracle::Verdict verdict = oracle::judge(claim_of("gathered", t), reference, o.c);
    EXPECT_TRUE(verdict.right()) << verdict.report;
  });
}

TEST(KernelsOnCpu, softmax) {
  for_each_case([](const Case& t) {
    const Input x(Type::f16, t.shape.m, t.shape.n, t.a, Edge::end, [](i64 i, i64 j) { return 8 * value_at(4, i, j); });
    const Output y(Type::f32, t.shape.m, t.shape.n, t.c, Edge::begin);
    const kernels::SoftmaxArgs<f16, float> args{t.shape.m, t.shape.n, kernel_matrix<const f16>(x.cells()),
                                                kernel_matrix<float>(y.cells())};
    cpu::launch(kernels::RowSoftmax<16, 128>{}, t.how({cdiv(t.shape.m, 16)}), args);
    for (i64 i = 0; i < t.shape.m; ++i) {
      double largest = x.cells().value(i, 0), sum = 0;
      for (i64 j = 0; j < t.shape.n; ++j) largest = std::max(largest, x.cells().value(i, j));
      for (i64 j = 0; j < t.shape.n; ++j) sum += std::exp(x.cells().value(i, j) - largest);
      for (i64 j = 0; j < t.shape.n; ++j) {
        const double expected = std::exp(x.cells().value(i, j) - largest) / sum;
        // A difference exact in FP32, an exponential within an ulp or two, n additions and a division.
        EXPECT_TRUE(std::fabs(y.cells().value(i, j) - expected) <=
                    expected * static_cast<double>(t.shape.n + 8) * 0x1p-23)
            << i << ", " << j << ": " << y.cells().value(i, j) << " for " << expected;
      }
    }
    EXPECT_TRUE(y.overwritten_guards().empty());
  });
}

TEST(KernelsOnCpu, transposed_store) {
  for_each_case([](const Case& t) {
    const Operands o(t);
    const Output d(Type::f16, t.shape.n, t.shape.m, t.c, Edge::end);
    auto args = o.args<f16>();
    args.c = kernel_matrix<f16>(d.cells());
    cpu::launch(kernels::TransposedStore<bm, bn, bk>{}, t.how({tile_count(t.shape)}), args);
    const oracle::Cells& at = d.cells();
    const oracle::Cells transposed{at.base, at.type, at.cols, at.rows, at.col_stride, at.row_stride};
    const oracle::Verdict verdict =
        oracle::judge(claim_of("transposed_store", t), oracle::reference_of(o.a.cells(), o.b.cells()), transposed);
    EXPECT_TRUE(verdict.right()) << verdict.report;
    EXPECT_TRUE(d.overwritten_guards().empty());
  });
}

TEST(KernelsOnCpu, atomic_split) {
  for_each_case([](const Case& t) {
    const Operands o(t, Type::f32);
    for (i64 i = 0; i < t.shape.m; ++i) {
      for (i64 j = 0; j < t.shape.n; ++j) o.c.cells().set(i, j, 0.0);
    }
    cpu::launch(kernels::AtomicSplit<bm, bn, bk>{}, t.how({tile_count(t.shape), 3}), o.args<float>());
    const oracle::Verdict verdict =
        oracle::judge(claim_of("atomic_split", t), oracle::reference_of(o.a.cells(), o.b.cells()), o.c);
    EXPECT_TRUE(verdict.right()) << verdict.report;
  });
}

TEST(KernelsOnCpu, batched) {
  for_each_case([](const Case& t) {
    constexpr i64 batch = 3;
    const Shape& s = t.shape;
    // A batch as one tall matrix: slice i starts i * rows further down, whatever the layout.
    const Input a(Type::f16, batch * s.m, s.k, t.a, Edge::end, [](i64 i, i64 j) { return value_at(5, i, j); });
    const Input b(Type::f16, batch * s.k, s.n, t.b, Edge::end, [](i64 i, i64 j) { return value_at(6, i, j); });
    const Output c(Type::f16, batch * s.m, s.n, t.c, Edge::end);
    const auto slice = [](const oracle::Cells& all, i64 rows, i64 number) {
      return oracle::Cells{all.at(number * rows, 0), all.type, rows, all.cols, all.row_stride, all.col_stride};
    };
    const kernels::BatchedArgs<f16, f16> args{s.m,
                                              s.n,
                                              s.k,
                                              kernel_matrix<const f16>(slice(a.cells(), s.m, 0)),
                                              kernel_matrix<const f16>(slice(b.cells(), s.k, 0)),
                                              kernel_matrix<f16>(slice(c.cells(), s.m, 0)),
                                              s.m * a.cells().row_stride,
                                              s.k * b.cells().row_stride,
                                              s.m * c.cells().row_stride};
    cpu::launch(kernels::Batched<bm, bn, bk>{}, t.how({cdiv(s.n, bn), cdiv(s.m, bm), batch}), args);
    for (i64 i = 0; i < batch; ++i) {
      const oracle::Verdict verdict = oracle::judge(
          claim_of("batched", t), oracle::reference_of(slice(a.cells(), s.m, i), slice(b.cells(), s.k, i)),
          slice(c.cells(), s.m, i));
      EXPECT_TRUE(verdict.right()) << "matrix " << i << "\n" << verdict.report;
    }
    EXPECT_TRUE(c.overwritten_guards().empty());
  });
}

}  // namespace
