// The planner's count of shared memory against what a kernel's own types need: the planner knows no types.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdint>

#include <tilewright/gemm.hpp>
#include "cuda/loaded.hpp"
#include "gemm/cuda_kernel.hpp"
#include "plan/gpu_planner.hpp"

namespace {

using namespace tilewright;

constexpr plan::GpuDescription device{132, 227 << 10, true};

/// An operand of 2 bytes an element, stored by rows or by columns, so many bytes past a line.
MatrixView operand(DType type, i64 rows, i64 cols, bool by_rows, i64 off) {
  const auto* const base = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(4096 + off));
  const i64 pitch = 4096;
  return by_rows ? MatrixView{base, type, rows, cols, pitch, 1} : MatrixView{base, type, rows, cols, 1, pitch};
}

struct Kind {
  const char* movers;
  bool a_by_rows, b_by_rows;
  i64 a_off, b_off;
  bool second = false;  // of the raw operand
};
MatrixView every_second(MatrixView view) {
  (view.col_stride == 1 ? view.col_stride : view.row_stride) = 2;
  return view;
}

/// The shared memory with which a plan's kernel is launched.
i64 taken(const Plan& plan, const MatrixView& a, const MatrixView& b, DType output) {
  const gemm_detail::CudaKernel kernel = gemm_detail::cuda_kernel(plan, a, b, output);
  const cuda::Config config = cuda::config_of(kernel.how, kernel.needs, "sm_90a");
  EXPECT_TRUE(config.roles()) << to_string(plan);
  return config.shared_bytes();
}

void expect_same_bytes(const plan::GpuTile& entry, const Kind& kind, DType type, DType output) {
  MatrixView a = operand(type, 1000, 2000, kind.a_by_rows, kind.a_off),
             b = operand(type, 2000, 1500, kind.b_by_rows, kind.b_off);
  if (kind.second && kind.movers == std::string_view("a=realign b=tma")) a = every_second(a);
  if (kind.second && kind.movers == std::string_view("a=tma b=realign")) b = every_second(b);
  const Problem problem = problem_of(a, b, {nullptr, output, 1000, 1500, 1500, 1});
  const std::string text = fmt::format("{}x{}x{} {}", entry.tile.m, entry.tile.n, entry.tile.k, kind.movers);
  SCOPED_TRACE(text);
  const Plan plan = plan::choose_gpu_plan(problem, parse_plan(text), device).plan;
  EXPECT_NE(to_string(plan).find(kind.movers), std::string::npos) << to_string(plan);
  Plan shorter = plan;
  --shorter.stages;
  ASSERT_GT(shorter.stages, 0);
  const i64 bytes = taken(plan, a, b, output), counted = plan::shared_bytes_of(problem, plan);
  EXPECT_EQ(counted - plan::shared_bytes_of(problem, shorter), bytes - taken(shorter, a, b, output)) << to_string(plan);
  // The planner knows no output type: lines that warps stage count as full ones.
  if (output == DType::f32 || plan::product_tile(plan).n >= 128) {
    EXPECT_EQ(counted, bytes) << to_string(plan);
  } else {
    EXPECT_GE(counted, bytes) << to_string(plan);
    EXPECT_LE(counted - bytes, plan.teams * plan.warps * 16 * 128) << to_string(plan);
  }
}

TEST(SharedBytes, OfLeftOperandsThatStayRawAreWhatTheirKernelsTake) {
  constexpr Kind kinds[] = {
      {"a=realign b=tma", true, false, 2, 0},      {"a=realign b=tma", false, true, 2, 0},
      {"a=realign b=tma", false, false, 2, 0},     {"a=tma b=realign", true, true, 2, 2},
      {"a=tma b=realign", true, false, 2, 2},      {"a=tma b=realign", false, true, 0, 2},
      {"a=realign b=tma", true, true, 2, 0, true}, {"a=realign b=tma", false, true, 2, 0, true},
      {"a=tma b=realign", true, true, 0, 2, true}, {"a=tma b=realign", true, false, 0, 2, true},
  };
  int tiles = 0;
  for (const plan::GpuTile& entry : plan::gpu_tiles) {
    if (entry.raw.warps == 0) continue;
    ++tiles;
    for (const Kind& kind : kinds) {
      const bool transposed = std::string_view(kind.movers) == "a=tma b=realign";
      if ((transposed ? entry.tile.n : entry.tile.m) > 128) continue;  // no plan: too many raw rows
      for (const DType type : {DType::f16, DType::bf16}) {
        for (const DType output : {type, DType::f32}) expect_same_bytes(entry, kind, type, output);
      }
    }
  }
  EXPECT_GE(tiles, 5);
}

TEST(SharedBytes, OfBoxesAreWhatTheirKernelsTake) {
  constexpr Kind kinds[] = {{"a=tma b=tma", true, true, 0, 0}, {"a=tma b=tma", true, true, 2, 0}};
  for (const plan::GpuTile& entry : plan::gpu_tiles) {
    if (entry.tma.warps == 0) continue;
    for (const Kind& kind : kinds) expect_same_bytes(entry, kind, DType::f16, DType::f16);
  }
}

}  // namespace
