#include "gemm/run_cuda.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cuda/device.hpp"
#include "cuda/loaded.hpp"
#include "cuda/pack.hpp"
#include "cuda/row_copy.hpp"
#include "cuda/tensor_map.hpp"
#include "gemm/rest.hpp"
#include "plan/gpu_clusters.hpp"
#include "plan/gpu_model.hpp"
#include "plan/gpu_planner.hpp"
#include "plan/gpu_rest.hpp"

namespace tilewright::gemm_detail {
namespace {

std::string place_text(const std::optional<int>& device) {
  return device ? fmt::format("device {}", *device) : "the host";
}

/// The axis along which an operand without unit stride is gathered; 0 for others, whose layout class says all.
int gather_axis(const LayoutClass& layout, const MatrixView& view) {
  return layout.unit == UnitAxis::none ? cuda::mover_for(view).axis : 0;
}

/// All that decides which kernel multiplies, and over how many programs.
struct Key {
  Problem problem;
  PlanRequest request;
  i64 workspace_bytes = 0;
  int device = -1, a_axis = 0, b_axis = 0;
  std::string epilogue;  // its type, and its size
  std::size_t epilogue_bytes = 1;
  friend bool operator==(const Key&, const Key&) = default;

  std::size_t slot(std::size_t slots) const {
    const auto mixed = static_cast<std::size_t>(problem.m) * 3 + static_cast<std::size_t>(problem.n) * 5 +
                       static_cast<std::size_t>(problem.k) * 7 + static_cast<std::size_t>(problem.input) * 11 +
                       static_cast<std::size_t>(problem.output) * 13 + static_cast<std::size_t>(problem.a.unit) * 17 +
                       static_cast<std::size_t>(problem.b.unit) * 19 +
                       static_cast<std::size_t>(problem.a.alignment + problem.b.alignment * 2) +
                       static_cast<std::size_t>(problem.a.whole_lines) * 23 +
                       static_cast<std::size_t>(problem.b.whole_lines) * 29 +
                       static_cast<std::size_t>(workspace_bytes > 0) * 31;
    return (mixed * 0x9e3779b97f4a7c15u >> 32) % slots;
  }
};

/// Memory of a device between two points of a stream.
class StreamMemory {
 public:
  StreamMemory(int device, i64 bytes, void* stream) : current_(device), stream_(static_cast<cuda::Stream>(stream)) {
    if (cuda::driver().mem_alloc_async == nullptr || cuda::driver().mem_free_async == nullptr) {
      throw Error(
          ErrorCode::driver,
          "the NVIDIA driver has no cuMemAllocAsync, which plans with pack(…) need: it is older than CUDA 11.2");
    }
    cuda::check(cuda::driver().mem_alloc_async(&address_, static_cast<std::size_t>(bytes), stream_),
                fmt::format("cuMemAllocAsync({} bytes)", bytes));
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  /// Freeing fails only after an error that has been told.
  ~StreamMemory() { static_cast<void>(cuda::driver().mem_free_async(address_, stream_)); }
  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }

 private:
  cuda::CurrentDevice current_;
  cuda::Stream stream_;
  cuda::Address address_ = 0;
};

/// Copies an operand to where its copy lies.
void pack(const cuda::RowCopy& copy, const MatrixView& from, const MatrixView& to, void* stream) {
  const bool by_rows = to.col_stride == 1;
  copy.enqueue(by_rows ? from : from.transposed(), const_cast<void*>(to.data), by_rows ? to.row_stride : to.col_stride,
               static_cast<cuda::Stream>(stream), cuda::RowEnd::whole_chunk);
}

/// A key's kernel, loaded.
struct Ready {
  Key key;
  Problem problem;  // as it is multiplied
  cuda::Loaded loaded;
  std::optional<cuda::RowCopy> copy;  // where the plan packs
  Plan plan;
  cuda::Move moves[2];  // of the left and the right operand
  i64 tiles = 0;
  bool boxed = false;
  MatrixView left, right, out;  // what maps and parts are of
  cuda::TensorMaps maps{};
  std::unique_ptr<cuda::Parts<CudaArgs>> parts;
  std::unique_ptr<Ready> rest;  // of C, where the plan leaves one

