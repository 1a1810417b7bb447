// From a kernel's text to a launch: the translation unit around it, the compiled kernels of this process, the enqueuing.

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>

#include <tilewright/cuda.hpp>
#include "cuda/compiler.hpp"
#include "cuda/device.hpp"

namespace tilewright::cuda {
namespace {

std::string_view name_of(Via via) {
  return via == Via::gather ? "gather" : via == Via::async_copy ? "async_copy" : "realign";
}

int shared_bytes(const Launch& how, const footprint::Need& need) { return how.stages * need.stage + need.scratch; }

void check_launch(const Launch& how) {
  constexpr int most_stages = 16;
  if (how.stages < 1 || how.stages > most_stages) {
    throw Error(ErrorCode::plan_value, fmt::format("a launch of {} stages; give 1 to {}", how.stages, most_stages));
  }
  for (const Move& move : how.moves) {
    const bool bytes = move.via != Via::async_copy || move.bytes == 16 || move.bytes == 8 || move.bytes == 4;
    if (!bytes || (move.axis != 0 && move.axis != 1)) {
      throw Error(ErrorCode::plan_value, fmt::format("a mover {} of {} bytes along axis {}; give 16, 8 or 4 bytes and 0 "
                                                     "(rows) or 1 (columns)",
                                                     name_of(move.via), move.bytes, move.axis));
    }
  }
}

std::string text_of(const Config& config) {
  std::string moves;
  for (const Move& move : config.moves) {
    moves += fmt::format("{}{{tilewright::cuda::Via::{}, {}, {}}}", moves.empty() ? "" : ", ", name_of(move.via),
                         move.axis, move.bytes);
  }
  return fmt::format("tilewright::cuda::Config{{{}, {}, {{{}}}, {}, {}}}", config.warps, config.stages, moves,
                     config.ring_bytes, config.scratch_bytes);
}

/// The translation unit of one kernel.
std::string unit_of(const KernelText& text, const Launch& how, const footprint::Need& need, std::size_t kernel_size,
                    std::size_t args_size) {
  Config config{how.warps, how.stages, {}, how.stages * need.stage, need.scratch};
  std::copy(std::begin(how.moves), std::end(how.moves), std::begin(config.moves));
  std::string unit = "#include <tilewright/tile/cuda/executor.hpp>\n";
  for (const std::string& header : text.headers) unit += fmt::format("#include <{}>\n", header);
  return unit + fmt::format(
                    "using Kernel = {};\n"
                    "using Args = {};\n"
                    "static_assert(sizeof(Kernel) == {} && sizeof(Args) == {}, \"the text names other types than the "
                    "host's\");\n"
                    "extern \"C\" __global__ void __launch_bounds__({}) tilewright_kernel(\n"
                    "    const __grid_constant__ Kernel kernel, const __grid_constant__ Args args,\n"
                    "    const __grid_constant__ tilewright::tile::Grid grid, const __grid_constant__ tilewright::Order "
                    "order) {{\n"
                    "  tilewright::cuda::run<{}>(kernel, grid, order, args);\n"
                    "}}\n",
                    text.kernel, text.args, kernel_size, args_size, config.threads(), text_of(config));
}

/// A kernel that can be launched on one device.
struct Loaded {
  Function function = nullptr;
};

/// Loading a module is forbidden while a stream of this thread is captured, unless the thread says that it knows.
class RelaxedCapture {
 public:
  RelaxedCapture() { check(driver().thread_exchange_stream_capture_mode(&mode_), "cuThreadExchangeStreamCaptureMode"); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { static_cast<void>(driver().thread_exchange_stream_capture_mode(&mode_)); }

 private:
  CaptureMode mode_ = CaptureMode::relaxed;
};

Loaded load(const std::string& unit, int ordinal, int bytes) {
  const Driver& d = driver();
  const Cubin cubin = compile(unit, describe(ordinal).architecture());
  const CurrentDevice current(ordinal);
  const RelaxedCapture relaxed;
  Module module = nullptr;
  Loaded loaded;
  check(d.module_load_data(&module, cubin.image.data()),
        fmt::format("cuModuleLoadData({} bytes for {})", cubin.image.size(), describe(ordinal).architecture()));
  check(d.module_get_function(&loaded.function, module, "tilewright_kernel"), "cuModuleGetFunction");
  check(d.func_set_attribute(loaded.function, FunctionAttribute::most_dynamic_shared_bytes, bytes),
        fmt::format("cuFuncSetAttribute({} bytes of shared memory)", bytes));
  return loaded;
}

/// The loaded kernel of a unit: compiled once a process and device, by the first thread that wants it.
Loaded loaded_of(const std::string& unit, int ordinal, int bytes) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::string>, std::shared_future<Loaded>> kernels;
  std::promise<Loaded> promise;
  std::shared_future<Loaded> future;
  const std::pair<int, std::string> key{ordinal, unit};
  bool mine = false;
  {
    const std::lock_guard lock(mutex);
    const auto [at, inserted] = kernels.try_emplace(key);
    if (inserted) at->second = promise.get_future().share();
    mine = inserted;
    future = at->second;
  }
  if (mine) {
    try {
      promise.set_value(load(unit, ordinal, bytes));
    } catch (...) {
      promise.set_exception(std::current_exception());
      const std::lock_guard lock(mutex);
      kernels.erase(key);  // the next call tries again
    }
  }
  return future.get();
}

}  // namespace

std::string unavailable() { return driver_or_reason().reason; }

void detail::enqueue(const KernelText& text, const Launch& how, const footprint::Need& need, Bytes kernel, Bytes args) {
  check_launch(how);
  const Driver& d = driver();
  const DeviceDescription& device = describe(how.device);
  constexpr i64 most_programs = 0x7fffffff;
  if (how.grid.programs() > most_programs) {
    throw Error(ErrorCode::plan_unavailable, fmt::format("a grid of {} programs; a launch takes at most {}: use larger "
                                                         "tiles",
                                                         how.grid.programs(), most_programs));
  }
  const int bytes = shared_bytes(how, need);
  if (bytes > device.shared_bytes) {
    throw Error(ErrorCode::plan_unavailable,
                fmt::format("{} stages of {} bytes and {} bytes besides are {} bytes of shared memory; {} has {}: use "
                            "fewer stages or smaller tiles",
                            how.stages, need.stage, need.scratch, bytes, device.name, device.shared_bytes));
  }
  const Loaded loaded = loaded_of(unit_of(text, how, need, kernel.size, args.size), how.device, bytes);
  tile::Grid grid = how.grid;
  Order order = how.order;
  void* parameters[] = {const_cast<void*>(kernel.data), const_cast<void*>(args.data), &grid, &order};
  const CurrentDevice current(how.device);
  check(d.launch_kernel(loaded.function, static_cast<unsigned>(how.grid.programs()), 1, 1,
                        static_cast<unsigned>(how.warps) * 32, 1, 1, static_cast<unsigned>(bytes),
                        static_cast<Stream>(how.stream), parameters, nullptr),
        fmt::format("cuLaunchKernel({} programs of {} threads, {} bytes of shared memory)", how.grid.programs(),
                    how.warps * 32, bytes));
}

KernelFacts detail::compile_for(const KernelText& text, const Launch& how, const footprint::Need& need,
                                std::size_t kernel_size, std::size_t args_size, const std::string& architecture) {
  check_launch(how);
  const Cubin cubin = cuda::compile(unit_of(text, how, need, kernel_size, args_size), architecture);
  return {cubin.registers, cubin.spilled_bytes, shared_bytes(how, need)};
}

}  // namespace tilewright::cuda
