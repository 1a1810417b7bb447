// The instruction sets: one table of functions each, made of one set of templates.
//
// portable.cpp, avx2.cpp, avx512.cpp and avx512_bf16.cpp each describe one vector register as a type V and instantiate
// the same templates (panels, packing, micro-kernel, blocks) for it. V has, for vectors of `lanes` floats:
//
//   Reg, lanes, mr, b_rows                    register type, its lanes, rows of the largest register tile, rows of B
//                                             that multiply_row keeps in registers
//   tall_mr                                   rows of the largest tile of a single vector, at most two strips of A, if
//                                             multiply_add takes a broadcast from memory; else 0
//   Half                                      a vector of fewer lanes that multiply_tile takes as well, or V itself
//   zero(), broadcast(p)                      zeros; *p in every lane
//   load(p), store(p, x)                      `lanes` floats, any alignment
//   load_first(p, n), store_first(p, n, x)    the first n lanes, 0 <= n <= lanes; the rest are 0, and no other memory is
//                                             touched
//   multiply_add(a, b, c)                     a * b + c
//   transpose(x)                              x[i] lane j <-> x[j] lane i, for `lanes` registers
//   read(p), read_first(p, n)                 load and load_first from f16, bf16 or float, converted to float
//   read_step(p, step)                        `lanes` elements that lie `step` apart, converted to float
//   read_transposed(p, at, x)                 x[i] lane j = p[j][at + i], for `lanes` rows p and `lanes` registers x
//   write(p, x), write_first(p, n, x)         store and store_first to f16, bf16 or float, rounded once
//
// NOTE: A function that several object files define is merged into one by the linker, which may take the copy that was
// compiled for the widest instruction set and run it everywhere: an illegal instruction on a smaller machine. So V is a
// type in an anonymous namespace, everything in the shared headers is a template over it (and hence local to its
// object), and these files call no inline function of another header: not size_of(), not std::min, no constructor.
// InstructionSets.ObjectsShareNothing in tests/cpu/machine_test.cpp looks at the symbols.
#pragma once

#include "cpu/blocks.hpp"
#include "cpu/direct.hpp"
#include "cpu/micro_kernel.hpp"
#include "cpu/packing.hpp"

namespace tilewright::cpu {

extern const Kernels portable_kernels;
extern const Kernels avx2_kernels;         // x86-64 only
extern const Kernels avx512_kernels;       // x86-64 only
extern const Kernels avx512_bf16_kernels;  // x86-64 only

/// read_first and write_first for a V without masked loads and stores: through a buffer of one register.
template <class V>
struct BufferedEdges {
  template <class E>
  static auto read_first(const E* p, int n) {
    if (n == V::lanes) return V::read(p);
    E buffer[V::lanes] = {};
    for (int i = 0; i < n; ++i) buffer[i] = p[i];
    return V::read(buffer);
  }
  template <class E, class Reg>
  static void write_first(E* p, int n, Reg x) {
    if (n == V::lanes) return V::write(p, x);
    E buffer[V::lanes];
    V::write(buffer, x);
    for (int i = 0; i < n; ++i) p[i] = buffer[i];
  }
  template <class E>
  static auto read_step(const E* p, i64 step) {
    return read_one_by_one<V>(p, step);
  }
};

/// The table of the instruction set V.
template <class V>
constexpr Kernels kernels_of(Mma mma) {
  return {mma,
          V::mr,
          ColumnPanel<V>::width,
          words_of_rows,
          panel_floats<V, RowPanel<V>>,
          panel_floats<V, ColumnPanel<V>>,
          pack<V, RowPanel<V>>,
          pack<V, ColumnPanel<V>>,
          multiply<V>,
          multiply_direct_a<V>,
          multiply_direct_b<V>,
          multiply_direct_a_to<V>,
          load<V>,
          store<V>};
}

}  // namespace tilewright::cpu
