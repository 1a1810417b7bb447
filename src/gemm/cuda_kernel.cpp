#include "gemm/cuda_kernel.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include <tilewright/gemm.hpp>
#include "cuda/tensor_map.hpp"
#include "plan/gpu_clusters.hpp"
#include "plan/gpu_planner.hpp"

namespace tilewright::gemm_detail {
namespace {

/// A plan's mover with what the view adds to it: the adjacent axis, and the alignment where the plan leaves it open.
cuda::Move move_of(Mover mover, const MatrixView& view, int bytes) {
  cuda::Move move = cuda::mover_for(view);
  if (mover == Mover::gather) return {cuda::Via::gather, move.axis, 0};
  if (mover == Mover::tma) {
    const bool aligned = layout_class(view, true).alignment >= 16;
    return {aligned ? cuda::Via::tma : cuda::Via::classes, move.axis, 0};
  }
  if (mover == Mover::realign) {
    const UnitAxis second = layout_class(view, true).every_second;
    if (second == UnitAxis::none) return {cuda::Via::realign, move.axis, 0};
    return {cuda::Via::realign, second == UnitAxis::k ? 1 : 0, 0, 2};
  }
  if (bytes != 0) move.bytes = bytes;
  return move;
}

std::string_view type_text(DType type) {
  return type == DType::f16 ? "tilewright::f16" : type == DType::bf16 ? "tilewright::bf16" : "float";
}

/// The epilogue as the program's second template argument. Identity is the default one.
std::string epilogue_argument(const Epilogue& epilogue, bool transposed) {
  if (epilogue.type.empty()) return {};
  return transposed ? fmt::format(", tilewright::programs::OfTransposed<{}>", epilogue.type)
                    : fmt::format(", {}", epilogue.type);
}

using cuda::detail::Needs;
static_assert(plan::most_shared_sums == cuda::most_shared_sums);

template <class E>
tile::Matrix<E> matrix_of(const auto& view) {
  return {static_cast<E*>(view.data), view.rows, view.cols, view.row_stride, view.col_stride};
}

template <std::size_t I, class In, class Out>
Needs needs_of_tile(int warps) {
  constexpr TileShape shape = plan::gpu_tiles[I].tile;
  constexpr programs::Tiles tiles{static_cast<int>(shape.m), static_cast<int>(shape.n), static_cast<int>(shape.k)};
  using Args = programs::GemmArgs<In, Out>;
  static_assert(sizeof(Args) == sizeof(CudaArgs) && sizeof(programs::Gemm<tiles>) == Epilogue{}.bytes);
  return cuda::detail::needs_of<programs::Gemm<tiles>, Args>(warps);
}

/// The one place where a run-time tile becomes a compile-time one.
template <class In, class Out>
Needs needs_of_types(const Plan& plan) {
  Needs needs;
  const TileShape tile = plan::product_tile(plan);
  const auto try_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const int warps = static_cast<int>(plan.warps);
    ((tile == plan::gpu_tiles[I].tile ? void(needs = needs_of_tile<I, In, Out>(warps)) : void()), ...);
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

Operands packed_operands(const Problem& problem, const Packing& packing, const Operands& given, std::byte* workspace) {
  Operands operands = given;
  const auto lay = [](MatrixView& view, bool by_rows, void* to) {
    view.data = to;
    view.row_stride = by_rows ? plan::packed_pitch(view.cols) : 1;
    view.col_stride = by_rows ? 1 : plan::packed_pitch(view.rows);
  };
  if (packing.a) lay(operands.a, !plan::a_along_m(problem), workspace);
  if (packing.b) {
    const i64 before = plan::packed_bytes(problem, {packing.a, false});
    lay(operands.b, plan::b_along_n(problem), workspace == nullptr ? nullptr : workspace + before);
  }
  return operands;
}

Product product_of(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c) {
  if (!transposes(plan)) return {a, b, c, plan.tile};
  return {b.transposed(), a.transposed(), c.transposed(), plan::product_tile(plan)};
}

CudaArgs cuda_args(const MatrixView& left, const MatrixView& right, const MutableMatrixView& out) {
  return {out.rows, out.cols, left.cols, matrix_of<const f16>(left), matrix_of<const f16>(right), matrix_of<f16>(out)};
}

std::unique_ptr<cuda::Parts<CudaArgs>> cuda_parts(const Problem& problem, const Plan& plan, const Product& product) {
  auto parts = std::make_unique<cuda::Parts<CudaArgs>>();
  parts->args = cuda_args(product.left, product.right, product.out);
  const auto map = [&](const MatrixView& rows, const tile::Classes& classes, i64 box_rows, i64 box_cols) {
    parts->classes = classes;
    parts->classes.base = static_cast<u32>(reinterpret_cast<std::uintptr_t>(rows.data));
    parts->classes.pitch = static_cast<u32>(rows.row_stride * size_of(rows.type));
    cuda::class_maps(rows, parts->classes, box_rows, box_cols, parts->maps);
  };
  if (plan::b_in_phases(problem, plan)) {
    parts->columns = static_cast<u32>(plan::own_columns(problem, plan));
    map(product.right, tile::phases_of(product.right.rows, product.right.row_stride * size_of(problem.input)),
        plan.tile.k / plan.cluster, plan.tile.n);
    return parts;
  }
  // Rows of the left operand, or columns of the right one: B, or A^T.
  const bool of_b = plan::b_in_classes(problem, plan), left = !of_b && !transposes(plan);
  const i64 rows = of_b ? plan.tile.n : plan.tile.m;
  map(left ? product.left : product.right.transposed(), plan::classes_of(problem, plan),
      left ? rows : rows / plan.cluster, plan.tile.k);
  return parts;
}

CudaKernel cuda_kernel(const Plan& plan, const MatrixView& a, const MatrixView& b, DType output,
                       const Epilogue& epilogue) {
  CudaKernel kernel;
  const Product product = product_of(plan, a, b, {nullptr, output, a.rows, b.cols, b.cols, 1});
  kernel.text = {{"programs/gemm.hpp"},
                 fmt::format("tilewright::programs::Gemm<tilewright::programs::Tiles{{{}, {}, {}}}{}>", product.tile.m,
                             product.tile.n, product.tile.k, epilogue_argument(epilogue, transposes(plan))),
                 fmt::format("tilewright::programs::GemmArgs<{}, {}>", type_text(a.type), type_text(output))};
  kernel.kernel_bytes = epilogue.bytes;
  kernel.how.warps = static_cast<int>(plan.warps);
  kernel.how.stages = static_cast<int>(plan.stages);
  kernel.how.teams = static_cast<int>(plan.teams);
  const int bytes = plan::copy_bytes(problem_of(a, b, {nullptr, output, a.rows, b.cols, b.cols, 1}), plan);
  kernel.how.tensor = plan.mma == Mma::wgmma ? cuda::Tensor::wgmma : cuda::Tensor::mma_sync;
  // Which axis is the adjacent one is decided by A and B as they are: of a single element both are.
  cuda::Move of_a = move_of(plan.a, a, bytes), of_b = move_of(plan.b, b, bytes);
  if (transposes(plan)) {
    of_a.axis = 1 - of_a.axis, of_b.axis = 1 - of_b.axis;
    std::swap(of_a, of_b);
  }
  kernel.how.moves[0] = of_a, kernel.how.moves[1] = of_b;
  kernel.needs = a.type == DType::f16    ? needs_of_input<f16>(plan, output)
                 : a.type == DType::bf16 ? needs_of_input<bf16>(plan, output)
                                         : needs_of_input<float>(plan, output);
  return kernel;
}

}  // namespace tilewright::gemm_detail
