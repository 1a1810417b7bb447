#include "check/battery.hpp"

#include <atomic>
#include <mutex>

#include <examples/kernels/advancing.hpp>
#include <examples/kernels/atomic_split.hpp>
#include <examples/kernels/batched.hpp>
#include <examples/kernels/bias_activation.hpp>
#include <examples/kernels/gathered.hpp>
#include <examples/kernels/masked.hpp>
#include <examples/kernels/modulo.hpp>
#include <examples/kernels/softmax.hpp>
#include <examples/kernels/transposed_store.hpp>
#include <programs/split_k.hpp>
#include <tilewright/tile/cpu/launch.hpp>

namespace tilewright::exact {
namespace {

constexpr int bm = 64, bn = 32, bk = 32;
constexpr programs::Tiles tiles{bm, bn, bk};

i64 tile_count(const Shape& s) { return cdiv(s.m, bm) * cdiv(s.n, bn); }

/// The three operands of a product.
struct Operands {
  Operand a, b, c;
  Operands(const Shape& s, const LayoutChoice& layout, DType c_type = DType::f16, Role c_role = Role::output)
      : a(place("a", Role::input, layout.a, s.m, s.k, DType::f16, 0)),
        b(place("b", Role::input, layout.b, s.k, s.n, DType::f16, 1)),
        c(place("c", c_role, layout.c, s.m, s.n, c_type, 2)) {}
  Expected expected() const { return product(a.view, b.view, c.view); }
};

template <class Kernel>
Report check_product(const Kernel& kernel, i64 programs, const Shape& s, const LayoutChoice& layout, u64 seed,
                     Order order = {}) {
  const Operands o(s, layout);
  const kernels::MatmulArgs<f16, f16> args{s.m,
                                           s.n,
                                           s.k,
                                           kernel_matrix<const f16>(o.a.view),
                                           kernel_matrix<const f16>(o.b.view),
                                           kernel_matrix<f16>(o.c.view)};
  return check(kernel, {programs}, args, {o.a.buffer, o.b.buffer, o.c.buffer}, {o.expected()}, order, {seed});
}

Report check_gemm(const Shape& s, const LayoutChoice& layout, u64 seed) {
  return check_product(programs::Gemm<tiles>{}, tile_count(s), s, layout, seed);
}
Report check_grouped(const Shape& s, const LayoutChoice& layout, u64 seed) {
  return check_product(programs::Gemm<programs::Tiles{16, 16, 16}>{}, cdiv(s.m, 16) * cdiv(s.n, 16), s, layout, seed,
                       {OrderKind::grouped, 3});
}
Report check_masked(const Shape& s, const LayoutChoice& layout, u64 seed) {
  return check_product(kernels::Masked<bm, bn, bk>{}, tile_count(s), s, layout, seed);
}
Report check_advancing(const Shape& s, const LayoutChoice& layout, u64 seed) {
  return check_product(kernels::Advancing<bm, bn, bk>{}, tile_count(s), s, layout, seed);
}
Report check_modulo(const Shape& s, const LayoutChoice& layout, u64 seed) {
  return check_product(kernels::ModuloRows<bm, bn, bk>{}, tile_count(s), s, layout, seed);
}

Report check_split(const Shape& s, const LayoutChoice& layout, u64 seed) {
  constexpr i64 parts = 3;
  const Operands o(s, layout);
  const Operand planes = place("parts", Role::scratch, Layout::packed, parts * s.m, s.n, DType::f32, 3);
  const programs::SplitKArgs<f16, f16> args{s.m,
                                            s.n,
                                            s.k,
                                            kernel_matrix<const f16>(o.a.view),
                                            kernel_matrix<const f16>(o.b.view),
                                            kernel_matrix<f16>(o.c.view),
                                            kernel_matrix<float>(planes.view).ptr,
                                            parts};
  Checker checker({o.a.buffer, o.b.buffer, o.c.buffer, planes.buffer},
                  {split_parts(o.a.view, o.b.view, planes.view, parts, bk), o.expected()}, {seed});
  checker.run([&](Run& run) { return launch(programs::SplitKSum<tiles>{}, {tile_count(s), parts}, {}, args, run); });
  checker.run([&](Run& run) { return launch(programs::SplitKReduce<tiles>{}, {tile_count(s)}, {}, args, run); });
  return checker.finish();
}

Report check_atomic(const Shape& s, const LayoutChoice& layout, u64 seed) {
  const Operands o(s, layout, DType::f32, Role::accumulated);
  const kernels::MatmulArgs<f16, float> args{s.m,
                                             s.n,
                                             s.k,
                                             kernel_matrix<const f16>(o.a.view),
                                             kernel_matrix<const f16>(o.b.view),
                                             kernel_matrix<float>(o.c.view)};
  Expected expected = o.expected();
  expected.partial = nullptr;  // an accumulator holds a part of K only; the sum of the parts is what counts
  return check(kernels::AtomicSplit<bm, bn, bk>{}, {tile_count(s), 2}, args, {o.a.buffer, o.b.buffer, o.c.buffer},
               {expected}, {}, {seed});
}

/// relu(A*B + bias), by a kernel of its own and by the operator's program with an epilogue.
Report check_bias(const Shape& s, const LayoutChoice& layout, u64 seed, bool own) {
  const Operands o(s, layout);
  const Operand bias = place("bias", Role::input, Layout::shifted, 1, s.n, DType::f32, 3);
  const kernels::BiasArgs<f16, f16> args{s.m,
                                         s.n,
                                         s.k,
                                         kernel_matrix<const f16>(o.a.view),
                                         kernel_matrix<const f16>(o.b.view),
                                         {static_cast<const float*>(bias.view.data), s.n, 1},
                                         kernel_matrix<f16>(o.c.view)};
  Expected expected = o.expected();
  expected.value = [sum = expected.value, bias = bias.view](const Values& in, i64 row, i64 col) {
    return (sum(in, row, col) + in(bias, 0, col)).hashed(tile::op::Relu::name);
  };
  const std::vector<Buffer> buffers = {o.a.buffer, o.b.buffer, o.c.buffer, bias.buffer};
  if (own) {
    return check(kernels::BiasActivation<bm, bn, bk>{}, {tile_count(s)}, args, buffers, {expected}, {}, {seed});
  }
  using Epilogue = programs::Then<programs::AddPerColumn, programs::Relu>;
  return check(programs::Gemm<tiles, Epilogue>{{{args.bias}, {}}}, {tile_count(s)},
               programs::GemmArgs<f16, f16>{args.m, args.n, args.k, args.a, args.b, args.c}, buffers, {expected}, {},
               {seed});
}
Report check_bias_activation(const Shape& s, const LayoutChoice& layout, u64 seed) {
  return check_bias(s, layout, seed, true);
}
Report check_epilogue(const Shape& s, const LayoutChoice& layout, u64 seed) {
  return check_bias(s, layout, seed, false);
}

Report check_gathered(const Shape& s, const LayoutChoice& layout, u64 seed) {
  const i64 stored_rows = s.m / 2 + 3;
  std::vector<i64> index(static_cast<std::size_t>(s.m));  // in no order, repeated; a lookup reads real memory
  for (std::size_t i = 0; i < index.size(); ++i)
    index[i] = static_cast<i64>(mix(seed + i) % static_cast<u64>(stored_rows));
  const Operands o(s, layout);
  const Operand a = place("a", Role::input, layout.a, stored_rows, s.k, DType::f16, 0);
  const kernels::GatheredArgs<f16, f16> args{s.m,
                                             s.n,
                                             s.k,
                                             kernel_matrix<const f16>(a.view),
                                             {index.data(), s.m},
                                             kernel_matrix<const f16>(o.b.view),
                                             kernel_matrix<f16>(o.c.view)};
  Expected expected = o.expected();
  expected.partial = [a = a.view, b = o.b.view, &index](const Values& in, i64 row, i64 col, i64 k_begin, i64 k_end) {
    Field sum;
    for (i64 k = k_begin; k < k_end; ++k) sum = sum + in(a, index[static_cast<std::size_t>(row)], k) * in(b, k, col);
    return sum;
  };
  expected.value = [partial = expected.partial, k = s.k](const Values& in, i64 row, i64 col) {
    return partial(in, row, col, 0, k);
  };
  expected.factors = [a = a.view, b = o.b.view, &index](i64 row, i64 col, i64 k) {
    return std::pair{Factor{a, index[static_cast<std::size_t>(row)], k}, Factor{b, k, col}};
  };
  return check(kernels::GatheredRows<bm, bn, bk>{}, {tile_count(s)}, args, {a.buffer, o.b.buffer, o.c.buffer},
               {expected}, {}, {seed});
}

Report check_softmax(const Shape& s, const LayoutChoice& layout, u64 seed) {
  constexpr int columns = 320;
  const Operand x = place("x", Role::input, layout.a, s.m, s.n, DType::f16, 0);
  const Operand y = place("y", Role::output, layout.c, s.m, s.n, DType::f16, 2);
  const kernels::SoftmaxArgs<f16, f16> args{s.m, s.n, kernel_matrix<const f16>(x.view), kernel_matrix<f16>(y.view)};
  Expected expected;
  expected.output = y.view;
  expected.value = [x = x.view](const Values& in, i64 row, i64 col) {
    Field largest = Field::minus_infinity();
    for (i64 j = 0; j < x.cols; ++j) largest = max(largest, in(x, row, j));
    Field sum;
    for (i64 j = 0; j < x.cols; ++j) sum = sum + (in(x, row, j) - largest).hashed(tile::op::Exp::name);
    return (in(x, row, col) - largest).hashed(tile::op::Exp::name) / sum;
  };
  return check(kernels::RowSoftmax<16, columns>{}, {cdiv(s.m, 16)}, args, {x.buffer, y.buffer}, {expected}, {}, {seed});
}

Report check_transposed(const Shape& s, const LayoutChoice& layout, u64 seed) {
  const Operands o(s, layout);
  const Operand d = place("d", Role::output, layout.c, s.n, s.m, DType::f16, 2);
  const kernels::MatmulArgs<f16, f16> args{s.m,
                                           s.n,
                                           s.k,
                                           kernel_matrix<const f16>(o.a.view),
                                           kernel_matrix<const f16>(o.b.view),
                                           kernel_matrix<f16>(d.view)};
  return check(kernels::TransposedStore<bm, bn, bk>{}, {tile_count(s)}, args, {o.a.buffer, o.b.buffer, d.buffer},
               {product(o.a.view, o.b.view, d.view.transposed())}, {}, {seed});
}

Report check_batched(const Shape& s, const LayoutChoice& layout, u64 seed) {
  constexpr i64 batch = 2;
  const Operands first(s, layout);
  // The second matrix of a batch lies behind the first, one element further than it need be.
  const auto stride = [](const Operand& o) { return o.buffer.bytes / size_of(o.view.type) + 1; };
  const auto grow = [&](const Operand& o) {
    Buffer buffer = o.buffer;
    MatrixView second = o.view;
    second.data = static_cast<const char*>(second.data) + stride(o) * size_of(second.type);
    buffer.bytes = (stride(o) + o.buffer.bytes / size_of(o.view.type)) * size_of(o.view.type);
    buffer.views.push_back(second);
    return buffer;
  };
  const std::vector<Buffer> buffers = {grow(first.a), grow(first.b), grow(first.c)};
  std::vector<Expected> expected;
  for (std::size_t i = 0; i < batch; ++i)
    expected.push_back(product(buffers[0].views[i], buffers[1].views[i], buffers[2].views[i]));
  const kernels::BatchedArgs<f16, f16> args{s.m,
                                            s.n,
                                            s.k,
                                            kernel_matrix<const f16>(first.a.view),
                                            kernel_matrix<const f16>(first.b.view),
                                            kernel_matrix<f16>(first.c.view),
                                            stride(first.a),
                                            stride(first.b),
                                            stride(first.c)};
  return check(kernels::Batched<bm, bn, bk>{}, {cdiv(s.n, bn), cdiv(s.m, bm), batch}, args, buffers, expected, {},
               {seed});
}

constexpr BuiltinKernel kernel_table[] = {
    {"gemm", "the operator's program, tile 64x32x32, linear order", check_gemm},
    {"gemm_grouped", "the operator's program, tile 16x16x16, order grouped(3)", check_grouped},
    {"split_k", "ordered split-K: three parts, then their sum in order", check_split},
    {"masked", "the explicit kernel: every index, address and mask written out", check_masked},
    {"advancing", "the same, advancing pointers instead of indices", check_advancing},
    {"modulo", "rows and columns modulo their extents, K masked", check_modulo},
    {"bias_activation", "relu(A*B + bias)", check_bias_activation},
    {"epilogue", "the same by the operator's program with an epilogue", check_epilogue},
    {"gathered", "rows of A named by a table", check_gathered},
    {"softmax", "row softmax, no dot", check_softmax},
    {"transposed_store", "(A*B)^T through a transposed tile", check_transposed},
    {"atomic_split", "split-K with atomic additions", check_atomic},
    {"batched", "two products on a three-axis grid", check_batched},
};

constexpr Shape shape_table[] = {
    {130, 70, 65},  // the article's: all three extents ragged under 64x32x32
    {1, 1, 1},     {1, 1, 65},   {1, 70, 1},    {130, 1, 1},   {1, 33, 31},   {65, 1, 33},   {2, 3, 5},
    {3, 7, 64},    {5, 2, 1},    {7, 11, 13},   {15, 15, 15},  {16, 16, 16},  {17, 17, 17},  {31, 31, 31},
    {32, 32, 32},  {33, 33, 33}, {63, 31, 31},  {64, 32, 32},  {65, 33, 33},  {64, 32, 33},  {64, 33, 32},
    {65, 32, 32},  {63, 33, 64}, {64, 64, 1},   {1, 64, 64},   {64, 1, 64},   {20, 108, 36}, {64, 64, 24},
    {64, 64, 40},  {48, 97, 96}, {127, 31, 63}, {128, 32, 64}, {129, 33, 65}, {96, 96, 97},  {37, 41, 43},
    {53, 59, 61},  {67, 71, 73}, {16, 300, 17}, {200, 16, 17}, {16, 16, 300}, {79, 83, 16},  {112, 48, 47},
    {9, 9, 129},
};

}  // namespace

std::span<const BuiltinKernel> builtin_kernels() { return kernel_table; }
std::span<const Shape> battery_shapes() { return shape_table; }

BatteryResult run_battery(std::string_view kernel, u64 seed, i64 threads, const std::function<void(double)>& progress) {
  std::vector<BuiltinKernel> chosen;
  for (const BuiltinKernel& candidate : kernel_table) {
    if (kernel.empty() || candidate.name == kernel) chosen.push_back(candidate);
  }
  return run_battery(chosen, seed, threads, progress);
}

BatteryResult run_battery(std::span<const BuiltinKernel> kernels, u64 seed, i64 threads,
                          const std::function<void(double)>& progress) {
  BatteryResult result;
  result.kernels = static_cast<i64>(kernels.size());
  result.shapes = std::size(shape_table);
  result.layouts = static_cast<i64>(layouts.size());

  // One unit of work: a kernel on a shape, over all layouts. The operands' layouts are rotated against each other.
  struct Context {
    std::span<const BuiltinKernel> kernels;
    BatteryResult& result;
    u64 seed;
    const std::function<void(double)>& progress;
    std::mutex mutex;
    i64 done = 0;
    Failures failures;
  } context{kernels, result, seed, progress, {}, 0, {}};
  cpu::for_each_program(
      result.kernels * result.shapes, threads,
      [](void* pointer, i64 number) {
        Context& c = *static_cast<Context*>(pointer);
        const BuiltinKernel& unit = c.kernels[static_cast<std::size_t>(number) % c.kernels.size()];
        const Shape& shape = shape_table[static_cast<std::size_t>(number) / c.kernels.size()];
        for (std::size_t i = 0; i < layouts.size(); ++i) {
          const LayoutChoice layout{layouts[i], layouts[(3 * i + static_cast<std::size_t>(number)) % 8],
                                    layouts[(5 * i + 1) % 8]};
          const Report report = unit.check(shape, layout, c.seed + static_cast<u64>(number));
          const std::lock_guard lock(c.mutex);
          c.result.checks += 1;
          c.result.programs += report.programs;
          c.result.outputs += report.outputs;
          c.result.partial_sums += report.partial_sums;
          if (!report.passed()) {
            c.result.failed += 1;
            c.failures.add(number * c.result.layouts + static_cast<i64>(i),
                           {std::string(unit.name), shape, layout, report.text()});
          }
        }
        const std::lock_guard lock(c.mutex);
        c.done += 1;
        if (c.progress)
          c.progress(static_cast<double>(c.done) / static_cast<double>(c.result.kernels * c.result.shapes));
      },
      &context);
  result.different_failures = context.failures.different();
  result.failures = context.failures.first(most_failures_told);
  return result;
}

}  // namespace tilewright::exact
