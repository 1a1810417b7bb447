// From a kernel's text to a launch: the translation unit around it, the compiled kernels of this process, the
// enqueuing.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>

#include "cuda/cache.hpp"
#include "cuda/device.hpp"
#include "cuda/loaded.hpp"
#include "cuda/pack.hpp"

namespace tilewright::cuda {
namespace {

std::string_view name_of(Via via) {
  return via == Via::gather       ? "gather"
         : via == Via::async_copy ? "async_copy"
         : via == Via::realign    ? "realign"
         : via == Via::tma        ? "tma"
                                  : "classes";
}

constexpr int most_role_warps = 8;  // that multiply, beside those that bring blocks

bool by_boxes(const Move& move) { return move.via == Via::tma || move.via == Via::classes; }

/// What multiplies under a launch on an architecture.
Tensor tensor_of(const Launch& how, const std::string& architecture) {
  const bool on_device = has_wgmma(architecture), by_fours = how.warps % 4 == 0;
  if (how.tensor == Tensor::wgmma && !(on_device && by_fours)) {
    throw Error(ErrorCode::plan_unavailable,
                on_device ? fmt::format("a launch with wgmma of {} warps: give a multiple of 4", how.warps)
                          : fmt::format("a launch with wgmma on {}: it is there on sm_90a alone", architecture));
  }
  for (const Move& move : how.moves) {
    if (!by_boxes(move)) continue;
    if (!on_device || !by_fours || how.tensor == Tensor::mma_sync || how.warps * how.teams > most_role_warps) {
      throw Error(
          ErrorCode::plan_unavailable,
          fmt::format("a launch by tma of {} teams of {} warps on {}: give 4 warps and 1 or 2 teams, or 8 warps, "
                      "wgmma, and sm_90a",
                      how.teams, how.warps, architecture));
    }
  }
  return how.tensor.value_or(on_device && by_fours ? Tensor::wgmma : Tensor::mma_sync);
}

void check_launch(const Launch& how) {
  constexpr int most_stages = 16;
  if (how.stages < 1 || how.stages > most_stages) {
    throw Error(ErrorCode::plan_value, fmt::format("a launch of {} stages; give 1 to {}", how.stages, most_stages));
  }
  const bool boxed = std::ranges::any_of(how.moves, by_boxes);
  if (how.teams < 1 || how.teams > 2 || (how.teams == 2 && !boxed)) {
    throw Error(ErrorCode::plan_value,
                fmt::format("a launch of {} teams; give 1, or 2 where blocks come by tma", how.teams));
  }
  const bool raw = boxed && std::ranges::any_of(how.moves, [](const Move& m) { return m.via == Via::realign; });
  if (const int least = raw ? 3 : boxed ? 2 : 1; how.stages < least) {
    throw Error(ErrorCode::plan_value,
                fmt::format("a launch of {} stages whose blocks come by tma; give {} or more", how.stages, least));
  }
  for (const Move& move : how.moves) {
    const bool bytes = move.via != Via::async_copy || move.bytes == 16 || move.bytes == 8 || move.bytes == 4;
    if (!bytes || (move.axis != 0 && move.axis != 1)) {
      throw Error(ErrorCode::plan_value,
                  fmt::format("a mover {} of {} bytes along axis {}; give 16, 8 or 4 bytes and 0 "
                              "(rows) or 1 (columns)",
                              name_of(move.via), move.bytes, move.axis));
    }
    if (const bool steps = boxed && move.via == Via::realign; move.step != 1 && !(steps && move.step == 2)) {
      throw Error(ErrorCode::plan_value,
                  fmt::format("a mover {} of a step of {} elements; give 1, or 2 to realign beside blocks by tma",
                              name_of(move.via), move.step));
    }
  }
}

std::string text_of(const Config& config) {
  std::string moves;
  for (const Move& move : config.moves) {
    moves += fmt::format("{}{{tilewright::cuda::Via::{}, {}, {}, {}}}", moves.empty() ? "" : ", ", name_of(move.via),
                         move.axis, move.bytes, move.step);
  }
  return fmt::format("tilewright::cuda::Config{{{}, {}, tilewright::cuda::Tensor::{}, {{{}}}, {}, {}, {}, {}}}",
                     config.warps, config.stages, config.tensor == Tensor::wgmma ? "wgmma" : "mma_sync", moves,
                     config.ring_bytes, config.scratch_bytes, config.teams, config.shares);
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

/// Loads a kernel from the pack; null where it is not there. A driver that does not take what was packed, such as PTX
/// younger than itself, is asked with what is compiled here.
Module module_of_pack(const std::string& unit, const DeviceDescription& device) {
  const Pack* const pack = kernel_pack();
  if (pack == nullptr) return nullptr;
  for (const std::string& architecture : architectures_for(device.major, device.minor)) {
    const std::optional<Cubin> cubin = pack->find(unit, architecture);
    Module module = nullptr;
    if (cubin && driver().module_load_data(&module, cubin->image.data()) == success) return module;
  }
  return nullptr;
}

/// A kernel that can be launched on one device: from the pack, else from the cache, else compiled.
Function load(const std::string& unit, int ordinal, int bytes) {
  const Driver& d = driver();
  const DeviceDescription& device = describe(ordinal);
  const CurrentDevice current(ordinal);
  const RelaxedCapture relaxed;
  Module module = module_of_pack(unit, device);
  if (module == nullptr) {
    const Cubin cubin = cubin_of(unit, device.architecture());
    check(d.module_load_data(&module, cubin.image.data()),
          fmt::format("cuModuleLoadData({} bytes for {})", cubin.image.size(), device.architecture()));
  }
  Function function = nullptr;
  check(d.module_get_function(&function, module, "tilewright_kernel"), "cuModuleGetFunction");
  check(d.func_set_attribute(function, FunctionAttribute::most_dynamic_shared_bytes, bytes),
        fmt::format("cuFuncSetAttribute({} bytes of shared memory)", bytes));
  return function;
}

}  // namespace

Function function_of(const std::string& unit, int ordinal, int bytes) {
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

namespace {

bool same(const Move& a, const Move& b) {
  const auto& [via, axis, bytes, step] = a;
  return via == b.via && axis == b.axis && bytes == b.bytes && step == b.step;
}
/// The bindings name every field, so that one which is added is not forgotten here.
bool same(const Config& a, const Config& b) {
  const auto& [warps, stages, tensor, moves, ring_bytes, scratch_bytes, teams, shares] = a;
  return warps == b.warps && stages == b.stages && tensor == b.tensor && ring_bytes == b.ring_bytes &&
         scratch_bytes == b.scratch_bytes && teams == b.teams && shares == b.shares &&
         std::equal(std::begin(moves), std::end(moves), std::begin(b.moves),
                    [](const Move& x, const Move& y) { return same(x, y); });
}

/// A kernel that a thread launched lately, so that launching it again writes no text.
struct Remembered {
  KernelText text;
  Config config;
  std::size_t kernel_size = 0, args_size = 0;
  Loaded loaded;
};

/// Whether the driver knows launches that begin beside the kernel before them, also while a graph is captured.
bool launches_early() {
  constexpr int first = 12030;  // CUDA 12.3
  int version = 0;
  check(driver().driver_get_version(&version), "cuDriverGetVersion");
  return version >= first && driver().launch_kernel_ex != nullptr;
}

}  // namespace

Config config_of(const Launch& how, const detail::Needs& needs, const std::string& architecture) {
  Config config{how.warps, how.stages, tensor_of(how, architecture), {}, 0, 0, how.teams};
  const footprint::Need& need = config.tensor == Tensor::wgmma ? needs.wgmma : needs.mma_sync;
  std::copy(std::begin(how.moves), std::end(how.moves), std::begin(config.moves));
  const bool second = std::ranges::any_of(config.moves, [](const Move& move) { return move.step == 2; });
  const footprint::Bytes& bytes = !config.settles() ? need.direct
                                  : !config.roles() ? need.settling
                                  : second          ? need.left_second
                                                    : need.left;
  config.ring_bytes = how.stages * bytes.stage + settled_blocks * bytes.settled;
  config.scratch_bytes = bytes.scratch;
  config.shares = config.roles() && !config.in_phases() && need.sums > 0 && need.sums <= most_shared_sums;
  return config;
}

std::string unit_of(const KernelText& text, const Config& config, std::size_t kernel_size, std::size_t args_size) {
  std::string unit = fmt::format("#include <tilewright/tile/cuda/{}.hpp>\n", config.roles() ? "roles" : "executor");
  for (const std::string& header : text.headers) unit += fmt::format("#include <{}>\n", header);
  return unit +
         fmt::format(
             "using Kernel = {};\n"
             "using Args = {};\n"
             "static_assert(sizeof(Kernel) == {} && sizeof(Args) == {}, \"the text names other types than the "
             "host's\");\n"
             "extern \"C\" __global__ void __launch_bounds__({}{}) tilewright_kernel(\n"
             "    const __grid_constant__ Kernel kernel, const __grid_constant__ {} args,\n"
             "    const __grid_constant__ tilewright::tile::Grid grid, const __grid_constant__ tilewright::Order "
             "order{}) {{\n"
             "  tilewright::cuda::run{}<{}>(kernel, grid, order, args{});\n"
             "}}\n",
             text.kernel, text.args, kernel_size, args_size, config.block_threads(), config.roles() ? ", 1" : "",
             config.in_parts() ? "tilewright::cuda::Parts<Args>" : "Args",
             config.roles() ? ", const __grid_constant__ tilewright::cuda::TensorMaps maps" : "",
             config.roles() ? "_roles" : "", text_of(config), config.roles() ? ", maps" : "");
}

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

Loaded load_kernel(const KernelText& text, const Launch& how, const detail::Needs& needs, std::size_t kernel_size,
                   std::size_t args_size) {
  check_launch(how);
  const DeviceDescription& device = describe(how.device);
  const Config config = config_of(how, needs, device.architecture());
  const int bytes = config.shared_bytes();
  if (bytes > device.shared_bytes) {
    throw Error(
        ErrorCode::plan_unavailable,
        fmt::format("{} stages take {} bytes and the rest {} bytes of shared memory, together {}; {} gives {} to a "
                    "program: use fewer stages or smaller tiles",
                    how.stages, config.ring_bytes, config.scratch_bytes, bytes, device.name, device.shared_bytes));
  }
  Loaded loaded;
  loaded.function = function_of(unit_of(text, config, kernel_size, args_size), how.device, bytes);
  loaded.device = how.device;
  loaded.threads = static_cast<unsigned>(config.teams > 1 ? config.threads() : config.block_threads());
  loaded.thread_rows = static_cast<unsigned>(config.teams > 1 ? config.teams + 1 : 1);
  loaded.shared_bytes = static_cast<unsigned>(bytes);
  if (config.roles()) {
    loaded.most_blocks = static_cast<unsigned>(device.multiprocessors);
    // Of others several have room on a multiprocessor: the first that is free would take more than its share.
    loaded.early = launches_early();
  }
  return loaded;
}

void share_programs(Loaded& loaded, unsigned parts) {
  constexpr unsigned portable = 8;  // larger clusters are asked for
  if (parts > portable) {
    const CurrentDevice current(loaded.device);
    const RelaxedCapture relaxed;
    check(driver().func_set_attribute(loaded.function, FunctionAttribute::any_cluster_size, 1),
          fmt::format("cuFuncSetAttribute(clusters of {})", parts));
  }
  loaded.cluster = parts;
  loaded.most_blocks = 0;
}

void enqueue(const Loaded& loaded, const tile::Grid& grid, const Order& order, void* stream, const void* kernel,
             const void* args, const TensorMaps* maps) {
  constexpr i64 most_programs = 0x7fffffff;
  if (grid.programs() > most_programs) {
    throw Error(ErrorCode::plan_unavailable,
                fmt::format("a grid of {} programs; a launch takes at most {}: use larger tiles", grid.programs(),
                            most_programs));
  }
  void* parameters[] = {const_cast<void*>(kernel), const_cast<void*>(args), const_cast<tile::Grid*>(&grid),
                        const_cast<Order*>(&order), const_cast<TensorMaps*>(maps)};
  const auto programs = static_cast<unsigned>(grid.programs());
  unsigned blocks = loaded.most_blocks > 0 ? std::min(programs, loaded.most_blocks) : programs;
  const CurrentDevice current(loaded.device);
  blocks -= blocks % loaded.cluster;
  LaunchAttribute attributes[2];
  unsigned count = 0;
  if (loaded.cluster > 1) attributes[count++] = {LaunchAttribute::Id::cluster_dimension, {loaded.cluster, 1, 1}};
  if (loaded.early) attributes[count++] = {LaunchAttribute::Id::programmatic_stream_serialization, {1}};
  Result result = success;
  if (count > 0) {
    const LaunchConfig config{{blocks, 1, 1},      {loaded.threads, loaded.thread_rows, 1},
                              loaded.shared_bytes, static_cast<Stream>(stream),
                              attributes,          count};
    result = driver().launch_kernel_ex(&config, loaded.function, parameters, nullptr);
  } else {
    result = driver().launch_kernel(loaded.function, blocks, 1, 1, loaded.threads, loaded.thread_rows, 1,
                                    loaded.shared_bytes, static_cast<Stream>(stream), parameters, nullptr);
  }
  if (result != success) {  // words are put together for a failure alone
    check(result, fmt::format("cuLaunchKernel{}({} blocks of {} threads, {} bytes of shared memory, clusters of {})",
                              count > 0 ? "Ex" : "", blocks, loaded.threads * loaded.thread_rows, loaded.shared_bytes,
                              loaded.cluster));
  }
}

void detail::enqueue(const KernelText& text, const Launch& how, const Needs& needs, Bytes kernel, Bytes args) {
  for (const Move& move : how.moves) {
    if (by_boxes(move)) {
      throw Error(ErrorCode::plan_unavailable,
                  "a launch of a kernel of one's own that moves by tma: only the operator makes tensor maps; give "
                  "async_copy");
    }
  }
  // A loop over a model's layers has a handful of kernels.
  static thread_local std::array<Remembered, 8> kept;
  static thread_local std::size_t next = 0;
  const Config config = config_of(how, needs, describe(how.device).architecture());
  auto at = std::ranges::find_if(kept, [&](const Remembered& entry) {
    return entry.loaded.function != nullptr && entry.loaded.device == how.device && same(entry.config, config) &&
           entry.kernel_size == kernel.size && entry.args_size == args.size && entry.text == text;
  });
  if (at == kept.end()) {
    const Loaded loaded = load_kernel(text, how, needs, kernel.size, args.size);
    at = kept.begin() + static_cast<std::ptrdiff_t>(next++ % kept.size());
    *at = {text, config, kernel.size, args.size, loaded};
  }
  cuda::enqueue(at->loaded, how.grid, how.order, how.stream, kernel.data, args.data, nullptr);
}

KernelFacts detail::compile_for(const KernelText& text, const Launch& how, const Needs& needs, std::size_t kernel_size,
                                std::size_t args_size, const std::string& architecture) {
  check_launch(how);
  const Config config = config_of(how, needs, architecture);
  const Cubin cubin = cubin_of(unit_of(text, config, kernel_size, args_size), architecture);
  return {cubin.registers, cubin.spilled_bytes, config.shared_bytes(), cubin.serialised};
}

}  // namespace tilewright::cuda
