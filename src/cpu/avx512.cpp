// The micro-kernels for AVX-512 (F, BW, VL, DQ): 16 lanes, register tiles of 14 x 32.
//
// 28 sums, two vectors of B and a broadcast element of A take 31 of the 32 registers. A row's element is broadcast once
// into a register and used twice; two broadcasts as memory operands of the multiply-adds would need a load for every
// one of them, and a core that loads one full vector a cycle could then do nothing else. Tiles of a single vector use
// an element once, and take it as a memory operand: up to 28 rows need one more load for each vector of B. Start at
// vector.hpp.
#if defined(__x86_64__)

#include "cpu/avx512.hpp"

namespace tilewright::cpu {
namespace {

struct Avx512;

struct HalfAvx512 : HalfAvx512Vector<Avx512> {
  static Reg multiply_add(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
};

struct Avx512 : Avx512Vector<Avx512> {
  using Half = HalfAvx512;
  static constexpr int mr = 14, b_rows = 8, tall_mr = 28;
  static Reg multiply_add(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

constinit const Kernels avx512_kernels = kernels_of<Avx512>(Mma::avx512);

}  // namespace tilewright::cpu

#endif
