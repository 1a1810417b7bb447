// Random problems through the public operator, by its default plan and by others of the planner's, bit for bit against
// sums of whole numbers. A seed and an index decide everything: extents, types, how each operand lies, the plan.
//
// What is expected is cheap, so that tens of thousands take minutes: elements are from -4 to 4, sums of at most 2,000
// of their products are looked up as bits, and a problem has some millions of products at most. Start at drawn().
#include <array>

#include <fmt/format.h>

#include <tilewright/gemm.hpp>
#include "gemm/run_cuda.hpp"
#include "gemm/turned.hpp"
#include "tests/cuda/device/cases.hpp"
#include "tests/oracle/judge.hpp"
#include "tests/oracle/random.hpp"

namespace device_check {
namespace {

using oracle::Placement;
using oracle::Random;

constexpr i64 most_products = 6'000'000, most_span = 600'000;  // of a problem; elements of an operand's block
constexpr i64 most_depth = 2000, largest = 4;                  // K, and an element

/// True once in so many times.
bool once_in(Random& random, i64 times) { return random.whole(1, times) == 1; }
template <class T, std::size_t N>
T one_of(Random& random, const std::array<T, N>& values) {
  return values[static_cast<std::size_t>(random.whole(0, N - 1))];
}

/// Around the tiles' own extents, those of copies, and anything.
i64 drawn_extent(Random& random) {
  constexpr std::array<i64, 28> awkward = {1,  2,  3,   7,   8,   9,   15,  16,  17,  31,  32,  33,  63,  64,
                                           65, 96, 127, 128, 129, 191, 193, 255, 256, 257, 384, 511, 513, 600};
  return once_in(random, 3) ? random.whole(1, 600) : one_of(random, awkward);
}
i64 drawn_depth(Random& random) {
  const i64 kind = random.whole(0, 9);
  return kind == 0 ? random.whole(600, most_depth) : kind < 4 ? drawn_extent(random) : random.whole(1, 160);
}

struct Placed {
  Placement placement;
  Edge edge;
  std::string text() const {
    return fmt::format("({},{}) from {} of a block that {} at an unmapped page", placement.row_stride,
                       placement.col_stride, placement.origin, edge == Edge::end ? "ends" : "begins");
  }
};

/// Stored along either axis, packed or with a leading dimension up to 9 longer, steps of 2 or 3 along either axis, the
/// base shifted by up to 8 elements, either axis flipped. An input's axes may also be broadcast.
Placed drawn_placement(Random& random, i64 rows, i64 cols, bool input) {
  const bool across = once_in(random, 2);
  const i64 adjacent = across ? rows : cols;
  const auto step = [&] { return once_in(random, 8) ? random.whole(2, 3) : 1; };
  i64 near = step();
  const i64 reach = (adjacent - 1) * near + 1, whole_chunks = (reach + 7) / 8 * 8;
  i64 far = (once_in(random, 2) ? whole_chunks : reach + random.whole(0, 9)) * step();
  if (once_in(random, 12)) near = -near;
  if (once_in(random, 12)) far = -far;
  if (input && once_in(random, 14)) near = 0;
  if (input && once_in(random, 14)) far = 0;
  const i64 lead = once_in(random, 2) ? 0 : random.whole(1, 8);
  const Placement strides = across ? Placement{near, far} : Placement{far, near};
  return {oracle::spanned(strides, rows, cols, lead), once_in(random, 2) ? Edge::end : Edge::begin};
}

struct Problem {
  std::uint64_t values = 0;  // seed of the elements
  i64 m = 0, n = 0, k = 0;
  Type in = Type::f16, out = Type::f16;
  Placed a, b, c;
  i64 workspace = 0;    // bytes
  std::string request;  // a plan; empty: the operator's own
  std::string plan;     // that is taken
};

/// An operand where a region would have it, as far as a plan depends on that: regions begin at multiples of pages.
template <class View>
View view_of(const Placed& placed, Type type, i64 rows, i64 cols) {
  const Placement& p = placed.placement;
  const i64 size = oracle::format(type).bytes, page = i64{1} << 30;
  const i64 block = placed.edge == Edge::end ? page + case_bytes - p.span * size : page;
  return {reinterpret_cast<void*>(block + p.origin * size), dtype(type), rows, cols, p.row_stride, p.col_stride};
}

/// A plan that the planner ranks without being asked for one.
void draw_plan(Random& random, Problem& x) {
  const gemm_detail::ProductViews t =
      gemm_detail::turned(view_of<MatrixView>(x.a, x.in, x.m, x.k), view_of<MatrixView>(x.b, x.in, x.k, x.n),
                          view_of<MutableMatrixView>(x.c, x.out, x.m, x.n));
  const PlanChoice choice = gemm_detail::cuda_plan(problem_of(t.a, t.b, t.c), {}, 0, x.workspace);
  x.plan = to_string(choice.plan);
  if (!once_in(random, 3)) return;
  std::vector<std::string> ranked;
  for (const Candidate& candidate : choice.candidates) {
    if (candidate.rejected.empty()) ranked.push_back(to_string(candidate.plan));
  }
  x.plan = ranked[static_cast<std::size_t>(random.whole(0, static_cast<i64>(ranked.size()) - 1))];
  x.request = x.plan;
}

Problem drawn(std::uint64_t seed, i64 index) {
  // Seeds and indices that are neighbours have nothing in common.
  Random random(Random(seed ^ (static_cast<std::uint64_t>(index) * 0xd1342543de82ef95u)).next());
  constexpr std::array in = {Type::f16, Type::f16, Type::f16, Type::bf16, Type::bf16, Type::f32};
  Problem x;
  const auto fits = [&] {
    return x.m * x.n * x.k <= most_products &&
           std::max({x.a.placement.span, x.b.placement.span, x.c.placement.span}) <= most_span;
  };
  do {
    x.m = drawn_extent(random), x.n = drawn_extent(random), x.k = drawn_depth(random);
    x.a = drawn_placement(random, x.m, x.k, true);
    x.b = drawn_placement(random, x.k, x.n, true);
    x.c = drawn_placement(random, x.m, x.n, false);
  } while (!fits());
  x.in = one_of(random, in);
  x.out = once_in(random, 2) ? x.in : one_of(random, oracle::all_types);
  x.values = random.next();
  if (once_in(random, 4)) x.workspace = i64{1} << 24;
  draw_plan(random, x);
  return x;
}

/// The elements of an operand, row by row; index 0 of a broadcast axis for all of it.
std::vector<int> elements_of(std::uint64_t seed, const Placement& p, i64 rows, i64 cols) {
  std::vector<int> elements;
  elements.reserve(static_cast<std::size_t>(rows * cols));
  for (i64 i = 0; i < rows; ++i) {
    for (i64 j = 0; j < cols; ++j) {
      const auto row = static_cast<std::uint64_t>(p.row_stride == 0 ? 0 : i);
      const auto col = static_cast<std::uint64_t>(p.col_stride == 0 ? 0 : j);
      std::uint64_t z = seed + row * 0x9e3779b97f4a7c15u + col * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
      elements.push_back(static_cast<int>((z >> 40) % (2 * largest + 1)) - static_cast<int>(largest));
    }
  }
  return elements;
}

/// The bits of every whole number that a sum can be, 0 in the middle.
const std::vector<std::uint32_t>& bits_of_sums(Type type) {
  constexpr i64 most = most_depth * largest * largest;
  static const auto tables = [] {
    std::array<std::vector<std::uint32_t>, oracle::all_types.size()> filled;
    for (const Type each : oracle::all_types) {
      for (i64 sum = -most; sum <= most; ++sum)
        filled[static_cast<std::size_t>(each)].push_back(oracle::encode(each, static_cast<double>(sum)));
    }
    return filled;
  }();
  return tables[static_cast<std::size_t>(type)];
}

std::vector<std::uint32_t> expected_bits(const Problem& x, const std::vector<int>& a, const std::vector<int>& b) {
  const std::vector<std::uint32_t>& table = bits_of_sums(x.out);
  const std::size_t zero = table.size() / 2, n = static_cast<std::size_t>(x.n), k = static_cast<std::size_t>(x.k);
  std::vector<std::uint32_t> bits;
  bits.reserve(static_cast<std::size_t>(x.m) * n);
  std::vector<int> sums(n);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.m); ++i) {
    sums.assign(n, 0);
    for (std::size_t l = 0; l < k; ++l) {
      const int left = a[i * k + l];
      const int* const right = b.data() + l * n;
      for (std::size_t j = 0; j < n; ++j) sums[j] += left * right[j];
    }
    for (const int sum : sums) bits.push_back(table[zero + static_cast<std::size_t>(sum)]);
  }
  return bits;
}

