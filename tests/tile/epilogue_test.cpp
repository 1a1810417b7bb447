// The operator's program with an epilogue on the CPU: in every form in which it runs on a GPU (C, C transposed, every
// so many rows or columns of C), with whole numbers.
#include <gtest/gtest.h>

#include <programs/split_k.hpp>
#include <tilewright/tile/cpu/executor.hpp>

namespace {

using namespace tilewright;
using namespace tilewright::programs;

constexpr Tiles tiles{64, 32, 32};
using Fused = Then<Then<Then<AddPerColumn, AddPerRow>, Scale>, Relu>;

float number(i64 seed, i64 i, i64 j) { return static_cast<float>((i * 7 + j * 5 + i * j + seed) % 7 - 3); }

/// A problem, and what the epilogue makes of it.
struct Problem {
  i64 m, n, k;
  std::vector<float> a, b, c, per_column, per_row;

  Problem(i64 rows, i64 cols, i64 depth) : m(rows), n(cols), k(depth) {
    for (i64 i = 0; i < m * k; ++i) a.push_back(number(1, i / k, i % k));
    for (i64 i = 0; i < k * n; ++i) b.push_back(number(2, i / n, i % n));
    for (i64 j = 0; j < n; ++j) per_column.push_back(static_cast<float>(j * 3 % 11 - 5));
    for (i64 i = 0; i < m; ++i) per_row.push_back(static_cast<float>(i * 7 % 13 - 6));
    c.assign(static_cast<std::size_t>(m * n), -1.0f);
  }
  GemmArgs<float, float> args() {
    return {m, n, k, {a.data(), m, k, k, 1}, {b.data(), k, n, n, 1}, {c.data(), m, n, n, 1}};
  }
  Fused epilogue() const { return {{{{{per_column.data(), n, 1}}, {{per_row.data(), m, 1}}}, {0.5f}}, {}}; }

  void expect_fused() const {
    for (i64 i = 0; i < m; ++i) {
      for (i64 j = 0; j < n; ++j) {
        float sum = 0;
        for (i64 at = 0; at < k; ++at) sum += number(1, i, at) * number(2, at, j);
        sum += per_column[static_cast<std::size_t>(j)] + per_row[static_cast<std::size_t>(i)];
        ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], std::max(0.0f, sum * 0.5f)) << "C(" << i << ", " << j << ")";
      }
    }
  }
};

template <class Program, class Args>
void run(const Program& program, const Args& args, Mma mma) {
  cpu::launch(program, {{cdiv(args.m, tiles.m) * cdiv(args.n, tiles.n)}, {}, mma, 2}, args);
}

/// test(problem, instruction set), over shapes.
template <class F>
void for_each_problem(const F& test) {
  for (const Mma mma : this_cpu().instruction_sets) {
    for (const auto& [m, n, k] : {std::array<i64, 3>{130, 70, 65}, {1, 1, 1}, {64, 32, 32}, {7, 96, 129}}) {
      SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << ", instruction set " << static_cast<int>(mma));
      Problem p(m, n, k);
      test(p, mma);
      p.expect_fused();
    }
  }
}

TEST(EpilogueOnCpu, IsOfTheAccumulatorAndItsPlaceInC) {
  for_each_problem([](Problem& p, Mma mma) { run(Gemm<tiles, Fused>{p.epilogue()}, p.args(), mma); });
}

TEST(EpilogueOnCpu, OfCTransposed) {
  for_each_problem([](Problem& p, Mma mma) {
    const GemmArgs<float, float> x = p.args();
    const GemmArgs<float, float> turned{
        x.n, x.m, x.k, tile::transposed(x.b), tile::transposed(x.a), tile::transposed(x.c)};
    run(Gemm<tiles, OfTransposed<Fused>>{{p.epilogue()}}, turned, mma);
  });
}

TEST(EpilogueOnCpu, OfEverySoManyRowsOrColumnsOfC) {
  for_each_problem([](Problem& p, Mma mma) {
    for (i64 first = 0; first < std::min<i64>(p.m, 8); ++first) {
      run(Gemm<tiles, Fused>{p.epilogue()}, p.args().of_rows(first, 8), mma);
    }
  });
  for_each_problem([](Problem& p, Mma mma) {
    for (i64 first = 0; first < std::min<i64>(p.n, 4); ++first) {
      run(Gemm<tiles, Fused>{p.epilogue()}, p.args().of_cols(first, 4), mma);
    }
  });
}

TEST(EpilogueOnCpu, OfASplitSumIsOfItsWhole) {
  for_each_problem([](Problem& p, Mma mma) {
    const GemmArgs<float, float> x = p.args();
    constexpr i64 parts = 3;
    std::vector<float> workspace(static_cast<std::size_t>(parts * x.m * x.n));
    const SplitKArgs<float, float> args{x.m, x.n, x.k, x.a, x.b, x.c, workspace.data(), parts};
    const i64 count = cdiv(x.m, tiles.m) * cdiv(x.n, tiles.n);
    cpu::launch(SplitKSum<tiles>{}, {{count, parts}, {}, mma, 2}, args);
    cpu::launch(SplitKReduce<tiles, Fused>{p.epilogue()}, {{count}, {}, mma, 2}, args);
  });
}

}  // namespace
