// Plans: how one multiplication is carried out. A plan has one text form, which parses back:
//
//   64x32x32 w1 s1 order=grouped(8) split=none a=pack b=pack mma=avx512
//
// The planner, explain, the benchmark and the command line all speak of plans in that form. Nothing here knows a
// device: the planner is arithmetic over a problem and a device description.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tilewright/tile/order.hpp>
#include <tilewright/view.hpp>

namespace tilewright {

/// BM x BN outputs, advanced along K by BK.
struct TileShape {
  i64 m = 0, n = 0, k = 0;
  friend constexpr bool operator==(const TileShape&, const TileShape&) = default;
};

enum class SplitKind : unsigned char { none, split_k, cluster };

/// How K is shared. none: one program sums all of K, in order. split_k(S): S programs sum consecutive parts of K, each
/// a multiple of BK (steps_of_part), and the parts are added in order; the partial sums are FP32 in a workspace of S *
/// M * N * 4 bytes. Programs are then numbered part by part: p works on tile p % tiles of part p / tiles. S is at most
/// the number of K steps. cluster(S), of the target cuda under tma: the same parts of one program are summed by the S
/// blocks of threads of a cluster and added in order in shared memory: no workspace. S is a power of 2 up to 16.
struct Split {
  SplitKind kind = SplitKind::none;
  i64 parts = 1;
  friend constexpr bool operator==(const Split&, const Split&) = default;
};
/// "none", "split_k(4)", "cluster(4)".
std::string to_string(const Split& split);

/// How a strided, bounded block of an operand reaches the multiplying code. On a CPU, pack: rows or columns of unit
/// stride are read with wide loads and converted into micro-kernel panels. direct: rows of unit stride, or columns of
/// B, are read where they lie, converted, and multiplied at once: best for B with few rows of A, for A with few columns
/// of B; of both, A alone is direct. On a GPU, async_copy: rows or columns of unit stride, aligned to 16, 8 or 4 bytes,
/// are copied to shared memory asynchronously; realign: such rows of any alignment are copied as they lie and shifted
/// there, and of such with a stride of 2 every second element is taken, beside tma; tma, on compute capability 9.0:
/// rows or columns of unit stride are copied box by box, by a thread of its own. Beside an operand by tma the other
/// comes by tma or realign, the latter without shifting: wgmma takes it from registers, as its left operand, so if it
/// is B, C^T = B^T * A^T is computed. Rows along K by tma that do not start at multiples of 16 bytes come by classes:
/// a program takes every second, fourth or eighth row of A, or column of B (row_classes). On both targets, gather: no
/// axis has unit stride; element by element.
enum class Mover : unsigned char { pack, gather, direct, async_copy, realign, tma };
std::string to_string(Mover mover);

/// What multiplies: the micro-kernel of a CPU's instruction set, or a GPU's tensor cores (mma_sync; wgmma on compute
/// capability 9.0 alone) or its fused multiply-adds (fma). It is a part of the plan because a fused multiply-add rounds
/// once where a multiplication and an addition round twice: the same plan gives the same bits. avx512_bf16 multiplies
/// bf16 inputs alone and takes numbers below 2^-126 for zeros: docs/numerics.md.
enum class Mma : unsigned char { portable, avx2, avx512, avx512_bf16, mma_sync, wgmma, fma };
std::string to_string(Mma mma);

constexpr bool on_tensor_cores(Mma mma) { return mma == Mma::mma_sync || mma == Mma::wgmma; }

/// Whether an instruction set multiplies inputs of a type.
constexpr bool multiplies(Mma mma, DType input) {
  return mma == Mma::avx512_bf16 ? input == DType::bf16
         : on_tensor_cores(mma)  ? input != DType::f32
         : mma == Mma::fma       ? input == DType::f32
                                 : true;
}

/// The operands that are copied into workspace before they are multiplied, on a GPU: their rows to multiples of 128 bytes.
/// The rest of a plan is that of the copies.
struct Packing {
  bool a = false, b = false;
  constexpr bool any() const { return a || b; }
  friend constexpr bool operator==(const Packing&, const Packing&) = default;
};
/// "pack(a)", "pack(b)", "pack(a,b)"; empty for none.
std::string to_string(const Packing& packing);

enum class RestKind : unsigned char { none, rows, cols };

/// The last rows or columns of C that a plan on a GPU does not compute: a product of their own, launched behind it
/// under the plan that the planner takes for them alone, whatever the request says of this one. Where the tiles of C
/// are a few more than whole rounds of the multiprocessors, the rest would take a round as long as any other. At least
/// two rows or columns come before it. Where A's rows or B's columns run backwards, the product is turned round first,
/// and the rest are C's first ones.
struct Rest {
  RestKind kind = RestKind::none;
  i64 count = 0;
  constexpr bool any() const { return kind != RestKind::none; }
  friend constexpr bool operator==(const Rest&, const Rest&) = default;
};
/// "none", "rows(129)", "cols(1)".
std::string to_string(const Rest& rest);

struct Plan {
  TileShape tile;
  i64 warps = 1;   // threads that share one program; 1 on a CPU
  i64 stages = 1;  // blocks of K in flight; 1 on a CPU
  i64 teams = 1;   // programs that a block of threads works on in turn, under tma: while one stores, another multiplies
  i64 cluster = 1;  // blocks of threads, 1 or 2, that bring once what their programs have in common, under tma
  Order order;
  Split split;
  Mover a = Mover::pack, b = Mover::pack;
  Mma mma = Mma::portable;
  Packing packing;
  Rest rest;
  friend constexpr bool operator==(const Plan&, const Plan&) = default;
};

/// The fields that a plan's text names; the planner chooses the others. Operands whose mover is named are packed only if
/// the text says so.
struct PlanRequest {
  std::optional<TileShape> tile;
  std::optional<i64> warps, stages, teams, cluster;
  std::optional<Order> order;
  std::optional<Split> split;
  std::optional<Mover> a, b;
  std::optional<Mma> mma;
  std::optional<Packing> packing;
  std::optional<Rest> rest;
  friend constexpr bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

/// Parses a plan's text; fields may be missing and, after the tile, come in any order. Throws plan_syntax and
/// plan_value with the offending word and what is allowed.
PlanRequest parse_plan(std::string_view text);

/// Whether B is the left operand of the multiplying instruction: C is computed transposed.
constexpr bool transposes(const Plan& plan) { return plan.a == Mover::tma && plan.b == Mover::realign; }

/// The full text form. parse_plan(to_string(plan)) names every field of plan.
std::string to_string(const Plan& plan);

/// Which axis of an operand has unit stride: k (along the sum), mn (along the output), none, or both for a single row
/// or column.
enum class UnitAxis : unsigned char { none, k, mn, both };

/// An operand's layout as far as it picks code: the unit-stride axis, and the alignment in bytes (16, 8, 4, 2; 1 if not
/// even the element's own) that holds for every start of a row along that axis: base address and the other stride
/// together.
struct LayoutClass {
  UnitAxis unit = UnitAxis::none;
  i64 alignment = 0;
  bool forward = true;      // no stride is negative, or 0
  bool whole_lines = true;  // every row of an input starts at a multiple of 128 bytes, a line of a GPU's L2
  UnitAxis every_second = UnitAxis::none;  // if none has unit stride: the axis, k or mn, that has a stride of 2
  friend constexpr bool operator==(const LayoutClass&, const LayoutClass&) = default;
};
/// The class of a view: of a with k_axis_is_cols = true, of b and c with false. (c has no K: its class then says "mn"
/// where a row of c is contiguous and "k" where a column is.) Axes of extent 0 or 1 count as unit, whatever their
/// stride; a null data pointer (a view without memory, as explain has it) counts as aligned to lines.
LayoutClass layout_class(const MatrixView& view, bool k_axis_is_cols);
/// How many classes of rows an operand has, in each of which all rows start at the same byte of a chunk of 16: those
/// whose numbers leave the same remainder. 1, 2, 4 or 8.
constexpr i64 row_classes(const LayoutClass& layout) { return layout.alignment >= 16 ? 1 : 16 / layout.alignment; }
std::string to_string(const LayoutClass& layout);

/// One multiplication: C (m x n) = A (m x k) * B (k x n).
struct Problem {
  i64 m = 0, n = 0, k = 0;
  DType input = DType::f16, output = DType::f16;
  LayoutClass a, b, c;
  friend constexpr bool operator==(const Problem&, const Problem&) = default;
};

/// What the planner knows of a CPU.
struct CpuDescription {
  i64 cores = 1;
  i64 l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 8 << 20;
  Mma mma = Mma::portable;                              // the widest instruction set at hand
  std::vector<Mma> instruction_sets = {Mma::portable};  // all that are at hand
};
/// This machine.
const CpuDescription& this_cpu();

/// One plan the planner looked at: rejected with a one-line reason, or with its modelled time.
struct Candidate {
  Plan plan;
  std::string rejected;     // empty if it was ranked
  double microseconds = 0;  // modelled, not measured
};
struct PlanChoice {
  Plan plan;
  std::string reason;                 // one sentence: why this plan
  i64 workspace_bytes = 0;            // what the plan needs
  std::vector<Candidate> candidates;  // ranked ones first, best first; then the rejected
};

/// Tiles that the operator's programs are compiled for.
std::span<const TileShape> compiled_tiles();

/// Chooses the fields that the request leaves open. threads: how many may be used (0: cpu.cores). workspace: budget in
/// bytes. Throws plan_value (a mover that the operand or its layout does not allow, more parts than K steps),
/// plan_unavailable (a tile that is not compiled in, an instruction set that is not at hand or does not multiply the
/// inputs, a mover of another target, more than one thread a program), workspace, and problem (a negative extent).
PlanChoice choose_plan(const Problem& problem, const PlanRequest& request, const CpuDescription& cpu, i64 threads,
                       i64 workspace_bytes);

}  // namespace tilewright
