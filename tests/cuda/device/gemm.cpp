// The operator's program on a device: small whole numbers, whose sums FP32 holds exactly, bit for bit against integer
// arithmetic, over shapes around the tile's own boundaries and every layout of each operand; random numbers against
// FP64 within the one bound.
#include <map>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include <programs/split_k.hpp>
#include <tilewright/kernel.hpp>
#include "tests/cuda/device/cases.hpp"
#include "tests/oracle/judge.hpp"
#include "tests/oracle/random.hpp"
#include "tests/shapes/shapes.hpp"

namespace device_check {
namespace {

using shapes::Shape;

/// A tile and how it is launched.
struct Plan {
  programs::Tiles tile;
  int warps, stages;
  bool mma_sync = false;  // rather than what the device is best at
  std::string text() const {
    return fmt::format("{}x{}x{} w{} s{}{}", tile.m, tile.n, tile.k, warps, stages, mma_sync ? " mma_sync" : "");
  }
};

template <class E>
constexpr Type type_of = dtype_of<E> == DType::f16    ? Type::f16
                         : dtype_of<E> == DType::bf16 ? Type::bf16
                                                      : Type::f32;
template <class E>
std::string type_name() {
  return dtype_of<E> == DType::f16 ? "tilewright::f16" : dtype_of<E> == DType::bf16 ? "tilewright::bf16" : "float";
}

template <programs::Tiles T, class In, class Out>
void launch_gemm(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c,
                 cuda::Stream stream, Order order) {
  cuda::Launch how{{cdiv(c.rows, T.m) * cdiv(c.cols, T.n)}, order, plan.warps, plan.stages};
  how.moves[0] = cuda::mover_for(a);
  how.moves[1] = cuda::mover_for(b);
  if (plan.mma_sync) how.tensor = cuda::Tensor::mma_sync;
  how.stream = stream;
  const cuda::KernelText text{
      {"programs/gemm.hpp"},
      fmt::format("tilewright::programs::Gemm<tilewright::programs::Tiles{{{}, {}, {}}}>", T.m, T.n, T.k),
      fmt::format("tilewright::programs::GemmArgs<{}, {}>", type_name<In>(), type_name<Out>())};
  cuda::launch(programs::Gemm<T>{}, text, how,
               programs::GemmArgs<In, Out>{c.rows, c.cols, a.cols, kernel_matrix<const In>(a),
                                           kernel_matrix<const In>(b), kernel_matrix<Out>(c)});
}
using LaunchGemm = void (*)(const Plan&, const MatrixView&, const MatrixView&, const MutableMatrixView&, cuda::Stream,
                            Order);

struct Setting {
  Plan plan;
  Type in, out;
  LaunchGemm launch;
};
template <programs::Tiles T, class In, class Out>
Setting setting(int warps, int stages, bool mma_sync = false) {
  return {{T, warps, stages, mma_sync}, type_of<In>, type_of<Out>, launch_gemm<T, In, Out>};
}

struct Layouts {
  const Layout *a, *b, *c;
  Edge edge;
  std::string text() const {
    return fmt::format("a {}, b {}, c {}, {}", a->name, b->name, c->name, edge == Edge::end ? "ends" : "begins");
  }
};

/// Small whole numbers by place; a broadcast axis repeats index 0.
double whole(std::uint64_t seed, i64 i, i64 j) {
  std::uint64_t z =
      seed + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(j) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  return static_cast<double>(static_cast<i64>((z >> 40) % 9) - 4);
}
double uniform(std::uint64_t seed, i64 i, i64 j) {
  oracle::Random random(seed + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u +
                        static_cast<std::uint64_t>(j) * 7919);
  return random.symmetric();
}

/// The bits of a product of whole numbers, kept: many layouts ask for the same ones.
std::shared_ptr<const std::vector<std::uint32_t>> expected_bits(const Shape& s, const Cells& a, const Cells& b,
                                                                Type out) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const std::vector<std::uint32_t>>> kept;
  const auto zero = [](const Cells& x) { return fmt::format("{}{}", x.row_stride == 0, x.col_stride == 0); };
  const std::string key = fmt::format("{} {} {} {} {} {}", s.m, s.n, s.k, static_cast<int>(out), zero(a), zero(b));
  {
    const std::lock_guard lock(mutex);
    if (const auto at = kept.find(key); at != kept.end()) return at->second;
  }
  auto bits = std::make_shared<const std::vector<std::uint32_t>>(oracle::exact_bits_of(a, b, out));
  const std::lock_guard lock(mutex);
  return kept.emplace(key, std::move(bits)).first->second;
}

std::string run_exact(Worker& worker, const Setting& setting, const Shape& s, const Layouts& layouts, Order order) {
  Matrix a(worker, 0, setting.in, s.m, s.k, *layouts.a, layouts.edge);
  Matrix b(worker, 1, setting.in, s.k, s.n, *layouts.b, layouts.edge);
  Matrix c(worker, 2, setting.out, s.m, s.n, *layouts.c, layouts.edge);
  a.fill_input([](i64 i, i64 j) { return whole(1, i, j); });
  b.fill_input([](i64 i, i64 j) { return whole(2, i, j); });
  c.fill_output();
  setting.launch(setting.plan, a.view(), b.view(), c.view(), worker.stream, order);
  c.download();
  const oracle::Claim claim{"cuda", setting.plan.text(),
                            fmt::format("a {}; b {}; c {}", a.describe(), b.describe(), c.describe()), s.k};
  oracle::Verdict verdict = oracle::judge(claim, *expected_bits(s, a.cells(), b.cells(), setting.out), c.cells());
  if (const i64 guards = c.overwritten_guards(); guards > 0) {
    verdict.report += fmt::format("{} guard cells overwritten around c: {}\n", guards, c.describe());
  }
  return verdict.report;
}

std::string run_bounded(Worker& worker, const Setting& setting, const Shape& s, const Layouts& layouts) {
  Matrix a(worker, 0, setting.in, s.m, s.k, *layouts.a, layouts.edge);
  Matrix b(worker, 1, setting.in, s.k, s.n, *layouts.b, layouts.edge);
  Matrix c(worker, 2, setting.out, s.m, s.n, *layouts.c, layouts.edge);
  a.fill_input([](i64 i, i64 j) { return uniform(3, i, j); });
  b.fill_input([](i64 i, i64 j) { return uniform(4, i, j); });
  c.fill_output();
  setting.launch(setting.plan, a.view(), b.view(), c.view(), worker.stream, {});
  c.download();
  const oracle::Claim claim{"cuda", setting.plan.text(), fmt::format("random, {}", layouts.text()), s.k,
                            setting.in == Type::f32 ? oracle::ieee_unit : 2 * oracle::ieee_unit};
  return oracle::judge(claim, oracle::reference_of(a.cells(), b.cells()), c.cells()).report +
         (c.overwritten_guards() > 0 ? "guard cells overwritten\n" : "");
}

std::string case_name(const char* kind, const Setting& setting, const Shape& s, const Layouts& layouts) {
  return fmt::format("gemm.{}.{}.{}-{} {}x{}x{} {}", kind, setting.plan.text(), oracle::format(setting.in).name,
                     oracle::format(setting.out).name, s.m, s.n, s.k, layouts.text());
}

}  // namespace

