#include "gemm/cuda_kernel.hpp"

#include <utility>

#include <fmt/format.h>

#include <tilewright/gemm.hpp>
#include "plan/gpu_planner.hpp"

namespace tilewright::gemm_detail {
namespace {

/// A plan's mover with what the view adds to it: the adjacent axis, and the alignment where the plan leaves it open.
cuda::Move move_of(Mover mover, const MatrixView& view, int bytes) {
  cuda::Move move = cuda::mover_for(view);
  if (mover == Mover::gather) return {cuda::Via::gather, move.axis, 0};
  if (mover == Mover::tma) return {cuda::Via::tma, move.axis, 0};
  if (mover == Mover::realign) return {cuda::Via::realign, move.axis, 0};
  if (bytes != 0) move.bytes = bytes;
  return move;
}

std::string_view type_text(DType type) {
  return type == DType::f16 ? "tilewright::f16" : type == DType::bf16 ? "tilewright::bf16" : "float";
}

using cuda::detail::Needs;

template <std::size_t I, class In, class Out>
Needs needs_of_tile(int warps) {
  constexpr TileShape shape = plan::gpu_tiles[I].tile;
  constexpr programs::Tiles tiles{static_cast<int>(shape.m), static_cast<int>(shape.n), static_cast<int>(shape.k)};
  using Args = programs::GemmArgs<In, Out>;
  static_assert(sizeof(Args) == sizeof(CudaArgs) && sizeof(programs::Gemm<tiles>) == CudaKernel::kernel_bytes);
  return cuda::detail::needs_of<programs::Gemm<tiles>, Args>(warps);
}

/// The one place where a run-time tile becomes a compile-time one.
template <class In, class Out>
Needs needs_of_types(const Plan& plan) {
  Needs needs;
  const auto try_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const int warps = static_cast<int>(plan.warps);
    ((plan.tile == plan::gpu_tiles[I].tile ? void(needs = needs_of_tile<I, In, Out>(warps)) : void()), ...);
  };
  try_all(std::make_index_sequence<std::size(plan::gpu_tiles)>{});
  return needs;
}

template <class In>
Needs needs_of_input(const Plan& plan, DType output) {
  return output == DType::f16    ? needs_of_types<In, f16>(plan)
         : output == DType::bf16 ? needs_of_types<In, bf16>(plan)
                                 : needs_of_types<In, float>(plan);
}

}  // namespace

CudaKernel cuda_kernel(const Plan& plan, const MatrixView& a, const MatrixView& b, DType output) {
  CudaKernel kernel;
  kernel.text = {{"programs/gemm.hpp"},
                 fmt::format("tilewright::programs::Gemm<tilewright::programs::Tiles{{{}, {}, {}}}>", plan.tile.m,
                             plan.tile.n, plan.tile.k),
                 fmt::format("tilewright::programs::GemmArgs<{}, {}>", type_text(a.type), type_text(output))};
  kernel.how.warps = static_cast<int>(plan.warps);
  kernel.how.stages = static_cast<int>(plan.stages);
  kernel.how.teams = static_cast<int>(plan.teams);
  const MatrixView c{nullptr, output, a.rows, b.cols, b.cols, 1};
  const int bytes = plan::copy_bytes(problem_of(a, b, c), plan);
  kernel.how.tensor = plan.mma == Mma::wgmma ? cuda::Tensor::wgmma : cuda::Tensor::mma_sync;
  kernel.how.moves[0] = move_of(plan.a, a, bytes);
  kernel.how.moves[1] = move_of(plan.b, b, bytes);
  kernel.needs = a.type == DType::f16    ? needs_of_input<f16>(plan, output)
                 : a.type == DType::bf16 ? needs_of_input<bf16>(plan, output)
                                         : needs_of_input<float>(plan, output);
  return kernel;
}

}  // namespace tilewright::gemm_detail
