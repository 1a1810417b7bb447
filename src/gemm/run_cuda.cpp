#include "gemm/run_cuda.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "cuda/device.hpp"
#include "cuda/loaded.hpp"
#include "cuda/pack.hpp"
#include "cuda/tensor_map.hpp"
#include "gemm/cuda_kernel.hpp"
#include "plan/gpu_planner.hpp"

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
  int device = -1, a_axis = 0, b_axis = 0;
  friend bool operator==(const Key&, const Key&) = default;

  std::size_t slot(std::size_t slots) const {
    const auto mixed = static_cast<std::size_t>(problem.m) * 3 + static_cast<std::size_t>(problem.n) * 5 +
                       static_cast<std::size_t>(problem.k) * 7 + static_cast<std::size_t>(problem.input) * 11 +
                       static_cast<std::size_t>(problem.output) * 13 + static_cast<std::size_t>(problem.a.unit) * 17 +
                       static_cast<std::size_t>(problem.b.unit) * 19 +
                       static_cast<std::size_t>(problem.a.alignment + problem.b.alignment * 2);
    return (mixed * 0x9e3779b97f4a7c15u >> 32) % slots;
  }
};

/// A key's kernel, loaded.
struct Ready {
  Key key;
  cuda::Loaded loaded;
  tile::Grid grid;
  Order order;
  TileShape tile;
  int a_axis = 0, b_axis = 0;  // adjacent in shared memory
  MatrixView a, b;             // what maps are of
  cuda::TensorMaps maps;

  /// The maps of a call's operands, which are often the last call's.
  const cuda::TensorMaps* maps_of(const MatrixView& new_a, const MatrixView& new_b) {
    if (loaded.most_blocks == 0) return nullptr;
    if (a == new_a && b == new_b) return &maps;
    const cuda::CurrentDevice current(loaded.device);
    if (a != new_a) maps.of[0] = cuda::tensor_map(new_a, tile.m, tile.k, a_axis);
    if (b != new_b) maps.of[1] = cuda::tensor_map(new_b, tile.k, tile.n, b_axis);
    a = new_a, b = new_b;
    return &maps;
  }
};

Ready make_ready(const Key& key, const MatrixView& a, const MatrixView& b) {
  const Plan plan = cuda_plan(key.problem, key.request, key.device).plan;
  const i64 tiles = cdiv(key.problem.m, plan.tile.m) * cdiv(key.problem.n, plan.tile.n);
  if (tiles == 0) return {key, {}, {0}, plan.order, plan.tile, 0, 0, {}, {}, {}};
  CudaKernel kernel = cuda_kernel(plan, a, b, key.problem.output);
  kernel.how.device = key.device;
  return {key,
          cuda::load_kernel(kernel.text, kernel.how, kernel.needs, CudaKernel::kernel_bytes, CudaKernel::args_bytes),
          {tiles},
          plan.order,
          plan.tile,
          kernel.how.moves[0].axis,
          kernel.how.moves[1].axis,
          {},
          {},
          {}};
}

template <class E>
tile::Matrix<E> matrix_of(const auto& view) {
  return {static_cast<E*>(view.data), view.rows, view.cols, view.row_stride, view.col_stride};
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

PlanChoice cuda_plan(const Problem& problem, const PlanRequest& request, int device) {
  const cuda::DeviceDescription& description = cuda::describe(device);
  return plan::choose_gpu_plan(
      problem, request,
      {description.multiprocessors, description.shared_bytes, cuda::has_wgmma(description.architecture())});
}

void run_cuda(const Problem& problem, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, int device,
              const GemmOptions& options) {
  // As many as the shapes of a large model; two that meet in one place only take turns.
  static thread_local std::array<Ready, 64> kept;
  const Key key{problem, options.plan, device, gather_axis(problem.a, a), gather_axis(problem.b, b)};
  Ready& ready = kept[key.slot(kept.size())];
  if (ready.key != key) ready = make_ready(key, a, b);
  if (ready.grid.programs() == 0) return;
  constexpr programs::Gemm<programs::Tiles{}> kernel;  // empty, as that of every tile is
  const CudaArgs args{problem.m,        problem.n, problem.k, matrix_of<const f16>(a), matrix_of<const f16>(b),
                      matrix_of<f16>(c)};
  cuda::enqueue(ready.loaded, ready.grid, ready.order, options.stream, &kernel, &args, ready.maps_of(a, b));
}

}  // namespace tilewright::gemm_detail
