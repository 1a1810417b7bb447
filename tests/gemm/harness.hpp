// Between the oracle and the operator: the oracle's cells as the library's views, plans to run, one call with its
// claim.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tilewright/gemm.hpp>

#include "tests/oracle/judge.hpp"

namespace harness {

using tilewright::i64;

inline tilewright::DType dtype_of(oracle::Type type) {
  return type == oracle::Type::f16    ? tilewright::DType::f16
         : type == oracle::Type::bf16 ? tilewright::DType::bf16
                                      : tilewright::DType::f32;
}

inline tilewright::MutableMatrixView view_of(const oracle::Cells& c) {
  return {c.base, dtype_of(c.type), c.rows, c.cols, c.row_stride, c.col_stride};
}

/// The library's view as the oracle's cells, for results that the library has allocated.
inline oracle::Cells cells_of(const tilewright::MutableMatrixView& v) {
  const oracle::Type type = v.type == tilewright::DType::f16    ? oracle::Type::f16
                            : v.type == tilewright::DType::bf16 ? oracle::Type::bf16
                                                                : oracle::Type::f32;
  return {static_cast<std::byte*>(v.data), type, v.rows, v.cols, v.row_stride, v.col_stride};
}

/// A request that names every field of a plan.
inline tilewright::PlanRequest request_of(const tilewright::Plan& plan) {
  return {plan.tile,  plan.warps, plan.stages, plan.teams, plan.cluster, plan.order,
          plan.split, plan.a,     plan.b,      plan.mma,   {},           {}};
}

/// K shared by `parts` programs, or by as many as there are blocks of K.
inline tilewright::Split split_of(i64 parts, i64 k, i64 block) {
  const i64 most = std::min(parts, tilewright::cdiv(k, block));
  return most > 1 ? tilewright::Split{tilewright::SplitKind::split_k, most} : tilewright::Split{};
}

/// Has a request name `direct` for each input whose layout allows it.
inline void move_directly(tilewright::PlanRequest& request, const tilewright::MatrixView& a,
                          const tilewright::MatrixView& b) {
  using tilewright::UnitAxis;
  const auto unit = [](const tilewright::MatrixView& view, bool is_a) { return layout_class(view, is_a).unit; };
  if (unit(a, true) == UnitAxis::k || unit(a, true) == UnitAxis::both) request.a = tilewright::Mover::direct;
  if (unit(b, false) != UnitAxis::none) request.b = tilewright::Mover::direct;
}

/// Budget for the partial sums of any test's split.
inline constexpr i64 workspace_bytes = i64{1} << 30;

inline tilewright::GemmOptions options_of(const tilewright::PlanRequest& request, i64 threads = 0) {
  tilewright::GemmOptions options;
  options.plan = request;
  options.threads = threads;
  options.workspace_bytes = workspace_bytes;
  return options;
}

/// Multiplies into c and says what was done, for the judge.
inline oracle::Claim multiply(const oracle::Cells& a, const oracle::Cells& b, const oracle::Cells& c,
                              const tilewright::GemmOptions& options, std::string what) {
  oracle::Claim claim;
  claim.target = "cpu";
  claim.plan = to_string(plan_for(view_of(a), view_of(b), view_of(c), options).plan);
  claim.what = std::move(what);
  claim.k = a.cols;
  claim.flushed = claim.plan.ends_with("mma=avx512_bf16");
  gemm_into(view_of(a), view_of(b), view_of(c), options);
  return claim;
}
inline oracle::Claim multiply(const oracle::Placed& a, const oracle::Placed& b, const oracle::Placed& c,
                              const tilewright::GemmOptions& options = {}) {
  return multiply(a.cells(), b.cells(), c.cells(), options,
                  "A: " + a.describe() + "; B: " + b.describe() + "; C: " + c.describe());
}

/// Every compiled tile with every instruction set of this machine that multiplies inputs of a type, by default of any
/// type; the other fields are the planner's.
inline std::vector<tilewright::PlanRequest> all_programs(oracle::Type in = oracle::Type::f32) {
  std::vector<tilewright::PlanRequest> requests;
  for (const tilewright::TileShape& tile : tilewright::compiled_tiles()) {
    for (const tilewright::Mma mma : tilewright::this_cpu().instruction_sets) {
      if (!multiplies(mma, dtype_of(in))) continue;
      tilewright::PlanRequest request;
      request.tile = tile;
      request.mma = mma;
      requests.push_back(request);
    }
  }
  return requests;
}

}  // namespace harness
