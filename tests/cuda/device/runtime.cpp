// What surrounds a launch: one plan gives one bit pattern, streams and captured graphs, the caller's current device,
// offsets past 2^31 elements, refusals.
#include <fmt/format.h>

#include <programs/gemm.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/kernel.hpp>
#include "tests/cuda/device/cases.hpp"
#include "tests/oracle/judge.hpp"
#include "tests/oracle/random.hpp"

namespace device_check {
namespace {

constexpr programs::Tiles tiles{64, 64, 32};
const cuda::KernelText text{{"programs/gemm.hpp"},
                            "tilewright::programs::Gemm<tilewright::programs::Tiles{64, 64, 32}>",
                            "tilewright::programs::GemmArgs<tilewright::f16, tilewright::f16>"};

void launch(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, cuda::Stream stream, int stages = 3) {
  cuda::Launch how{{cdiv(c.rows, tiles.m) * cdiv(c.cols, tiles.n)}};
  how.stages = stages;
  how.moves[0] = cuda::mover_for(a);
  how.moves[1] = cuda::mover_for(b);
  how.stream = stream;
  cuda::launch(programs::Gemm<tiles>{}, text, how,
               programs::GemmArgs<f16, f16>{c.rows, c.cols, a.cols, kernel_matrix<const f16>(a),
                                            kernel_matrix<const f16>(b), kernel_matrix<f16>(c)});
}

/// Random operands of a middling product.
struct Product {
  Matrix a, b, c;
  explicit Product(Worker& worker, i64 m = 300, i64 n = 257, i64 k = 1001)
      : a(worker, 0, Type::f16, m, k, input_layouts()[0], Edge::end),
        b(worker, 1, Type::f16, k, n, input_layouts()[0], Edge::begin),
        c(worker, 2, Type::f16, m, n, output_layouts()[1], Edge::end) {
    oracle::Random random(7);
    a.fill_input([&](i64, i64) { return random.symmetric(); });
    b.fill_input([&](i64, i64) { return random.symmetric(); });
    c.fill_output();
  }
};

/// multiply(product): enqueues it.
template <class Multiply>
std::string repeats(Worker& worker, int count, const Multiply& multiply) {
  Product p(worker);
  std::vector<std::uint32_t> first;
  for (int n = 0; n < count; ++n) {
    p.c.fill_output();
    multiply(p);
    p.c.download();
    const std::vector<std::uint32_t> bits = oracle::bits_of(p.c.cells());
    if (n == 0) first = bits;
    if (bits != first) return fmt::format("run {} of {} has other bits than the first", n, count);
  }
  return {};
}

template <class F>
F symbol(const char* name) {
  return reinterpret_cast<F>(cuda::driver_symbol(name));
}

/// What work() enqueues, captured; replayed so many times.
template <class Work>
void replay(Worker& worker, int times, const Work& work) {
  cuda::Graph graph = nullptr;
  cuda::GraphExec ready = nullptr;
  const cuda::CurrentDevice current(0);
  cuda::check(symbol<int (*)(cuda::Stream, int)>("cuStreamBeginCapture_v2")(worker.stream, 1), "cuStreamBeginCapture");
  work();
  cuda::check(symbol<int (*)(cuda::Stream, cuda::Graph*)>("cuStreamEndCapture")(worker.stream, &graph),
              "cuStreamEndCapture");
  cuda::check(symbol<int (*)(cuda::GraphExec*, cuda::Graph, unsigned long long)>("cuGraphInstantiateWithFlags")(
                  &ready, graph, 0),
              "cuGraphInstantiate");
  for (int n = 0; n < times; ++n) {
    cuda::check(symbol<int (*)(cuda::GraphExec, cuda::Stream)>("cuGraphLaunch")(ready, worker.stream), "cuGraphLaunch");
  }
  worker.wait();
  symbol<int (*)(cuda::GraphExec)>("cuGraphExecDestroy")(ready);
  symbol<int (*)(cuda::Graph)>("cuGraphDestroy")(graph);
}

/// A launch that is captured, its kernel compiled and loaded meanwhile, then replayed.
std::string captured(Worker& worker) {
  Product p(worker, 70, 65, 200);
  launch(p.a.view(), p.b.view(), p.c.view(), worker.stream);
  p.c.download();
  const std::vector<std::uint32_t> direct = oracle::bits_of(p.c.cells());
  p.c.fill_output();
  worker.wait();
  replay(worker, 3, [&] {
    launch(p.a.view(), p.b.view(), p.c.view(), worker.stream, 4);  // other stages: another kernel, first wanted here
  });
  p.c.download();
  return oracle::bits_of(p.c.cells()) == direct ? "" : "a replayed graph gives other bits than a call";
}

/// Products of which each reads what the one before wrote, and writes what that one read, none waited for: x P, x P P, …
/// where P moves columns on by one. Kernels of one stream begin beside each other, and must not be seen to.
std::string chain(Worker& worker, i64 extent, const char* plan) {
  Matrix x(worker, 0, Type::f16, extent, extent, input_layouts()[0], Edge::end);
  Matrix p(worker, 1, Type::f16, extent, extent, input_layouts()[0], Edge::end);
  Matrix y(worker, 2, Type::f16, extent, extent, input_layouts()[0], Edge::end);
  oracle::Random random(7);
  x.fill_input([&](i64, i64) { return random.symmetric(); });
  p.fill_input([&](i64 i, i64 j) { return (i + 1) % extent == j ? 1.0 : 0.0; });
  y.fill_input([](i64, i64) { return 0.0; });
  const std::vector<std::uint32_t> before = oracle::bits_of(x.cells());
  constexpr int pairs = 20, replays = 2;
  GemmOptions options;
  options.plan = parse_plan(plan);
  options.stream = worker.stream;
  if (options.plan.packing) options.workspace_bytes = i64{1} << 26;
  const auto enqueue = [&] {
    for (int n = 0; n < pairs; ++n) {
      gemm_into(x.view(), p.view(), y.view(), options);
      gemm_into(y.view(), p.view(), x.view(), options);
    }
  };
  enqueue();
  replay(worker, replays, enqueue);
  x.download();
  const std::vector<std::uint32_t> after = oracle::bits_of(x.cells());
  const i64 moved = 2 * pairs * (1 + replays) % extent;
  for (i64 i = 0; i < extent; ++i) {
    for (i64 j = 0; j < extent; ++j) {
      const auto to = static_cast<std::size_t>(i * extent + (j + moved) % extent);
      if (after[to] != before[static_cast<std::size_t>(i * extent + j)]) {
        return fmt::format("x[{}, {}] is not where {} products have moved it", i, j, 2 * pairs * (1 + replays));
      }
    }
  }
  return {};
}

std::string current_device(Worker& worker) {
  Product p(worker, 70, 65, 33);
  cuda::Context before = nullptr, after = nullptr;
  cuda::check(cuda::driver().ctx_get_current(&before), "cuCtxGetCurrent");
  launch(p.a.view(), p.b.view(), p.c.view(), worker.stream);
  cuda::check(cuda::driver().ctx_get_current(&after), "cuCtxGetCurrent");
  if (before != nullptr || after != nullptr) return "a thread without a current context has one after a call";
  if (cuda::device_of(p.a.view().data) != 0) return "memory of device 0 is not found there";
  if (cuda::device_of(p.a.cells().base)) return "memory of the host is taken for a device's";
  return {};
}

std::string refused(Worker& worker) {
  Product p(worker, 70, 65, 33);
  try {
    cuda::Launch how{{1}};
    how.stages = 16;
    constexpr programs::Tiles huge{256, 256, 128};
    cuda::launch(programs::Gemm<huge>{},
                 {{"programs/gemm.hpp"},
                  "tilewright::programs::Gemm<tilewright::programs::Tiles{256, 256, 128}>",
                  "tilewright::programs::GemmArgs<tilewright::f16, tilewright::f16>"},
                 how, programs::GemmArgs<f16, f16>{});
  } catch (const Error& error) {
    return error.code() == ErrorCode::plan_unavailable ? "" : std::string("refused with other words: ") + error.what();
  }
  return "16 stages of 128 KiB are not refused";
}

/// Rows, or columns, 2^28 elements apart: offsets reach past 2^31 elements on all three operands.
std::string far_apart(Worker& worker) {
  constexpr i64 extent = 20, far = i64{1} << 28;
  const auto bytes = static_cast<std::size_t>(((extent - 1) * far + extent) * 2);
  struct Far {
    cuda::Address at = 0;
    explicit Far(std::size_t size) {
      const cuda::CurrentDevice current(0);
      cuda::check(cuda::driver().mem_alloc(&at, size), fmt::format("cuMemAlloc({} bytes)", size));
    }
    ~Far() {
      const cuda::CurrentDevice current(0);
      cuda::driver().mem_free(at);
    }
  };
  const Far a(bytes), b(bytes), c(bytes);
  const auto value = [](i64 seed, i64 i, i64 j) { return static_cast<float>((i * 3 + j * 5 + seed) % 9 - 4); };
  std::vector<f16> line(extent);
  const cuda::CurrentDevice current(0);
  for (i64 i = 0; i < extent; ++i) {
    const auto offset = static_cast<cuda::Address>(i * far * 2);
    for (i64 j = 0; j < extent; ++j) line[static_cast<std::size_t>(j)] = to_f16(value(1, i, j));
    cuda::check(cuda::driver().memcpy_htod_async(a.at + offset, line.data(), extent * 2, worker.stream),
                "cuMemcpyHtoDAsync");
    for (i64 j = 0; j < extent; ++j) line[static_cast<std::size_t>(j)] = to_f16(value(2, j, i));  // a column of b
    cuda::check(cuda::driver().memcpy_htod_async(b.at + offset, line.data(), extent * 2, worker.stream),
                "cuMemcpyHtoDAsync");
  }
  launch({reinterpret_cast<void*>(a.at), DType::f16, extent, extent, far, 1},
         {reinterpret_cast<void*>(b.at), DType::f16, extent, extent, 1, far},
         {reinterpret_cast<void*>(c.at), DType::f16, extent, extent, far, 1}, worker.stream);
  for (i64 i = 0; i < extent; ++i) {
    cuda::check(cuda::driver().memcpy_dtoh_async(line.data(), c.at + static_cast<cuda::Address>(i * far * 2),
                                                 extent * 2, worker.stream),
                "cuMemcpyDtoHAsync");
    worker.wait();
    for (i64 j = 0; j < extent; ++j) {
      float sum = 0;
      for (i64 k = 0; k < extent; ++k) sum += value(1, i, k) * value(2, k, j);
      const float got = to_float(line[static_cast<std::size_t>(j)]);
      if (got != sum) return fmt::format("C[{}, {}] is {}, must be {}", i, j, got, sum);
    }
  }
  return {};
}

}  // namespace

void add_runtime_cases(std::vector<Case>& cases, bool reduced) {
  const int times = reduced ? 3 : 1000;
  cases.push_back({"runtime.repeats", [=](Worker& worker) {
                     return repeats(worker, times, [&](const Product& p) {
                       launch(p.a.view(), p.b.view(), p.c.view(), worker.stream);
                     });
                   }});
  cases.push_back({"runtime.repeats split=cluster(4)", [=](Worker& worker) {
                     GemmOptions options;
                     options.plan = parse_plan("64x64x64 split=cluster(4)");
                     options.stream = worker.stream;
                     return repeats(worker, times,
                                    [&](const Product& p) { gemm_into(p.a.view(), p.b.view(), p.c.view(), options); });
                   }});
  cases.push_back({"runtime.current_device", current_device});
  cases.push_back({"runtime.refused", refused});
  if (reduced) return;
  cases.push_back({"runtime.captured", captured});
  for (const i64 extent : {1024, 1001}) {
    for (const char* plan : {"", "16x64x64", "64x64x64", "64x128x64", "128x128x64", "128x256x64", "128x128x32"}) {
      cases.push_back({fmt::format("runtime.chain {} {}", extent, plan),
                       [=](Worker& worker) { return chain(worker, extent, plan); }});
    }
  }
  // Few programs and many, whose blocks share their steps.
  for (const i64 extent : {256, 1001, 1024}) {
    const char* const plan = "64x64x64 split=cluster(4)";
    cases.push_back({fmt::format("runtime.chain {} {}", extent, plan),
                     [=](Worker& worker) { return chain(worker, extent, plan); }});
  }
  cases.push_back({"runtime.chain 1001 pack", [](Worker& worker) { return chain(worker, 1001, "pack(a,b)"); }});
  cases.push_back({"runtime.far_apart", far_apart});
}

}  // namespace device_check
