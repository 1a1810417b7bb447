// From a kernel's text to a launch: the translation unit around it, the compiled kernels of this process, the
// enqueuing.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>

#include <tilewright/cuda.hpp>
#include "cuda/cache.hpp"
#include "cuda/device.hpp"

namespace tilewright::cuda {
namespace {

std::string_view name_of(Via via) {
  return via == Via::gather ? "gather" : via == Via::async_copy ? "async_copy" : "realign";
}

/// The part of a plan that the device code knows, with the shared memory it needs.
Config config_of(const Launch& how, const footprint::Need& need) {
  Config config{how.warps, how.stages, {}, 0, 0};
  std::copy(std::begin(how.moves), std::end(how.moves), std::begin(config.moves));
  const footprint::Bytes& bytes = config.settles() ? need.settling : need.direct;
  config.ring_bytes = how.stages * bytes.stage + settled_blocks * bytes.settled;
  config.scratch_bytes = bytes.scratch;
  return config;
}

void check_launch(const Launch& how) {
  constexpr int most_stages = 16;
  if (how.stages < 1 || how.stages > most_stages) {
    throw Error(ErrorCode::plan_value, fmt::format("a launch of {} stages; give 1 to {}", how.stages, most_stages));
  }
  for (const Move& move : how.moves) {
    const bool bytes = move.via != Via::async_copy || move.bytes == 16 || move.bytes == 8 || move.bytes == 4;
    if (!bytes || (move.axis != 0 && move.axis != 1)) {
      throw Error(ErrorCode::plan_value,
                  fmt::format("a mover {} of {} bytes along axis {}; give 16, 8 or 4 bytes and 0 "
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
std::string unit_of(const KernelText& text, const Config& config, std::size_t kernel_size, std::size_t args_size) {
  std::string unit = "#include <tilewright/tile/cuda/executor.hpp>\n";
  for (const std::string& header : text.headers) unit += fmt::format("#include <{}>\n", header);
  return unit +
         fmt::format(
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

/// A kernel that can be launched on one device.
Function load(const std::string& unit, int ordinal, int bytes) {
  const Driver& d = driver();
  const Cubin cubin = cubin_of(unit, describe(ordinal).architecture());
  const CurrentDevice current(ordinal);
  const RelaxedCapture relaxed;
  Module module = nullptr;
  Function function = nullptr;
  check(d.module_load_data(&module, cubin.image.data()),
        fmt::format("cuModuleLoadData({} bytes for {})", cubin.image.size(), describe(ordinal).architecture()));
  check(d.module_get_function(&function, module, "tilewright_kernel"), "cuModuleGetFunction");
  check(d.func_set_attribute(function, FunctionAttribute::most_dynamic_shared_bytes, bytes),
        fmt::format("cuFuncSetAttribute({} bytes of shared memory)", bytes));
  return function;
}

/// The loaded kernel of a unit: compiled once a process and device, by the first thread that wants it.
Function loaded_of(const std::string& unit, int ordinal, int bytes) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::string>, std::shared_future<Function>> kernels;
  std::promise<Function> promise;
  std::shared_future<Function> future;
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

Move mover_for(const MatrixView& view) {
  const LayoutClass layout = layout_class(view, true);
  if (layout.unit == UnitAxis::none) {
    return {Via::gather, std::abs(view.row_stride) < std::abs(view.col_stride) ? 0 : 1, 0};
  }
  // Of a single row or column, the axis that has more than one element is the adjacent one.
  const bool rows = layout.unit == UnitAxis::mn || (layout.unit == UnitAxis::both && view.rows > 1);
  const int axis = rows ? 0 : 1;
  if (layout.alignment < 4) return {Via::realign, axis, 0};
  return {Via::async_copy, axis, static_cast<int>(std::min<i64>(layout.alignment, 16))};
}

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
  const Config config = config_of(how, need);
  const int bytes = config.ring_bytes + config.scratch_bytes;
  if (bytes > device.shared_bytes) {
    throw Error(
        ErrorCode::plan_unavailable,
        fmt::format("{} stages take {} bytes and the rest {} bytes of shared memory, together {}; {} gives {} to a "
                    "program: use fewer stages or smaller tiles",
                    how.stages, config.ring_bytes, config.scratch_bytes, bytes, device.name, device.shared_bytes));
  }
  const Function function = loaded_of(unit_of(text, config, kernel.size, args.size), how.device, bytes);
  tile::Grid grid = how.grid;
  Order order = how.order;
  void* parameters[] = {const_cast<void*>(kernel.data), const_cast<void*>(args.data), &grid, &order};
  const CurrentDevice current(how.device);
  check(
      d.launch_kernel(function, static_cast<unsigned>(how.grid.programs()), 1, 1, static_cast<unsigned>(how.warps) * 32,
                      1, 1, static_cast<unsigned>(bytes), static_cast<Stream>(how.stream), parameters, nullptr),
      fmt::format("cuLaunchKernel({} programs of {} threads, {} bytes of shared memory)", how.grid.programs(),
                  how.warps * 32, bytes));
}

KernelFacts detail::compile_for(const KernelText& text, const Launch& how, const footprint::Need& need,
                                std::size_t kernel_size, std::size_t args_size, const std::string& architecture) {
  check_launch(how);
  const Config config = config_of(how, need);
  const Cubin cubin = cubin_of(unit_of(text, config, kernel_size, args_size), architecture);
  return {cubin.registers, cubin.spilled_bytes, config.ring_bytes + config.scratch_bytes};
}

}  // namespace tilewright::cuda
