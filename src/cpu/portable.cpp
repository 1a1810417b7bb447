// The micro-kernels for any machine: 4 lanes, register tiles of 6 x 8, in the vector types that g++ and clang have
// everywhere.
//
// A product is rounded before it is added, also on machines that could fuse the two (this file is compiled with
// -ffp-contract=off), so that its bits are the same everywhere. The conversions are those of tile/element.hpp without
// branches; no intermediate is a subnormal float, so they hold as well where the caller has subnormals flushed to zero.
// Start at vector.hpp.
#include "cpu/vector.hpp"

namespace tilewright::cpu {
namespace {

struct Portable : BufferedEdges<Portable> {
  typedef float Reg __attribute__((vector_size(16)));
  using Half = Portable;
  typedef u32 Bits __attribute__((vector_size(16)));
  typedef u16 Halves __attribute__((vector_size(8)));
  static constexpr int lanes = 4, mr = 6, b_rows = 4, tall_mr = 0;

  static Reg all(float x) { return Reg{x, x, x, x}; }
  static Bits bits(Reg x) { return __builtin_bit_cast(Bits, x); }
  static Reg reg(Bits x) { return __builtin_bit_cast(Reg, x); }
  template <class Lanes>
  static Bits mask(Lanes comparison) {  // all ones where it holds
    return __builtin_bit_cast(Bits, comparison);
  }
  static Bits select(Bits mask, Bits yes, Bits no) { return (mask & yes) | (~mask & no); }

  static Reg zero() { return Reg{}; }
  static Reg broadcast(const float* p) { return all(*p); }
  static Reg load(const float* p) {
    Reg x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
  }
  static void store(float* p, Reg x) { __builtin_memcpy(p, &x, sizeof x); }
  static Reg load_first(const float* p, int n) { return read_first(p, n); }
  static void store_first(float* p, int n, Reg x) { write_first(p, n, x); }
  static Reg multiply_add(Reg a, Reg b, Reg c) { return a * b + c; }

  static Reg widen(bf16, Bits x) { return reg(x << 16); }
  static Reg widen(f16, Bits x) {
    const Bits magnitude = x & 0x7fffu, shifted = magnitude << 13;
    const Bits normal = shifted + (112u << 23);
    const Bits special = (shifted | 0x7f800000u) | (mask(magnitude > 0x7c00u) & 0x400000u);  // infinity, NaN made quiet
    const Bits subnormal = bits(reg(shifted + (113u << 23)) - all(0x1p-14f));  // 2^-14 + fraction * 2^-24 - 2^-14
    const Bits finite = select(mask(magnitude < 0x400u), subnormal, normal);
    return reg(((x & 0x8000u) << 16) | select(mask(magnitude >= 0x7c00u), special, finite));
  }
  static Bits narrow(bf16, Reg value) {
    const Bits x = bits(value);
    const Bits rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    return select(mask((x & 0x7fffffffu) > 0x7f800000u), (x >> 16) | 0x40u, rounded);
  }
  static Bits narrow(f16, Reg value) {
    const Bits x = bits(value), magnitude = x & 0x7fffffffu;
    const Bits rebased = magnitude - (112u << 23);
    const Bits normal = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
    const Bits small =
        bits(reg(magnitude) + all(0.5f)) - 0x3f000000u;  // the sum's last bit is 2^-24: rounds as f16 subnormals do
    const Bits finite = select(mask(magnitude >= 0x38800000u), normal, small);
    const Bits nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    const Bits special = select(mask(magnitude > 0x7f800000u), nan, Bits{} + 0x7c00u);
    return ((x >> 16) & 0x8000u) | select(mask(magnitude >= 0x477ff000u), special, finite);
  }

  template <class E>
  static Reg read(const E* p) {
    Halves x;
    __builtin_memcpy(&x, p, sizeof x);
    return widen(E{}, __builtin_convertvector(x, Bits));
  }
  template <class E>
  static void write(E* p, Reg x) {
    const Halves narrowed = __builtin_convertvector(narrow(E{}, x), Halves);
    __builtin_memcpy(p, &narrowed, sizeof narrowed);
  }
  static Reg read(const float* p) { return load(p); }
  static void write(float* p, Reg x) { store(p, x); }

  static void transpose(Reg* x) {
    const Reg low01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5),
              high01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    const Reg low23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5),
              high23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    x[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    x[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
    x[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
  }

  template <class E>
  static void read_transposed(const E* const* row, i64 at, Reg* x) {
#pragma GCC unroll 4
    for (int r = 0; r < lanes; ++r) x[r] = read(row[r] + at);
    transpose(x);
  }
};

}  // namespace

constinit const Kernels portable_kernels = kernels_of<Portable>(Mma::portable);

}  // namespace tilewright::cpu
