// The teaching kernels and ordered split-K on a device: the same sources as on the CPU, with whole numbers, bit for
// bit; the softmax against FP64.
#include <fmt/format.h>

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
#include <tilewright/kernel.hpp>
#include "tests/cuda/device/cases.hpp"
#include "tests/oracle/judge.hpp"
#include "tests/oracle/random.hpp"
#include "tests/shapes/shapes.hpp"

namespace device_check {
namespace {

using shapes::Shape;
constexpr int bm = 64, bn = 32, bk = 32;

double whole(i64 seed, i64 i, i64 j) { return static_cast<double>((i * 7 + j * 5 + i * j + seed) % 7 - 3); }

struct Setup {
  Shape shape;
  const Layout *la, *lb, *lc;
  Edge edge;
};

/// The operands of a product and what it must be.
struct Operands {
  Worker& worker;
  Shape s;
  Matrix a, b;
  Operands(Worker& w, const Setup& t)
      : worker(w),
        s(t.shape),
        a(w, 0, Type::f16, t.shape.m, t.shape.k, *t.la, t.edge),
        b(w, 1, Type::f16, t.shape.k, t.shape.n, *t.lb, t.edge) {
    a.fill_input([](i64 i, i64 j) { return whole(1, i, j); });
    b.fill_input([](i64 i, i64 j) { return whole(2, i, j); });
  }
  template <class Out>
  kernels::MatmulArgs<f16, Out> args(const Matrix& c) const {
    return {s.m,
            s.n,
            s.k,
            kernel_matrix<const f16>(a.view()),
            kernel_matrix<const f16>(b.view()),
            kernel_matrix<Out>(c.view())};
  }
  cuda::Launch how(tile::Grid grid) const {
    cuda::Launch how{grid};
    how.moves[0] = cuda::mover_for(a.view());
    how.moves[1] = cuda::mover_for(b.view());
    how.stream = worker.stream;
    return how;
  }
  tile::Grid tiles(i64 parts = 1) const { return {cdiv(s.m, bm) * cdiv(s.n, bn), parts}; }
};

std::string judged(const char* name, const Setup& t, const std::vector<std::uint32_t>& bits, const Matrix& c,
                   const Cells& at) {
  const oracle::Claim claim{"cuda", name, fmt::format("a {}, b {}, c {}", t.la->name, t.lb->name, c.describe()),
                            t.shape.k};
  oracle::Verdict verdict = oracle::judge(claim, bits, at);
  if (c.overwritten_guards() > 0) verdict.report += "guard cells overwritten\n";
  return verdict.report;
}
std::string judged(const char* name, const Setup& t, const std::vector<std::uint32_t>& bits, Matrix& c) {
  c.download();
  return judged(name, t, bits, c, c.cells());
}

cuda::KernelText text(const char* header, const std::string& kernel, const std::string& args) {
  return {{fmt::format("examples/kernels/{}.hpp", header)}, "kernels::" + kernel, "kernels::" + args};
}
const std::string matmul_args = "MatmulArgs<tilewright::f16, tilewright::f16>";

template <class Kernel>
std::string product(const char* header, const char* name, Worker& worker, const Setup& t) {
  const Operands o(worker, t);
  Matrix c(worker, 2, Type::f16, t.shape.m, t.shape.n, *t.lc, t.edge);
  c.fill_output();
  cuda::launch(Kernel{}, text(header, fmt::format("{}<64, 32, 32>", name), matmul_args), o.how(o.tiles()),
               o.args<f16>(c));
  return judged(name, t, oracle::exact_bits_of(o.a.cells(), o.b.cells(), Type::f16), c);
}

std::string bias(Worker& worker, const Setup& t) {
  const Operands o(worker, t);
  Matrix v(worker, 3, Type::f32, 1, t.shape.n, output_layouts()[8], t.edge);
  Matrix c(worker, 2, Type::f16, t.shape.m, t.shape.n, *t.lc, t.edge);
  v.fill_input([](i64, i64 j) { return static_cast<double>(j % 11 - 5); });
  c.fill_output();
  const kernels::BiasArgs<f16, f16> args{t.shape.m,
                                         t.shape.n,
                                         t.shape.k,
                                         kernel_matrix<const f16>(o.a.view()),
                                         kernel_matrix<const f16>(o.b.view()),
                                         {static_cast<const float*>(v.view().data), t.shape.n, v.view().col_stride},
                                         kernel_matrix<f16>(c.view())};
  cuda::launch(kernels::BiasActivation<bm, bn, bk>{},
               text("bias_activation", "BiasActivation<64, 32, 32>", "BiasArgs<tilewright::f16, tilewright::f16>"),
               o.how(o.tiles()), args);
  const oracle::Reference r = oracle::reference_of(o.a.cells(), o.b.cells());
  std::vector<std::uint32_t> bits;
  for (std::size_t i = 0; i < r.value.size(); ++i) {
    bits.push_back(
        oracle::encode(Type::f16, std::max(0.0, r.value[i] + v.cells().value(0, static_cast<i64>(i) % t.shape.n))));
  }
  return judged("bias_activation", t, bits, c);
}

std::string gathered(Worker& worker, const Setup& t) {
  const Shape& s = t.shape;
  const i64 stored = s.m / 2 + 3;
  Matrix a(worker, 0, Type::f16, stored, s.k, *t.la, t.edge);
  Matrix b(worker, 1, Type::f16, s.k, s.n, *t.lb, t.edge);
  Matrix c(worker, 2, Type::f16, s.m, s.n, *t.lc, t.edge);
  a.fill_input([](i64 i, i64 j) { return whole(1, i, j); });
  b.fill_input([](i64 i, i64 j) { return whole(2, i, j); });
  c.fill_output();
  // The table is 64-bit numbers, two to an element of f32 x 2; one entry names a row that does not exist.
  std::vector<i64> index(static_cast<std::size_t>(s.m));
  for (std::size_t i = 0; i < index.size(); ++i)
    index[i] = static_cast<i64>(i * 7919 % static_cast<std::size_t>(stored));
  index[0] = -5;
  const cuda::Address table = worker.regions[3].begin();
  const cuda::Launch base{{cdiv(s.m, bm) * cdiv(s.n, bn)}};
  cuda::Launch how = base;
  how.moves[0] = cuda::mover_for(a.view());
  how.moves[1] = cuda::mover_for(b.view());
  how.stream = worker.stream;
  {
    const cuda::CurrentDevice current(0);
    cuda::check(cuda::driver().memcpy_htod_async(table, index.data(), index.size() * 8, worker.stream),
                "cuMemcpyHtoDAsync");
  }
  worker.wait();
  const kernels::GatheredArgs<f16, f16> args{s.m,
                                             s.n,
                                             s.k,
                                             kernel_matrix<const f16>(a.view()),
                                             {reinterpret_cast<const i64*>(table), s.m},
                                             kernel_matrix<const f16>(b.view()),
                                             kernel_matrix<f16>(c.view())};
  cuda::launch(kernels::GatheredRows<bm, bn, bk>{},
               text("gathered", "GatheredRows<64, 32, 32>", "GatheredArgs<tilewright::f16, tilewright::f16>"), how,
               args);
  std::vector<double> left, right = oracle::values_of(b.cells());
  for (const i64 from : index) {
    for (i64 k = 0; k < s.k; ++k) left.push_back(from < 0 ? 0.0 : a.cells().value(from, k));
  }
  return judged("gathered", t, oracle::exact_bits_of(s.m, s.n, s.k, left, right, Type::f16), c);
}

std::string transposed_store(Worker& worker, const Setup& t) {
  const Operands o(worker, t);
  Matrix d(worker, 2, Type::f16, t.shape.n, t.shape.m, *t.lc, t.edge);
  d.fill_output();
  cuda::launch(kernels::TransposedStore<bm, bn, bk>{},
               text("transposed_store", "TransposedStore<64, 32, 32>", matmul_args), o.how(o.tiles()), o.args<f16>(d));
  d.download();
  const Cells& at = d.cells();
  return judged("transposed_store", t, oracle::exact_bits_of(o.a.cells(), o.b.cells(), Type::f16), d,
                {at.base, at.type, at.cols, at.rows, at.col_stride, at.row_stride});
}

std::string atomic_split(Worker& worker, const Setup& t) {
  const Operands o(worker, t);
  Matrix c(worker, 2, Type::f32, t.shape.m, t.shape.n, *t.lc, t.edge);
  c.fill_output_zeros();
  cuda::launch(kernels::AtomicSplit<bm, bn, bk>{},
               text("atomic_split", "AtomicSplit<64, 32, 32>", "MatmulArgs<tilewright::f16, float>"), o.how(o.tiles(3)),
               o.args<float>(c));
  return judged("atomic_split", t, oracle::exact_bits_of(o.a.cells(), o.b.cells(), Type::f32), c);
}

std::string split_k(Worker& worker, const Setup& t) {
  constexpr programs::Tiles tiles{bm, bn, bk};
  const Operands o(worker, t);
  Matrix c(worker, 2, Type::f16, t.shape.m, t.shape.n, *t.lc, t.edge);
  Matrix parts(worker, 3, Type::f32, 3 * t.shape.m, t.shape.n, output_layouts()[0], t.edge);
  c.fill_output();
  parts.fill_output();
  const programs::SplitKArgs<f16, f16> args{t.shape.m,
                                            t.shape.n,
                                            t.shape.k,
                                            kernel_matrix<const f16>(o.a.view()),
                                            kernel_matrix<const f16>(o.b.view()),
                                            kernel_matrix<f16>(c.view()),
                                            static_cast<float*>(parts.view().data),
                                            3};
  const auto source = [](const char* name) {
    return cuda::KernelText{{"programs/split_k.hpp"},
                            fmt::format("tilewright::programs::{}<tilewright::programs::Tiles{{64, 32, 32}}>", name),
                            "tilewright::programs::SplitKArgs<tilewright::f16, tilewright::f16>"};
  };
  cuda::launch(programs::SplitKSum<tiles>{}, source("SplitKSum"), o.how(o.tiles(3)), args);
  cuda::launch(programs::SplitKReduce<tiles>{}, source("SplitKReduce"), o.how(o.tiles()), args);
  return judged("split_k", t, oracle::exact_bits_of(o.a.cells(), o.b.cells(), Type::f16), c);
}

std::string batched(Worker& worker, const Setup& t) {
  // Two products of the same inputs: a batch stride of 0 for them, one matrix behind the other for the results.
  const Operands o(worker, t);
  Matrix c(worker, 2, Type::f16, 2 * t.shape.m, t.shape.n, output_layouts()[1], t.edge);
  c.fill_output();
  const MutableMatrixView both = c.view();
  MutableMatrixView first = both;
  first.rows = t.shape.m;
  const kernels::BatchedArgs<f16, f16> args{t.shape.m,
                                            t.shape.n,
                                            t.shape.k,
                                            kernel_matrix<const f16>(o.a.view()),
                                            kernel_matrix<const f16>(o.b.view()),
                                            kernel_matrix<f16>(first),
                                            0,
                                            0,
                                            t.shape.m * both.row_stride};
  cuda::launch(kernels::Batched<bm, bn, bk>{},
               text("batched", "Batched<64, 32, 32>", "BatchedArgs<tilewright::f16, tilewright::f16>"),
               o.how({cdiv(t.shape.n, bn), cdiv(t.shape.m, bm), 2}), args);
  std::vector<std::uint32_t> bits = oracle::exact_bits_of(o.a.cells(), o.b.cells(), Type::f16);
  bits.insert(bits.end(), bits.begin(), bits.begin() + t.shape.m * t.shape.n);
  return judged("batched", t, bits, c);
}

template <int BM, int BN, class In>
std::string softmax(Worker& worker, const Setup& t, int warps) {
  const i64 m = t.shape.m, n = std::min<i64>(t.shape.n, BN);
  constexpr Type in = dtype_of<In> == DType::f16 ? Type::f16 : Type::f32;
  Matrix x(worker, 0, in, m, n, *t.la, t.edge);
  Matrix y(worker, 2, Type::f32, m, n, *t.lc, t.edge);
  x.fill_input([](i64 i, i64 j) { return 2.0 * whole(4, i, j) + 0.25 * static_cast<double>(j % 5); });
  y.fill_output();
  cuda::Launch how{{cdiv(m, BM)}};
  how.warps = warps;
  how.stream = worker.stream;
  cuda::launch(
      kernels::RowSoftmax<BM, BN>{},
      text("softmax", fmt::format("RowSoftmax<{}, {}>", BM, BN),
           fmt::format("SoftmaxArgs<{}, float>", in == Type::f16 ? "tilewright::f16" : "float")),
      how, kernels::SoftmaxArgs<In, float>{m, n, kernel_matrix<const In>(x.view()), kernel_matrix<float>(y.view())});
  y.download();
  for (i64 i = 0; i < m; ++i) {
    double largest = x.cells().value(i, 0), sum = 0;
    for (i64 j = 0; j < n; ++j) largest = std::max(largest, x.cells().value(i, j));
    for (i64 j = 0; j < n; ++j) sum += std::exp(x.cells().value(i, j) - largest);
    for (i64 j = 0; j < n; ++j) {
      const double expected = std::exp(x.cells().value(i, j) - largest) / sum, got = y.cells().value(i, j);
      // A difference exact in FP32, an exponential within an ulp or two, n additions and a division.
      if (!(std::fabs(got - expected) <= expected * static_cast<double>(n + 8) * 0x1p-23)) {
        return fmt::format("softmax<{}, {}> of {}x{} ({}), w{}: [{}, {}] is {}, must be {}", BM, BN, m, n, x.describe(),
                           warps, i, j, got, expected);
      }
    }
  }
  return y.overwritten_guards() > 0 ? "guard cells overwritten" : "";
}

}  // namespace

void add_kernel_cases(std::vector<Case>& cases, bool reduced) {
  const auto& inputs = input_layouts();
  const auto& outputs = output_layouts();
  const std::vector<Shape> all = {{130, 70, 65}, {1, 1, 1},   {64, 32, 32},    {65, 33, 33},   {63, 31, 31},
                                  {7, 96, 129},  {97, 5, 64}, {128, 128, 128}, {200, 136, 264}};
  std::size_t turn = 0;
  for (const Shape& s : all) {
    for (std::size_t n = 0; n < (reduced ? 2 : inputs.size()); ++n, ++turn) {
      const Setup t{s, &inputs[n], &inputs[(n * 5 + turn) % inputs.size()], &outputs[(n + turn) % outputs.size()],
                    turn % 2 == 0 ? Edge::begin : Edge::end};
      const auto add = [&](const char* name, std::function<std::string(Worker&, const Setup&)> run) {
        cases.push_back({fmt::format("kernels.{} {}x{}x{} a {}, b {}, c {}", name, s.m, s.n, s.k, t.la->name,
                                     t.lb->name, t.lc->name),
                         [=](Worker& worker) { return run(worker, t); }});
      };
      add("masked",
          [](Worker& w, const Setup& u) { return product<kernels::Masked<bm, bn, bk>>("masked", "Masked", w, u); });
      add("advancing", [](Worker& w, const Setup& u) {
        return product<kernels::Advancing<bm, bn, bk>>("advancing", "Advancing", w, u);
      });
      add("modulo", [](Worker& w, const Setup& u) {
        return product<kernels::ModuloRows<bm, bn, bk>>("modulo", "ModuloRows", w, u);
      });
      add("bias_activation", bias);
      add("gathered", gathered);
      add("transposed_store", transposed_store);
      add("atomic_split", atomic_split);
      add("split_k", split_k);
      add("batched", batched);
      add("softmax", [](Worker& w, const Setup& u) { return softmax<16, 128, f16>(w, u, 4); });
      add("softmax of 4 rows", [](Worker& w, const Setup& u) { return softmax<4, 200, f16>(w, u, 8); });
      add("softmax of one warp", [](Worker& w, const Setup& u) { return softmax<16, 96, float>(w, u, 1); });
      add("softmax of 48 rows", [](Worker& w, const Setup& u) { return softmax<48, 64, float>(w, u, 4); });
      add("softmax of 64 rows", [](Worker& w, const Setup& u) { return softmax<64, 128, f16>(w, u, 8); });
    }
  }
}

}  // namespace device_check