  /// Makes the maps of a call's operands, which are often the last call's.
  void map(const Product& product) {
    if (!boxed) return;
    if (left == product.left && right == product.right && (parts == nullptr || out == MatrixView(product.out))) return;
    left = {};  // of nothing, should a map not be made
    const cuda::CurrentDevice current(loaded.device);
    const TileShape& tile = product.tile;
    if (moves[0].via == cuda::Via::tma) maps.of[0] = cuda::tensor_map(product.left, tile.m, tile.k, moves[0].axis);
    if (moves[1].via == cuda::Via::tma) {
      // Each block of a cluster brings its part of the rows of a block.
      const i64 parts = plan.cluster, n = moves[1].axis == 0 ? tile.n / parts : tile.n;
      maps.of[1] = cuda::tensor_map(product.right, moves[1].axis == 1 ? tile.k / parts : tile.k, n, moves[1].axis);
    }
    if (moves[0].via == cuda::Via::classes || moves[1].via == cuda::Via::classes) {
      parts = cuda_parts(problem, plan, product);
    }
    left = product.left, right = product.right, out = product.out;
  }
};

Ready make_ready(const Key& key, const MatrixView& whole_a, const MatrixView& whole_b, const Epilogue& epilogue) {
  const Plan plan = cuda_plan(key.problem, key.request, key.device, key.workspace_bytes).plan;
  Ready ready;
  ready.key = key;
  ready.plan = plan;
  ready.boxed = plan::boxed(plan);
  ready.problem = plan::own_problem(key.problem, plan);
  ready.tiles = plan::tile_rows(ready.problem, plan) * plan::tile_cols(ready.problem, plan);
  if (ready.tiles == 0) return ready;
  const auto [a, b, c] = divided(plan.rest, {whole_a, whole_b, {}}).own;
  const Operands operands = packed_operands(key.problem, plan.packing, {a, b}, nullptr);
  CudaKernel kernel = cuda_kernel(plan, operands.a, operands.b, key.problem.output, epilogue);
  kernel.how.device = key.device;
  std::copy_n(kernel.how.moves, 2, ready.moves);
  ready.loaded = cuda::load_kernel(kernel.text, kernel.how, kernel.needs, kernel.kernel_bytes, kernel.args_bytes);
  if (const i64 blocks = plan::blocks_of_program(plan); blocks > 1) {
    cuda::share_programs(ready.loaded, static_cast<unsigned>(blocks));
  } else {
    ready.loaded.cluster = static_cast<unsigned>(plan.cluster);
  }
  if (plan.packing.any()) ready.copy.emplace(key.device, size_of(key.problem.input));
  return ready;
}

/// Makes the rest of C ready, before anything is enqueued. Where its rows begin is not the whole's to say.
void make_rest_ready(Ready& ready, const ProductViews& rest) {
  Key key;
  key.problem = problem_of(rest.a, rest.b, rest.c);
  key.request = plan::request_of_rest();
  key.device = ready.key.device;
  key.a_axis = gather_axis(key.problem.a, rest.a), key.b_axis = gather_axis(key.problem.b, rest.b);
  if (!ready.rest) ready.rest = std::make_unique<Ready>();
  if (ready.rest->key != key) *ready.rest = make_ready(key, rest.a, rest.b, {});
  ready.rest->map(product_of(ready.rest->plan, rest.a, rest.b, rest.c));
}

/// Enqueues a product whose operands lie as they are multiplied.
void enqueue(Ready& ready, const ProductViews& views, void* stream, const Epilogue& epilogue) {
  constexpr programs::Gemm<programs::Tiles{}> plain;  // empty, as that of every tile is
  const Product product = product_of(ready.plan, views.a, views.b, views.c);
  ready.map(product);
  const CudaArgs args = cuda_args(product.left, product.right, product.out);
  const void* const given = ready.parts ? static_cast<const void*>(ready.parts.get()) : &args;
  cuda::enqueue(ready.loaded, {ready.tiles, plan::blocks_of_program(ready.plan)}, ready.plan.order, stream,
                epilogue.type.empty() ? &plain : epilogue.object, given, &ready.maps);
}

}  // namespace

std::optional<int> device_of_operands(const MatrixView& a, const MatrixView& b, const MatrixView& c) {
  if (!cuda::driver_in_use()) return std::nullopt;  // nothing can have given memory of a device
  std::optional<int> place;
  const char* first = nullptr;
  for (const auto& [name, view] : {std::pair{"a", &a}, std::pair{"b", &b}, std::pair{"c", &c}}) {
    if (view->rows == 0 || view->cols == 0) continue;
    const std::optional<int> own = cuda::device_of(view->data);
    if (first == nullptr) {
      place = own;
      first = name;
    } else if (own != place) {
      throw Error(ErrorCode::device,
                  fmt::format("{} lies on {} and {} on {}: operands of one multiplication must be in one place", first,
                              place_text(place), name, place_text(own)));
    }
  }
  return place;
}

PlanChoice cuda_plan(const Problem& problem, const PlanRequest& request, int device, i64 workspace_bytes) {
  const cuda::DeviceDescription& description = cuda::describe(device);
  return plan::choose_gpu_plan(
      problem, request,
      {description.multiprocessors, description.shared_bytes, cuda::has_wgmma(description.architecture())},
      workspace_bytes);
}

void run_cuda(const Problem& problem, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, int device,
              const GemmOptions& options, const Epilogue& epilogue) {
  // As many as the shapes of a large model; two that meet in one place only take turns.
  static thread_local std::array<Ready, 64> kept;
  PlanRequest request = options.plan;
  if (!epilogue.type.empty()) request.rest = Rest{};  // it counts the rows and columns of all of C
  const Key key{problem,
                request,
                options.workspace_bytes,
                device,
                gather_axis(problem.a, a),
                gather_axis(problem.b, b),
                std::string(epilogue.type),
                epilogue.bytes};
  Ready& ready = kept[key.slot(kept.size())];
  if (ready.key != key) ready = make_ready(key, a, b, epilogue);
  if (ready.tiles == 0) return;
  const auto [own, rest] = divided(ready.plan.rest, {a, b, c});
  std::optional<StreamMemory> workspace;
  Operands operands{own.a, own.b};
  // An empty sum has nothing to copy.
  const Packing& packing = ready.plan.packing;
  if (const i64 bytes = plan::packed_bytes(problem, packing); bytes > 0) {
    try {
      workspace.emplace(device, bytes, options.stream);
    } catch (const Error&) {  // a budget is no promise that there is so much
      if (options.plan.packing) throw;
      GemmOptions without = options;
      without.workspace_bytes = 0;
      return run_cuda(problem, a, b, c, device, without, epilogue);
    }
    operands = packed_operands(problem, packing, operands, workspace->data());
    if (packing.a) pack(*ready.copy, a, operands.a, options.stream);
    if (packing.b) pack(*ready.copy, b, operands.b, options.stream);
  }
  if (ready.plan.rest.any()) make_rest_ready(ready, rest);
  enqueue(ready, {operands.a, operands.b, own.c}, options.stream, epilogue);
  if (ready.plan.rest.any()) enqueue(*ready.rest, rest, options.stream, {});
}

}  // namespace tilewright::gemm_detail
