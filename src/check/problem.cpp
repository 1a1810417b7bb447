#include "check/problem.hpp"

#include <utility>

#include <fmt/format.h>

#include <programs/split_k.hpp>
#include <tilewright/error.hpp>
#include "check/layouts.hpp"
#include "plan/compiled_tiles.hpp"

namespace tilewright::exact {
namespace {

/// Elements are only told apart by their size here: bf16 stands for f16, which halves what has to be compiled.
template <class View>
View by_size(View view) {
  if (view.type == DType::bf16) view.type = DType::f16;
  return view;
}

template <TileShape Shape, class In, class Out>
Report check_tile(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const Plan& plan, u64 seed) {
  constexpr programs::Tiles tiles{static_cast<int>(Shape.m), static_cast<int>(Shape.n), static_cast<int>(Shape.k)};
  const i64 tile_count = cdiv(c.rows, Shape.m) * cdiv(c.cols, Shape.n);
  std::vector<Buffer> buffers = {buffer_of("a", Role::input, a), buffer_of("b", Role::input, b),
                                 buffer_of("c", Role::output, c)};
  if (plan.split.kind != SplitKind::split_k) {
    const programs::GemmArgs<In, Out> args{
        c.rows, c.cols, a.cols, kernel_matrix<const In>(a), kernel_matrix<const In>(b), kernel_matrix<Out>(c)};
    return check(programs::Gemm<tiles>{}, {tile_count}, args, std::move(buffers), {product(a, b, c)}, plan.order,
                 {seed});
  }
  const i64 parts = plan.split.parts;
  const Operand planes = place("workspace", Role::scratch, Layout::packed, parts * c.rows, c.cols, DType::f32, 1 << 20);
  buffers.push_back(planes.buffer);
  const programs::SplitKArgs<In, Out> args{c.rows,
                                           c.cols,
                                           a.cols,
                                           kernel_matrix<const In>(a),
                                           kernel_matrix<const In>(b),
                                           kernel_matrix<Out>(c),
                                           kernel_matrix<float>(planes.view).ptr,
                                           parts};
  Checker checker(std::move(buffers), {split_parts(a, b, planes.view, parts, Shape.k), product(a, b, c)}, {seed});
  checker.run([&](Run& run) {
    return launch(programs::SplitKSum<tiles>{}, {tile_count, parts}, plan.order, args, run);
  });
  checker.run([&](Run& run) { return launch(programs::SplitKReduce<tiles>{}, {tile_count}, plan.order, args, run); });
  return checker.finish();
}

template <class In, class Out>
Report check_types(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const Plan& plan, u64 seed) {
  Report report;
  const auto try_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((plan.tile == plan::tiles[I] ? void(report = check_tile<plan::tiles[I], In, Out>(a, b, c, plan, seed)) : void()),
     ...);
  };
  try_all(std::make_index_sequence<std::size(plan::tiles)>{});
  return report;
}

}  // namespace

Report check_problem(const MatrixView& a_view, const MatrixView& b_view, const MutableMatrixView& c_view,
                     const Plan& plan, u64 seed) {
  const MatrixView a = by_size(a_view);
  const MatrixView b = by_size(b_view);
  const MutableMatrixView c = by_size(c_view);
  if (static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(a.cols) >
      static_cast<double>(most_products)) {
    throw Error(
        ErrorCode::problem,
        fmt::format("{}×{}×{} has too many products for the exact checker, which takes at most {}; check a slice",
                    c.rows, c.cols, a.cols, most_products));
  }
  if (a.type == DType::f16) {
    return c.type == DType::f16 ? check_types<f16, f16>(a, b, c, plan, seed)
                                : check_types<f16, float>(a, b, c, plan, seed);
  }
  return c.type == DType::f16 ? check_types<float, f16>(a, b, c, plan, seed)
                              : check_types<float, float>(a, b, c, plan, seed);
}

}  // namespace tilewright::exact