void add_gemm_cases(std::vector<Case>& cases, bool reduced) {
  constexpr programs::Tiles reference{64, 32, 32}, large{128, 128, 64}, least{16, 16, 16}, odd{48, 96, 48},
      wide{64, 256, 32}, uneven{64, 96, 48}, tall{256, 64, 32};
  const std::vector<Setting> settings = {
      setting<reference, f16, f16>(4, 3), setting<large, f16, f16>(8, 3), setting<least, f16, f16>(1, 2),
      setting<odd, f16, float>(4, 4), setting<reference, bf16, bf16>(4, 1), setting<large, bf16, float>(4, 2),
      setting<reference, float, float>(4, 2), setting<least, float, f16>(2, 3), setting<reference, f16, bf16>(8, 3),
      setting<wide, f16, f16>(8, 2), setting<reference, bf16, f16>(2, 3),
      // wgmma in pieces of its widths, on 16 warps; and its elder where a device would rather not take it.
      setting<uneven, bf16, f16>(4, 3), setting<tall, f16, float>(16, 3), setting<reference, f16, f16>(4, 3, true),
      setting<large, bf16, f16>(8, 3, true)};
  const auto& inputs = input_layouts();
  const auto& outputs = output_layouts();
  oracle::Random random(20);
  const auto pick = [&](const std::vector<Layout>& from) {
    return &from[static_cast<std::size_t>(random.whole(0, static_cast<i64>(from.size()) - 1))];
  };
  const auto add = [&](const Setting& setting, const Shape& s, const Layouts& layouts, Order order = {}) {
    cases.push_back({case_name("exact", setting, s, layouts),
                     [=](Worker& worker) { return run_exact(worker, setting, s, layouts, order); }});
  };
  for (std::size_t n = 0; n < settings.size(); ++n) {
    const Setting& setting = settings[n];
    const programs::Tiles& t = setting.plan.tile;
    std::vector<Shape> around = shapes::around_tile(t.m, t.n, t.k, setting.plan.stages);
    around.push_back({130, 70, 65});
    if (reduced) around.resize(3);
    for (const Shape& s : around) {
      if (n == 0 && !reduced) {  // every layout of each operand
        for (const Edge edge : {Edge::begin, Edge::end}) {
          for (const Layout& layout : inputs) {
            add(setting, s, {&layout, &inputs[0], &outputs[0], edge});
            add(setting, s, {&inputs[0], &layout, &outputs[0], edge});
          }
          for (const Layout& layout : outputs) add(setting, s, {&inputs[0], &inputs[0], &layout, edge});
        }
      }
      for (int repeat = 0; repeat < (reduced || n > 1 ? 2 : 6); ++repeat) {
        add(setting, s, {pick(inputs), pick(inputs), pick(outputs), repeat % 2 == 0 ? Edge::end : Edge::begin},
            repeat % 3 == 0 ? Order{OrderKind::grouped, 3} : Order{});
      }
      add(setting, s, {&inputs[0], &inputs[0], &outputs[0], Edge::begin});
      add(setting, s, {&inputs[5], &inputs[5], &outputs[5], Edge::begin});
    }
    if (reduced) continue;
    // Many steps inside of the matrix: nothing but the pipeline's own waiting keeps a block from being used too early.
    for (const std::size_t layout : {std::size_t{0}, std::size_t{1}}) {
      add(setting, {8 * t.m, 8 * t.n, 32 * t.k}, {&inputs[layout], &inputs[layout], &outputs[layout], Edge::begin});
    }
    // Aligned on purpose: the widest copies and stores.
    for (const Shape& s : {Shape{2 * t.m + 8, 2 * t.n + 8, 3 * t.k + 8}, Shape{t.m, t.n, 8 * t.k}}) {
      for (const std::size_t layout : {std::size_t{0}, std::size_t{4}, std::size_t{5}}) {
        add(setting, s, {&inputs[layout], &inputs[layout], &outputs[layout], Edge::begin});
        add(setting, s, {&inputs[layout], &inputs[0], &outputs[0], Edge::begin});
        add(setting, s, {&inputs[0], &inputs[layout], &outputs[0], Edge::begin});
      }
    }
    for (const Shape& s : {Shape{130, 70, 65}, Shape{64, 64, 4096}, Shape{37, 300, 1000}}) {
      const Layouts layouts{&inputs[0], &inputs[1], &outputs[0], Edge::end};
      cases.push_back({case_name("bounded", setting, s, layouts),
                       [=](Worker& worker) { return run_bounded(worker, setting, s, layouts); }});
    }
  }
}

}  // namespace device_check
