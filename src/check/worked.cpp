// The worked examples of blocked matrix multiplication: small enough to follow with a pencil, each a trap somebody fell
// into.
#include <array>

#include <fmt/format.h>

#include <examples/kernels/masked.hpp>
#include <tilewright/tile/cpu/executor.hpp>
#include "check/battery.hpp"
#include "plan/facts.hpp"

namespace tilewright::exact {
namespace {

WorkedExample example(std::string claim, const std::string& expected, std::string got) {
  const bool passed = expected == got;
  return {fmt::format("{} {}", claim, expected), std::move(got), passed};
}

/// The value of one element of a view, by its shape and strides alone.
float element(const MatrixView& view, i64 row, i64 col) {
  return static_cast<const float*>(view.data)[row * view.row_stride + col * view.col_stride];
}

plan::Facts facts(i64 m, i64 n, i64 k, const TileShape& tile) {
  const OperandStrides packed{k, 1, n, 1, n, 1};
  PlanChoice choice;
  choice.plan.tile = tile;
  return plan::facts_of(problem_of(m, n, k, DType::f16, DType::f16, packed), packed, choice, CpuDescription{}, {});
}

}  // namespace

std::vector<WorkedExample> worked_examples() {
  std::vector<WorkedExample> all;

  // Strides, not the shape, decide an address.
  const std::array<float, 6> x = {10, 11, 12, 20, 21, 22};
  const MatrixView transposed = view_of(x.data(), 2, 3, 3).transposed();
  all.push_back(example("X = [[10,11,12],[20,21,22]], B = X^T: B[1,0] at offset 1*1 + 0*3 = 1 is", "11",
                        fmt::format("{}", element(transposed, 1, 0))));
  all.push_back(example("the same element under contiguous strides (2, 1) would be read at offset 2, giving", "12",
                        fmt::format("{}", element(view_of(x.data(), 3, 2, 2), 1, 0))));

  // K positions past the end are zeros, never other elements.
  const std::array<float, 3> a = {1, 2, 3};
  const std::array<float, 3> b = {4, 5, 6};
  float c = 0;
  const kernels::MatmulArgs<float, float> args{
      1, 1, 3, {a.data(), 1, 3, 3, 1}, {b.data(), 3, 1, 1, 1}, {&c, 1, 1, 1, 1}};
  cpu::launch(kernels::Masked<16, 16, 16>{}, {}, args);
  all.push_back(
      example("[1,2,3] * [4,5,6] with K masked, computed by the masked kernel, is", "32", fmt::format("{}", c)));
  float wrapped = 0;
  for (std::size_t block = 0; block < 4;
       block += 2) {  // in steps of 2: the second block would take indices 2 and 3 % 3 = 0
    for (std::size_t i = 0; i < 2; ++i) wrapped += a[(block + i) % 3] * b[(block + i) % 3];
  }
  all.push_back(
      example("the same in steps of 2 with K modulo 3 would add 1*4 again, giving", "36", fmt::format("{}", wrapped)));

  // Offsets in 32 bits wrap to addresses that every mask admits.
  const u32 narrow = u32{65536} * u32{65536};
  all.push_back(example("65536 * 65536 = 4294967296 elements; in 32 bits the offset would wrap to", "0",
                        fmt::format("{}", narrow)));
  const Operand huge = place("h", Role::input, Layout::packed, 65537, 65536, DType::f16, 0);
  all.push_back(example("row 65536 of a matrix with row stride 65536 is found at element", "4294967296",
                        fmt::format("{}", locate(huge.view, i64{65536} * 65536).row * huge.view.row_stride)));

  // What the tails cost.
  const plan::Facts f = facts(130, 70, 65, {64, 32, 32});
  const plan::Program last = f.geometry.program(f.geometry.programs - 1);
  const plan::IndexRange last_k = f.geometry.k_of(f.geometry.steps - 1);
  all.push_back(example(
      "130x70x65 in tiles of 64x32x32: grid, programs, K steps:", "3x3, 9, 3",
      fmt::format("{}x{}, {}, {}", f.geometry.grid.rows, f.geometry.grid.cols, f.geometry.programs, f.geometry.steps)));
  all.push_back(
      example("its last program's rows, columns and valid outputs:", "128..191, 64..95, 2x6 = 12",
              fmt::format("{}..{}, {}..{}, {}x{} = {}", last.rows.first, last.rows.last, last.cols.first,
                          last.cols.last, last.rows.valid, last.cols.valid, last.rows.valid * last.cols.valid)));
  all.push_back(example(
      "its last K step's indices and the valid ones:", "64..95, 1 of 32",
      fmt::format("{}..{}, {} of {}", last_k.first, last_k.last, last_k.valid, last_k.last - last_k.first + 1)));
  all.push_back(example("useful and block-level FLOP, and their ratio:", "1183000 of 3538944, 33.4 %",
                        fmt::format("{} of {}, {:.1f} %", 2 * 130 * 70 * 65, 9 * 3 * 2 * 64 * 32 * 32,
                                    100 * f.useful_ratio.value_or(0))));

  // What a larger tile buys, and what BK does not.
  for (const i64 k : {32, 64}) {
    for (const i64 t : {64, 128}) {
      const plan::Facts square = facts(1024, 1024, 1024, {t, t, k});
      all.push_back(
          example(fmt::format("an FP16 tile of {}x{}x{}: FLOP a byte of a K step, KiB of accumulator:", t, t, k),
                  t == 64 ? "32, 16" : "64, 64",
                  fmt::format("{:.0f}, {}", square.stage_intensity, square.accumulator_bytes / 1024)));
    }
  }
  return all;
}

}  // namespace tilewright::exact
