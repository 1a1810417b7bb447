#include "plan/gpu_request.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include "plan/gpu_clusters.hpp"
#include "plan/gpu_planner.hpp"
#include "plan/request.hpp"

namespace tilewright::plan {
namespace {

constexpr i64 least_own = 2;  // a single row's layout is not that of rows

void check_mover(const std::optional<Mover>& mover, const Problem& problem, std::string_view operand) {
  const LayoutClass& layout = operand == "a" ? problem.a : problem.b;
  if (!mover || *mover == Mover::gather) return;
  check_target(*mover, Target::cuda, operand);
  const bool boxes = has_boxes(layout) || (operand == "a" ? a_has_classes(problem) : has_rows(layout));
  const bool allowed = (layout.unit != UnitAxis::none &&
                        (*mover == Mover::realign || (*mover == Mover::tma ? boxes : layout.alignment >= 4))) ||
                       (*mover == Mover::realign && has_second_rows(layout));
  if (!allowed) {
    throw Error(ErrorCode::plan_value,
                fmt::format("{0}={1} does not suit the layout of {0}, which is {2}. Use {0}={3}.", operand,
                            to_string(*mover), to_string(layout),
                            layout.unit == UnitAxis::none && !has_second_rows(layout) ? "gather" : "realign"));
  }
}

}  // namespace

void check_gpu_request(const Problem& problem, const PlanRequest& request) {
  check_extents_and_order(problem, request);
  if (request.tile && std::ranges::find(gpu_tiles, *request.tile, &GpuTile::tile) == gpu_tiles.end()) {
    std::string at_hand;
    for (const GpuTile& entry : gpu_tiles) at_hand += (at_hand.empty() ? "" : ", ") + text_of(entry.tile);
    unavailable(
        fmt::format("the tile {} is not one of the target cuda's. Use one of {}.", text_of(*request.tile), at_hand));
  }
  constexpr std::array<i64, 5> warps = {1, 2, 4, 8, 16};
  if (request.warps && std::ranges::find(warps, *request.warps) == warps.end()) {
    throw Error(ErrorCode::plan_value, fmt::format("w{}: a program has 1, 2, 4, 8 or 16 warps.", *request.warps));
  }
  if (request.stages && (*request.stages < 1 || *request.stages > 16)) {
    throw Error(ErrorCode::plan_value, fmt::format("s{}: a pipeline has 1 to 16 stages.", *request.stages));
  }
  if (request.teams && (*request.teams < 1 || *request.teams > 2)) {
    throw Error(ErrorCode::plan_value, fmt::format("t{}: a block works on 1 or 2 programs at once.", *request.teams));
  }
  if (request.cluster && (*request.cluster < 1 || *request.cluster > 2)) {
    throw Error(ErrorCode::plan_value, fmt::format("c{}: a cluster has 1 or 2 blocks.", *request.cluster));
  }
  if (request.split && request.split->kind == SplitKind::split_k) {
    unavailable(
        fmt::format("split={} is the target cpu's. Use split=cluster(S) or split=none.", to_string(*request.split)));
  }
  if (request.split && request.split->kind == SplitKind::cluster &&
      std::ranges::find(cluster_parts, request.split->parts) == cluster_parts.end()) {
    throw Error(ErrorCode::plan_value,
                fmt::format("split={}: a cluster sums 2, 4, 8 or 16 parts.", to_string(*request.split)));
  }
  const Mma everywhere = problem.input == DType::f32 ? Mma::fma : Mma::mma_sync;
  if (request.mma && *request.mma != everywhere && !(*request.mma == Mma::wgmma && everywhere == Mma::mma_sync)) {
    unavailable(fmt::format("mma={} does not multiply {} on the target cuda. Use mma={}.", to_string(*request.mma),
                            name_of(problem.input), to_string(everywhere)));
  }
  check_mover(request.a, problem, "a");
  check_mover(request.b, problem, "b");
  if (const Rest rest = request.rest.value_or(Rest{}); rest.any()) {
    const bool rows = rest.kind == RestKind::rows;
    if (rest.count < 1) {
      throw Error(ErrorCode::plan_value,
                  fmt::format("rest={}: a rest has 1 or more {}.", to_string(rest), rows ? "rows" : "columns"));
    }
    if ((rows ? problem.m : problem.n) - rest.count < least_own) {
      throw Error(ErrorCode::plan_value,
                  fmt::format("rest={}: C is {}x{}, and the plan is for the {} before the rest: leave it {} or more.",
                              to_string(rest), problem.m, problem.n, rows ? "rows" : "columns", least_own));
    }
    if (request.packing && request.packing->any()) {
      throw Error(ErrorCode::plan_value, fmt::format("rest={} and {}: copies are multiplied as a whole; leave one out.",
                                                     to_string(rest), to_string(*request.packing)));
    }
  }
}

}  // namespace tilewright::plan
