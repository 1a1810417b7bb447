#include "gemm/run_cuda.hpp"

#include <utility>

#include <fmt/format.h>

#include <programs/gemm.hpp>
#include <tilewright/cuda.hpp>
#include <tilewright/kernel.hpp>
#include "cuda/device.hpp"
#include "plan/gpu_planner.hpp"

namespace tilewright::gemm_detail {
namespace {

std::string place_text(const std::optional<int>& device) {
  return device ? fmt::format("device {}", *device) : "the host";
}

/// A plan's mover with what the view adds to it: the adjacent axis and the alignment.
cuda::Move move_of(Mover mover, const MatrixView& view) {
  cuda::Move move = cuda::mover_for(view);
  if (mover == Mover::gather) move.via = cuda::Via::gather;
  if (mover == Mover::realign) move.via = cuda::Via::realign;
  return move;
}

template <class E>
std::string_view type_text() {
  return dtype_of<E> == DType::f16 ? "tilewright::f16" : dtype_of<E> == DType::bf16 ? "tilewright::bf16" : "float";
}

template <std::size_t I, class In, class Out>
void run_tile(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, int device,
              void* stream) {
  constexpr TileShape shape = plan::gpu_tiles[I].tile;
  constexpr programs::Tiles tiles{static_cast<int>(shape.m), static_cast<int>(shape.n), static_cast<int>(shape.k)};
  static const cuda::KernelText text{
      {"programs/gemm.hpp"},
      fmt::format("tilewright::programs::Gemm<tilewright::programs::Tiles{{{}, {}, {}}}>", tiles.m, tiles.n, tiles.k),
      fmt::format("tilewright::programs::GemmArgs<{}, {}>", type_text<In>(), type_text<Out>())};
  cuda::Launch how{{cdiv(c.rows, shape.m) * cdiv(c.cols, shape.n)},
                   plan.order,
                   static_cast<int>(plan.warps),
                   static_cast<int>(plan.stages)};
  how.moves[0] = move_of(plan.a, a);
  how.moves[1] = move_of(plan.b, b);
  how.device = device;
  how.stream = stream;
  cuda::launch(programs::Gemm<tiles>{}, text, how,
               programs::GemmArgs<In, Out>{c.rows, c.cols, a.cols, kernel_matrix<const In>(a),
                                           kernel_matrix<const In>(b), kernel_matrix<Out>(c)});
}

/// The one place where a run-time tile becomes a compile-time one.
template <class In, class Out>
void run_types(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, int device,
               void* stream) {
  const auto try_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((plan.tile == plan::gpu_tiles[I].tile ? run_tile<I, In, Out>(plan, a, b, c, device, stream) : void()), ...);
  };
  try_all(std::make_index_sequence<std::size(plan::gpu_tiles)>{});
}

template <class In>
void run_input(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, int device,
               void* stream) {
  switch (c.type) {
    case DType::f16:
      return run_types<In, f16>(plan, a, b, c, device, stream);
    case DType::bf16:
      return run_types<In, bf16>(plan, a, b, c, device, stream);
    default:
      return run_types<In, float>(plan, a, b, c, device, stream);
  }
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
  return plan::choose_gpu_plan(problem, request, {description.multiprocessors, description.shared_bytes});
}

void run_cuda(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, int device,
              void* stream) {
  const auto run = a.type == DType::f16 ? run_input<f16> : a.type == DType::bf16 ? run_input<bf16> : run_input<float>;
  run(plan, a, b, c, device, stream);
}

}  // namespace tilewright::gemm_detail
