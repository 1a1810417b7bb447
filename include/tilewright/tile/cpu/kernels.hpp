// The CPU's micro-kernels behind plain functions: what the tile language's CPU executor calls.
//
// Packing, multiplication and rounding are compiled into the library once per instruction set (src/cpu/) and chosen at
// run time through a table, at the granularity of a whole tile. So the executor's headers can be compiled by any user
// without flags.
#pragma once

#include <tilewright/dtype.hpp>
#include <tilewright/plan.hpp>

namespace tilewright::cpu {

/// One block of memory that is an operand of `dot`: `strips` runs along the output (rows of A, columns of B), k along
/// the sum. Element (s, k) is at base + (s * strip_stride + k * k_stride) elements, unless an offset table replaces the
/// product. Outside [s_begin, s_end) x [k_begin, k_end), and where a table holds `masked`, memory is not read and the
/// value is 0.
struct Operand {
  static constexpr i64 masked = INT64_MIN;
  const void* base = nullptr;  // may itself lie outside of the matrix; only positions inside the bounds are formed
  DType type = DType::f16;     // f16, bf16, f32
  i64 strip_stride = 0, k_stride = 0;  // elements
  const i64* strip_offsets = nullptr;  // (strips), elements; replaces s * strip_stride
  const i64* k_offsets = nullptr;      // (k), elements; replaces k * k_stride
  int s_begin = 0, s_end = 0, k_begin = 0, k_end = 0;

  /// Whether strips x k of it can be read by strides alone, without a look at bounds or tables.
  constexpr bool is_plain(int strips, int k) const {
    return strip_offsets == nullptr && k_offsets == nullptr && s_begin == 0 && s_end >= strips && k_begin == 0 &&
           k_end >= k;
  }
};

/// One block of a matrix to read or write element by element: (rows, cols), the same rules as Operand.
struct Block {
  i64 row_stride = 0, col_stride = 0;
  const i64* row_offsets = nullptr;
  const i64* col_offsets = nullptr;
  int row_begin = 0, row_end = 0, col_begin = 0, col_end = 0;
};

/// With more rows of A than this, B is not read where it lies.
inline constexpr int most_direct_rows = 64;

/// Rows of a matrix, each contiguous, which take sums in place of an accumulator.
struct RoundedRows {
  void* base = nullptr;
  DType type = DType::f16;
  i64 stride = 0;  // elements from one row to the next
};

/// So many words of rows of A, floats or pairs of bf16, are multiplied at a time. Along a longer k sums pass through acc
/// more than once, where they are not yet to be rounded.
inline constexpr int words_of_rows = 512;

/// The functions of one instruction set.
struct Kernels {
  Mma mma;
  int mr, nr;          // rows and columns of the largest register tile
  int most_rounded_k;  // what multiply_direct_a_to takes: words_of_rows

  /// Floats that a packed operand of `strips` x `k` takes for A (strips of mr) and for B (strips of nr). Panels start
  /// 64-byte aligned.
  i64 (*a_panel_floats)(int strips, int k);
  i64 (*b_panel_floats)(int strips, int k);

  /// Packs a block as multiply takes it, converted to float unless that takes bf16: zero outside of its bounds. Rows of
  /// A, columns of B.
  void (*pack_a)(const Operand& a, int m, int k, float* panel);
  void (*pack_b)(const Operand& b, int n, int k, float* panel);

  /// acc[i * ld + j] += sum over k, in order of k, of a[i, k] * b[k, j], for i < m, j < n; = where add is false, which
  /// is the sum from zero on, whatever acc holds. acc and ld are 64-byte aligned. The bits of an element depend on its
  /// own row of a, its own column of b and the order of k alone.
  /// m, n and k are the ones that the panels were packed with: the layout of a panel depends on them.
  void (*multiply)(const float* a_panel, const float* b_panel, int m, int n, int k, float* acc, i64 ld, bool add);
  /// The same, to the bit, with one operand read from where it lies, which is_plain and contiguous along k, or b along
  /// either axis. k > 0, and m <= most_direct_rows if b is direct. With a direct, b is packed on the way, into
  /// b_panel_floats(n, k) at b_panel.
  void (*multiply_direct_a)(const Operand& a, const Operand& b, float* b_panel, int m, int n, int k, float* acc, i64 ld,
                            bool add);
  void (*multiply_direct_b)(const float* a_panel, const Operand& b, int m, int n, int k, float* acc, i64 ld, bool add);
  /// The sums that multiply_direct_a would leave in acc, rounded once, to c instead, which must not overlap a or b; acc
  /// stays as it is. k <= most_rounded_k.
  void (*multiply_direct_a_to)(const Operand& a, const Operand& b, float* b_panel, int m, int n, int k,
                               const float* acc, i64 ld, bool add, const RoundedRows& c);

  /// Reads a block into tile[i * ld + j] as float: `other` outside of the bounds.
  void (*load)(const void* base, DType type, const Block& block, int rows, int cols, float other, float* tile, i64 ld);
  /// Writes tile[i * ld + j], rounded once, to the elements inside of the bounds.
  void (*store)(const float* tile, i64 ld, int rows, int cols, void* base, DType type, const Block& block);

  /// Null where any operands are multiplied. Else this table's panels and multiply take operands that are both bf16,
  /// and these ones take all others.
  const Kernels* others = nullptr;

  /// How a launch has its operands reach the multiplication: direct wherever a block allows it, else in panels.
  Mover a = Mover::pack, b = Mover::pack;
  bool operands_stay = false;  // as Launch has it

  /// The table whose panels and multiply take operands of these types.
  const Kernels& for_operands(DType a, DType b) const {
    return others == nullptr || (a == DType::bf16 && b == DType::bf16) ? *this : *others;
  }
};

/// The functions of an instruction set that this machine has. Throws Error plan_unavailable for one it lacks.
const Kernels& kernels(Mma mma);
/// The instruction sets this machine has, widest first.
std::span<const Mma> instruction_sets();

}  // namespace tilewright::cpu
