// The operator's program with an epilogue, under every way its operands may come: relu((A * B + a number a column + a
// number a row) * 0.5), bit for bit with whole numbers.
#include <fmt/format.h>

#include <programs/epilogue.hpp>
#include <tilewright/gemm.hpp>
#include "gemm/run_cuda.hpp"
#include "tests/cuda/device/cases.hpp"
#include "tests/oracle/judge.hpp"

namespace device_check {
namespace {

using namespace programs;
using Fused = Then<Then<Then<AddPerColumn, AddPerRow>, Scale>, Relu>;
constexpr std::string_view fused_text =
    "tilewright::programs::Then<tilewright::programs::Then<tilewright::programs::Then<"
    "tilewright::programs::AddPerColumn, tilewright::programs::AddPerRow>, tilewright::programs::Scale>, "
    "tilewright::programs::Relu>";

struct Setup {
  i64 m, n, k;
  std::size_t a, b, c;  // layouts
  std::string plan;
};

double whole(i64 seed, i64 i, i64 j) { return static_cast<double>((i * 7 + j * 5 + i * j + seed) % 7 - 3); }

/// Two vectors, one behind the other.
class Biases {
 public:
  Biases(Worker& worker, i64 cols, i64 rows)
      : cols_(cols), rows_(rows), matrix_(worker, 3, Type::f32, 1, cols + rows, output_layouts()[8], Edge::end) {
    matrix_.fill_input([](i64, i64 j) { return static_cast<double>(j * 3 % 11 - 5); });
  }
  tile::Vector<const float> per_column() const { return part(0, cols_); }
  tile::Vector<const float> per_row() const { return part(cols_, rows_); }
  double of(i64 row, i64 col) const { return matrix_.cells().value(0, col) + matrix_.cells().value(0, cols_ + row); }

 private:
  tile::Vector<const float> part(i64 from, i64 size) const {
    const i64 stride = matrix_.view().col_stride;
    return {static_cast<const float*>(matrix_.view().data) + from * stride, size, stride};
  }
  i64 cols_, rows_;
  Matrix matrix_;
};

std::string multiply(Worker& worker, const Setup& t) {
  Matrix a(worker, 0, Type::f16, t.m, t.k, input_layouts()[t.a], Edge::end);
  Matrix b(worker, 1, Type::f16, t.k, t.n, input_layouts()[t.b], Edge::begin);
  Matrix c(worker, 2, Type::f16, t.m, t.n, output_layouts()[t.c], Edge::end);
  a.fill_input([](i64 i, i64 j) { return whole(1, i, j); });
  b.fill_input([](i64 i, i64 j) { return whole(2, i, j); });
  c.fill_output();
  const Biases biases(worker, t.n, t.m);
  const Fused fused{{{{biases.per_column()}, {biases.per_row()}}, {0.5f}}, {}};
  GemmOptions options;
  options.plan = parse_plan(t.plan);
  options.stream = worker.stream;
  gemm_detail::run_cuda(problem_of(a.view(), b.view(), c.view()), a.view(), b.view(), c.view(), 0, options,
                        {fused_text, &fused, sizeof fused});
  c.download();
  const oracle::Reference r = oracle::reference_of(a.cells(), b.cells());
  std::vector<std::uint32_t> bits;
  for (i64 i = 0; i < t.m; ++i) {
    for (i64 j = 0; j < t.n; ++j) {
      const double sum = r.value[static_cast<std::size_t>(i * t.n + j)] + biases.of(i, j);
      bits.push_back(oracle::encode(Type::f16, std::max(0.0, sum * 0.5)));
    }
  }
  const oracle::Claim claim{"cuda", t.plan, fmt::format("a {}; b {}; c {}", a.describe(), b.describe(), c.describe()),
                            t.k};
  oracle::Verdict verdict = oracle::judge(claim, bits, c.cells());
  if (c.overwritten_guards() > 0) verdict.report += "guard cells overwritten\n";
  return verdict.report;
}

}  // namespace

void add_epilogue_cases(std::vector<Case>& cases, bool reduced) {
  enum : std::size_t { packed, by_1, transposed = 5, transposed_by_1 };
  const std::vector<Setup> setups = {
      {130, 70, 65, by_1, by_1, packed, "64x32x32"},                               // copies
      {131, 264, 72, packed, packed, by_1, "128x128x64 t2 a=tma b=tma"},           // boxes, teams in turn
      {131, 264, 77, by_1, packed, packed, "128x256x64 a=tma b=tma"},              // boxes of classes
      {131, 264, 72, transposed, transposed, by_1, "128x256x64 a=realign b=tma"},  // a raw left operand
      {131, 260, 72, packed, by_1, by_1, "64x128x64 a=tma b=realign"},             // C transposed
      {520, 257, 77, by_1, by_1, packed, "128x128x64 a=tma b=realign"},            // and by classes of columns
      {260, 257, 77, transposed_by_1, transposed_by_1, packed,
       "128x256x64 a=realign b=tma"},                                              // columns of C by classes
      {260, 257, 77, transposed_by_1, by_1, packed, "64x128x64 a=realign b=tma"},  // K in phases
  };
  for (const Setup& t : setups) {
    if (reduced && t.m > 300) continue;
    cases.push_back({fmt::format("epilogue {}x{}x{} {}", t.m, t.n, t.k, t.plan),
                     [=](Worker& worker) { return multiply(worker, t); }});
  }
}

}  // namespace device_check
