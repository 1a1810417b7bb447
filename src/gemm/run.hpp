// From a plan to its compiled programs on the CPU: the table of tiles, one instantiation of the operator's programs
// each.
#pragma once

#include <array>
#include <utility>

#include <programs/split_k.hpp>
#include <tilewright/kernel.hpp>
#include <tilewright/tile/cpu/executor.hpp>
#include "plan/compiled_tiles.hpp"

namespace tilewright::gemm_detail {

/// Runs a checked problem under a plan whose tile is compiled in. workspace: split.parts * m * n floats if the plan
/// splits K.
void run_f16(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, i64 threads,
             float* workspace);
void run_bf16(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, i64 threads,
              float* workspace);
void run_f32(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, i64 threads,
             float* workspace);

template <TileShape Shape, class In, class Out>
void run_tile(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, i64 threads,
              float* workspace) {
  constexpr programs::Tiles tiles{static_cast<int>(Shape.m), static_cast<int>(Shape.n), static_cast<int>(Shape.k)};
  const i64 tile_count = cdiv(c.rows, Shape.m) * cdiv(c.cols, Shape.n);
  cpu::Launch how{{tile_count, plan.split.parts, 1}, plan.order, plan.mma, threads, plan.a, plan.b, true};
  if (plan.split.kind != SplitKind::split_k) {
    cpu::launch(programs::Gemm<tiles>{}, how,
                programs::GemmArgs<In, Out>{c.rows, c.cols, a.cols, kernel_matrix<const In>(a),
                                            kernel_matrix<const In>(b), kernel_matrix<Out>(c)});
    return;
  }
  const programs::SplitKArgs<In, Out> args{
      c.rows,    c.cols,          a.cols, kernel_matrix<const In>(a), kernel_matrix<const In>(b), kernel_matrix<Out>(c),
      workspace, plan.split.parts};
  cpu::launch(programs::SplitKSum<tiles>{}, how, args);
  how.grid.y = 1;
  cpu::launch(programs::SplitKReduce<tiles>{}, how, args);
}

/// The one place where a run-time tile becomes a compile-time one.
template <class In, class Out>
void run_types(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, i64 threads,
               float* workspace) {
  const auto try_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((plan.tile == plan::tiles[I] ? run_tile<plan::tiles[I], In, Out>(plan, a, b, c, threads, workspace) : void()),
     ...);
  };
  try_all(std::make_index_sequence<std::size(plan::tiles)>{});
}

template <class In>
void run_input(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, i64 threads,
               float* workspace) {
  switch (c.type) {
    case DType::f16:
      return run_types<In, f16>(plan, a, b, c, threads, workspace);
    case DType::bf16:
      return run_types<In, bf16>(plan, a, b, c, threads, workspace);
    default:
      return run_types<In, float>(plan, a, b, c, threads, workspace);
  }
}

}  // namespace tilewright::gemm_detail