std::string multiply(Worker& worker, const Problem& x) {
  Matrix a(worker, 0, x.in, x.m, x.k, x.a.placement, "drawn", x.a.edge);
  Matrix b(worker, 1, x.in, x.k, x.n, x.b.placement, "drawn", x.b.edge);
  Matrix c(worker, 2, x.out, x.m, x.n, x.c.placement, "drawn", x.c.edge);
  const std::vector<int> left = elements_of(x.values, x.a.placement, x.m, x.k);
  const std::vector<int> right = elements_of(x.values + 1, x.b.placement, x.k, x.n);
  const std::vector<std::uint32_t>& bits = bits_of_sums(x.in);
  const auto bits_from = [&bits](const std::vector<int>& elements, i64 cols) {
    return [&bits, &elements, cols](i64 i, i64 j) {
      return bits[bits.size() / 2 + static_cast<std::size_t>(elements[static_cast<std::size_t>(i * cols + j)])];
    };
  };
  a.fill_input_bits(bits_from(left, x.k));
  b.fill_input_bits(bits_from(right, x.n));
  c.fill_output();
  GemmOptions options;
  options.plan = parse_plan(x.request);
  options.workspace_bytes = x.workspace;
  options.stream = worker.stream;
  if (const std::string plan = to_string(plan_for(a.view(), b.view(), c.view(), options).plan); plan != x.plan)
    return fmt::format("the plan is {}\n", plan);
  gemm_into(a.view(), b.view(), c.view(), options);
  c.download();
  const oracle::Claim claim{"cuda", x.plan, fmt::format("a {}; b {}; c {}", a.describe(), b.describe(), c.describe()),
                            x.k};
  std::string report = oracle::judge(claim, expected_bits(x, left, right), c.cells()).report;
  if (const i64 guards = c.overwritten_guards(); guards > 0)
    report += fmt::format("{} guard cells overwritten around c\n", guards);
  return report;
}

}  // namespace

void add_random_cases(std::vector<Case>& cases, i64 count, std::uint64_t seed, i64 first) {
  for (i64 index = first; index < first + count; ++index) {
    const Problem x = drawn(seed, index);
    cases.push_back({fmt::format("gpu_check --random 1 --seed {} --from {}: {} to {} {}x{}x{}, a {}, b {}, c {}, {} {}",
                                 seed, index, oracle::format(x.in).name, oracle::format(x.out).name, x.m, x.n, x.k,
                                 x.a.text(), x.b.text(), x.c.text(), x.request.empty() ? "own plan" : "plan", x.plan),
                     [x](Worker& worker) { return multiply(worker, x); }});
  }
}

}  // namespace device_check
