// See gpu.hpp. GraphReplay and StreamLoop are the two clocks.
#include "bench/gpu.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include <tilewright/error.hpp>

namespace tilewright::bench {
namespace {

using cuda::check;

constexpr double replay_us = 1000;  // that one replay of a graph takes at least: its start and its end then do not show
constexpr i64 most_sets = 4096, most_calls = 8192;  // of a graph
constexpr i64 row_alignment = 256;                  // of each set's base, as an allocation has it

/// The time between two events on a stream.
class Stopwatch {
 public:
  explicit Stopwatch(cuda::Stream stream) : stream_(stream) {
    check(gpu_calls().event_create(&start_, 0), "cuEventCreate");
    check(gpu_calls().event_create(&stop_, 0), "cuEventCreate");
  }
  ~Stopwatch() {
    static_cast<void>(gpu_calls().event_destroy(start_));
    static_cast<void>(gpu_calls().event_destroy(stop_));
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Microseconds of what `enqueue` puts on the stream; waits for it.
  double us_of(const std::function<void()>& enqueue) const {
    check(gpu_calls().event_record(start_, stream_), "cuEventRecord");
    enqueue();
    check(gpu_calls().event_record(stop_, stream_), "cuEventRecord");
    check(gpu_calls().event_synchronize(stop_), "cuEventSynchronize");
    float milliseconds = 0;
    check(gpu_calls().event_elapsed_time(&milliseconds, start_, stop_), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e3;
  }

 private:
  cuda::Stream stream_;
  cuda::Event start_ = nullptr, stop_ = nullptr;
};

void wait_for(cuda::Stream stream) { check(cuda::driver().stream_synchronize(stream), "cuStreamSynchronize"); }

/// A number of calls as one graph.
class CapturedCalls {
 public:
  CapturedCalls(cuda::Stream stream, i64 calls, const std::function<void()>& run) : calls_(calls) {
    const GpuCalls& gpu = gpu_calls();
    check(gpu.stream_begin_capture(stream, cuda::CaptureMode::thread_local_), "cuStreamBeginCapture");
    cuda::Graph graph = nullptr;
    try {
      for (i64 i = 0; i < calls; ++i) run();
    } catch (...) {
      static_cast<void>(gpu.stream_end_capture(stream, &graph));  // what went wrong is already on its way
      if (graph != nullptr) static_cast<void>(gpu.graph_destroy(graph));
      throw;
    }
    check(gpu.stream_end_capture(stream, &graph), "cuStreamEndCapture");
    const cuda::Result result = gpu.graph_instantiate(&exec_, graph, 0);
    static_cast<void>(gpu.graph_destroy(graph));
    check(result, fmt::format("cuGraphInstantiate({} calls)", calls));
  }
  ~CapturedCalls() { static_cast<void>(gpu_calls().graph_exec_destroy(exec_)); }
  CapturedCalls(const CapturedCalls&) = delete;
  CapturedCalls& operator=(const CapturedCalls&) = delete;

  i64 calls() const { return calls_; }
  void launch(cuda::Stream stream) const { check(gpu_calls().graph_launch(exec_, stream), "cuGraphLaunch"); }

 private:
  i64 calls_;
  cuda::GraphExec exec_ = nullptr;
};

/// Replays of a graph that goes over all sets that are in turn, as often as a replay's time asks for.
class GraphReplay {
 public:
  GraphReplay(Turns& turns, i64 sets, std::function<void()> run)
      : turns_(turns), sets_(sets), run_(std::move(run)), stopwatch_(turns.stream()) {}

  double operator()(i64 calls) {
    if (!captured_) capture();
    const i64 replays = std::max<i64>(1, (calls + captured_->calls() / 2) / captured_->calls());
    return replayed_us(replays) / static_cast<double>(replays * captured_->calls()) * static_cast<double>(calls);
  }

 private:
  double replayed_us(i64 replays) const {
    return stopwatch_.us_of([&] {
      for (i64 i = 0; i < replays; ++i) captured_->launch(turns_.stream());
    });
  }
  void capture_calls(i64 calls) {
    turns_.begin(sets_);
    captured_ = std::make_unique<CapturedCalls>(turns_.stream(), calls, run_);
  }
  void capture() {
    turns_.begin(sets_);
    run_();  // outside of the graph: code is compiled and loaded
    wait_for(turns_.stream());
    capture_calls(sets_);
    replayed_us(1);
    const double turn_us = std::max(replayed_us(1), 1.0);
    const i64 repeats = std::min(static_cast<i64>(std::ceil(replay_us / turn_us)), most_calls / sets_);
    if (repeats > 1) capture_calls(repeats * sets_);
  }

  Turns& turns_;
  i64 sets_;
  std::function<void()> run_;
  Stopwatch stopwatch_;
  std::unique_ptr<CapturedCalls> captured_;
};

/// Calls that are enqueued one by one.
class StreamLoop {
 public:
  StreamLoop(Turns& turns, Manner manner, std::function<void()> run)
      : turns_(turns), manner_(manner), run_(std::move(run)), stopwatch_(turns.stream()) {}

  double operator()(i64 calls) {
    turns_.begin(turns_.sets(), manner_ == Manner::allocating);
    if (manner_ == Manner::host) return host_us(calls);
    return stopwatch_.us_of([&] {
      for (i64 i = 0; i < calls; ++i) {
        run_();
        turns_.give_back();
      }
    });
  }

 private:
  /// The host's clock runs while calls are enqueued, and never so many that the queue could be full.
  double host_us(i64 calls) const {
    constexpr i64 queued = 64;
    double us = 0;
    for (i64 first = 0; first < calls; first += queued) {
      const auto start = std::chrono::steady_clock::now();
      for (i64 i = first; i < std::min(first + queued, calls); ++i) run_();
      us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
      wait_for(turns_.stream());
    }
    return us;
  }

  Turns& turns_;
  Manner manner_;
  std::function<void()> run_;
  Stopwatch stopwatch_;
};

/// A case's operands on the host and, in several sets, on a device.
class GpuOperands : public Operands {
 public:
  GpuOperands(const Case& which, int device, cuda::Stream stream, Turns*& current)
      : Operands(which),
        device_(device),
        set_bytes_{spaced(a_), spaced(b_), spaced(c_)},
        sets_(sets_for(which.bytes(), cuda::describe(device).l2_bytes)),
        buffers_{cuda::Buffer(device, sets_ * set_bytes_[0]), cuda::Buffer(device, sets_ * set_bytes_[1]),
                 cuda::Buffer(device, sets_ * set_bytes_[2])},
        turns_(device, stream, on_device(), sets_, set_bytes_),
        current_(current) {
    copy_to_all_sets(a_, 0);
    copy_to_all_sets(b_, 1);
    GpuOperands::poison_output();
    current_ = &turns_;
  }
  ~GpuOperands() override {
    static_cast<void>(cuda::driver().stream_synchronize(turns_.stream()));  // errors have been told by the calls
    if (current_ == &turns_) current_ = nullptr;
  }

  Job job(i64 threads) const override {
    Job first = on_device();
    first.threads = threads;
    first.turns = &turns_;
    return first;
  }
  void poison_output() override {
    const auto bytes = static_cast<std::size_t>(buffers_[2].bytes());
    check(cuda::driver().memset_d8_async(address(2), poison, bytes, turns_.stream()), "cuMemsetD8Async");
    wait_for(turns_.stream());
  }
  /// Of the last set: whoever left one out is found.
  void fetch_output() override {
    cuda::Copier(device_).download(bytes_at(c_), buffers_[2].data() + (sets_ - 1) * set_bytes_[2], bytes_of(c_));
  }

 private:
  static std::byte* bytes_at(const Matrix& memory) {
    return static_cast<std::byte*>(const_cast<void*>(memory.view().data));
  }
  static i64 bytes_of(const Matrix& memory) { return memory.cols() * size_of(memory.type()); }
  static i64 spaced(const Matrix& memory) { return cdiv(bytes_of(memory), row_alignment) * row_alignment; }
  cuda::Address address(int operand) const { return reinterpret_cast<cuda::Address>(buffers_[operand].data()); }

  Job on_device() const { return job_at(case_, buffers_[0].data(), buffers_[1].data(), buffers_[2].data(), 1); }
  void copy_to_all_sets(const Matrix& memory, int operand) const {
    cuda::Copier(device_).upload(buffers_[operand].data(), bytes_at(memory), bytes_of(memory));
    for (i64 set = 1; set < sets_; ++set) {
      const auto to = address(operand) + static_cast<cuda::Address>(set * set_bytes_[operand]);
      check(gpu_calls().memcpy_dtod_async(to, address(operand), static_cast<std::size_t>(bytes_of(memory)),
                                          turns_.stream()),
            "cuMemcpyDtoDAsync");
    }
  }

  int device_;
  i64 set_bytes_[3];
  i64 sets_;
  cuda::Buffer buffers_[3];
  mutable Turns turns_;
  Turns*& current_;
};

}  // namespace

Turns::Turns(int device, cuda::Stream stream, Job first, i64 sets, const i64 (&set_bytes)[3])
    : device_(device), stream_(stream), first_(first), sets_(sets), in_turn_(sets) {
  std::copy(std::begin(set_bytes), std::end(set_bytes), set_bytes_);
  first_.turns = this;
}

Job Turns::next() {
  Job job = first_;
  job.a.data = static_cast<const std::byte*>(job.a.data) + at_ * set_bytes_[0];
  job.b.data = static_cast<const std::byte*>(job.b.data) + at_ * set_bytes_[1];
  if (allocating_) {
    check(gpu_calls().mem_alloc_async(&allocated_, static_cast<std::size_t>(set_bytes_[2]), stream_),
          fmt::format("cuMemAllocAsync({} bytes)", set_bytes_[2]));
    // The class of the rows is that of the case: allocations are aligned as the sets are.
    job.c.data =
        reinterpret_cast<std::byte*>(allocated_) + reinterpret_cast<std::uintptr_t>(job.c.data) % row_alignment;
  } else {
    job.c.data = static_cast<std::byte*>(job.c.data) + at_ * set_bytes_[2];
  }
  at_ = (at_ + 1) % in_turn_;
  return job;
}

void Turns::begin(i64 sets, bool allocating) {
  at_ = 0;
  in_turn_ = sets;
  allocating_ = allocating;
}

void Turns::give_back() {
  if (allocated_ == 0) return;
  check(gpu_calls().mem_free_async(std::exchange(allocated_, 0), stream_), "cuMemFreeAsync");
}

Gpu::Gpu(int ordinal) : ordinal_(ordinal), current_(ordinal) {
  constexpr unsigned beside_default_stream = 1;  // CU_STREAM_NON_BLOCKING
  check(gpu_calls().stream_create(&stream_, beside_default_stream), "cuStreamCreate");
  // Freed memory stays with the process, as everybody sets it who allocates in a loop.
  constexpr int release_threshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
  void* pool = nullptr;
  unsigned long long everything = ~0ull;
  cuda::Device device = 0;
  check(cuda::driver().device_get(&device, ordinal), fmt::format("cuDeviceGet({})", ordinal));
  check(gpu_calls().device_get_default_mem_pool(&pool, device), "cuDeviceGetDefaultMemPool");
  check(gpu_calls().mem_pool_set_attribute(pool, release_threshold, &everything), "cuMemPoolSetAttribute");
}

Gpu::~Gpu() { static_cast<void>(gpu_calls().stream_destroy(stream_)); }

std::unique_ptr<Operands> Gpu::operands(const Case& which) {
  return std::make_unique<GpuOperands>(which, ordinal_, stream_, turns_);
}

Timed Gpu::timed(Manner manner) {
  return [this, manner](std::function<void()> run) -> std::function<double(i64)> {
    if (turns_ == nullptr) throw std::logic_error("Gpu::timed before Gpu::operands");
    if (manner == Manner::cold || manner == Manner::warm) {
      const i64 sets = manner == Manner::cold ? turns_->sets() : 1;
      const auto replay = std::make_shared<GraphReplay>(*turns_, sets, std::move(run));
      return [replay](i64 calls) { return (*replay)(calls); };
    }
    const auto loop = std::make_shared<StreamLoop>(*turns_, manner, std::move(run));
    return [loop](i64 calls) { return (*loop)(calls); };
  };
}

Peak Gpu::peak(DType type) const {
  const cuda::DeviceDescription& gpu = description();
  constexpr auto clock_khz = static_cast<cuda::DeviceAttribute>(13);
  cuda::Device device = 0;
  int khz = 0;
  check(cuda::driver().device_get(&device, ordinal_), fmt::format("cuDeviceGet({})", ordinal_));
  check(cuda::driver().device_get_attribute(&khz, clock_khz, device), "cuDeviceGetAttribute(clock rate)");
  // Operations of a multiprocessor in one cycle, dense, FP32 sums: NVIDIA's tuning guides and architecture papers.
  const int version = 10 * gpu.major + gpu.minor;
  const double tensor = version == 80 ? 2048 : version == 90 ? 4096 : 0;
  const double each = type != DType::f32 ? tensor : version == 80 ? 128 : version == 90 ? 256 : 0;
  return {each * gpu.multiprocessors * khz * 1e-6,
          fmt::format("{} at {} MHz", type == DType::f32 ? "FP32 units" : "tensor cores", khz / 1000)};
}

double Gpu::copy_gbytes_per_second() {
  constexpr i64 bytes = i64{1} << 30;
  constexpr int copies = 4;
  const cuda::Buffer from(ordinal_, bytes), to(ordinal_, bytes);
  const Stopwatch stopwatch(stream_);
  const auto copy = [&] {
    for (int i = 0; i < copies; ++i) {
      check(gpu_calls().memcpy_dtod_async(reinterpret_cast<cuda::Address>(to.data()),
                                          reinterpret_cast<cuda::Address>(from.data()), bytes, stream_),
            "cuMemcpyDtoDAsync");
    }
  };
  double least = stopwatch.us_of(copy);
  for (int time = 0; time < 5; ++time) least = std::min(least, stopwatch.us_of(copy));
  return 2.0 * copies * static_cast<double>(bytes) / least * 1e-3;
}

i64 sets_for(double set_bytes, i64 l2_bytes) {
  return std::clamp<i64>(static_cast<i64>(std::ceil(2 * static_cast<double>(l2_bytes) / set_bytes)), 2, most_sets);
}

}  // namespace tilewright::bench
