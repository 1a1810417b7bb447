#include "pack/kernels.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include <tilewright/gemm.hpp>
#include "cuda/loaded.hpp"
#include "cuda/row_copy.hpp"
#include "gemm/cuda_kernel.hpp"
#include "plan/gpu_planner.hpp"

namespace tilewright::pack {
namespace {

constexpr std::array types = {DType::f16, DType::bf16, DType::f32};

/// Machine code that is packed, and the devices whose default plans it serves: what they give to a program decides
/// about stages. The plans without wgmma are there for compute capability 9.0 as well.
struct Target {
  const char* architecture;
  std::vector<plan::GpuDescription> devices;
  bool with_ptx;
};
const std::array targets = {Target{"sm_80", {{1, 163 << 10}, {1, 99 << 10}, {1, 227 << 10}}, true},
                            Target{"sm_90a", {{1, 227 << 10, true}, {1, 227 << 10}}, false}};

/// Extents that every tile divides, so that rows of any stride start everywhere, and few rows of A.
constexpr i64 extent = 4096, few = 16;

/// A view of each layout class that an operand may have, its rows at multiples of `alignment` bytes.
std::vector<MatrixView> layouts(DType type) {
  std::vector<MatrixView> views;
  const i64 size = size_of(type);
  for (i64 alignment = 16; alignment >= size; alignment /= 2) {
    const i64 stride = extent + alignment / size;
    views.push_back({nullptr, type, extent, extent, stride, 1});
    views.push_back({nullptr, type, extent, extent, 1, stride});
  }
  views.push_back({nullptr, type, extent, extent, 2 * extent, 2});
  views.push_back({nullptr, type, extent, extent, 2, 2 * extent});
  return views;
}

std::string move_text(const cuda::Move& move, const char* rows, const char* cols) {
  const char* const axis = move.axis == 0 ? rows : cols;
  if (move.via == cuda::Via::async_copy) return fmt::format("async_copy({},{})", move.bytes, axis);
  const char* const via = move.via == cuda::Via::gather    ? "gather"
                          : move.via == cuda::Via::realign ? "realign"
                          : move.via == cuda::Via::tma     ? "tma"
                                                           : "classes";
  return fmt::format("{}({}{})", via, move.step == 2 ? "2" : "", axis);
}

/// Kernels by what they are compiled from and for, each with a measure of how long that takes.
using Found = std::map<std::pair<std::string, std::string>, std::pair<i64, Kernel>>;

void add(Found& found, const Target& target, const Plan& plan, const MatrixView& a, const MatrixView& b, DType output) {
  const gemm_detail::CudaKernel kernel = gemm_detail::cuda_kernel(plan, a, b, output);
  const cuda::Config config = cuda::config_of(kernel.how, kernel.needs, target.architecture);
  const std::string unit = cuda::unit_of(kernel.text, config, kernel.kernel_bytes, kernel.args_bytes);
  // Of the product that is computed: C, or C transposed.
  const TileShape tile = plan::product_tile(plan);
  const std::string name =
      fmt::format("{}>{} {}x{}x{} w{} s{} a={} b={} {}", name_of(a.type), name_of(output), tile.m, tile.n, tile.k,
                  plan.warps, plan.stages, move_text(kernel.how.moves[0], "m", "k"),
                  move_text(kernel.how.moves[1], "k", "n"), to_string(plan.mma));
  // The two 16-bit types differ in few instructions. Apart by output, so that a group is unpacked in little time.
  const std::string group =
      fmt::format("{} {}>{} {}x{}x{}", target.architecture, a.type == DType::f32 ? "f32" : "16-bit",
                  output == DType::f32 ? "f32" : "16-bit", tile.m, tile.n, tile.k);
  found[{unit, target.architecture}] = {
      plan.tile.m * plan.tile.n / plan.warps,
      {name, group, unit, target.architecture, target.with_ptx, config.shared_bytes()}};
}

void add_candidates_of(Found& found, const Target& target, const MatrixView& a, const MatrixView& b,
                       const MatrixView& c) {
  const Problem problem = problem_of(a, b, c);
  for (const plan::GpuDescription& device : target.devices) {
    const PlanChoice choice = plan::choose_gpu_plan(problem, {}, device);
    for (const Candidate& candidate : choice.candidates) {
      if (candidate.rejected.empty()) add(found, target, candidate.plan, a, b, c.type);
    }
  }
}
/// The kernels of all plans that the planner ranks for these operands, and for few rows of A.
void add_candidates(Found& found, const Target& target, const MatrixView& whole, const MatrixView& b, DType output) {
  for (const bool all : {true, false}) {
    MatrixView a = whole;
    if (!all) a.rows = few;
    add_candidates_of(found, target, a, b, {nullptr, output, a.rows, extent, extent, 1});
    add_candidates_of(found, target, a, b, {nullptr, output, a.rows, extent, 1, extent});
  }
}

}  // namespace

std::vector<Kernel> default_kernels() {
  Found found;
  for (const Target& target : targets) {
    for (const DType input : types) {
      for (const MatrixView& a : layouts(input)) {
        for (const MatrixView& b : layouts(input)) {
          for (const DType output : types) add_candidates(found, target, a, b, output);
        }
      }
    }
  }
  for (const Target& target : targets) {  // what plans with pack(…) begin with
    const std::string& unit = cuda::row_copy_unit(size_of(DType::f16));
    const std::string group = fmt::format("{} copy", target.architecture);
    found[{unit, target.architecture}] = {
        0, {"copy of rows, 2 bytes", group, unit, target.architecture, target.with_ptx, 0}};
  }
  std::vector<std::pair<i64, Kernel>> ordered;
  for (auto& [key, entry] : found) ordered.push_back(std::move(entry));
  std::ranges::stable_sort(ordered, std::greater{}, &std::pair<i64, Kernel>::first);
  std::vector<Kernel> kernels;
  for (auto& [cost, kernel] : ordered) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace tilewright::pack
