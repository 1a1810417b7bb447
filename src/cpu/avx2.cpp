// The micro-kernels for AVX2 with FMA and F16C: 8 lanes, register tiles of 6 x 16.
//
// 12 sums, two vectors of B and a broadcast element of A take 15 of the 16 registers. There are no masked loads of
// 16-bit elements, and masked stores are slow on some machines: partial vectors go through a buffer. Start at
// vector.hpp.
#if defined(__x86_64__)

#include <immintrin.h>

#include "cpu/vector.hpp"

namespace tilewright::cpu {
namespace {

struct Avx2 : BufferedEdges<Avx2> {
  using Reg = __m256;
  using Half = Avx2;
  static constexpr int lanes = 8, mr = 6, b_rows = 4, tall_mr = 0;

  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Reg x) { _mm256_storeu_ps(p, x); }
  static Reg load_first(const float* p, int n) { return read_first(p, n); }
  static void store_first(float* p, int n, Reg x) { write_first(p, n, x); }
  static Reg multiply_add(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }

  static Reg widen(f16, __m128i bits) { return _mm256_cvtph_ps(bits); }
  static Reg widen(bf16, __m128i bits) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static __m128i narrow(f16, Reg x) { return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static __m128i narrow(bf16, Reg x) {  // to_bf16 of tile/element.hpp
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i upper = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, quiet, nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  }

  template <class E>
  static Reg read(const E* p) {
    return widen(E{}, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  template <class E>
  static void write(E* p, Reg x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrow(E{}, x));
  }
  static Reg read(const float* p) { return load(p); }
  static void write(float* p, Reg x) { store(p, x); }

  static void transpose(Reg* x) {
    Reg u[8];  // u[4 * i + c], half h: column 4 * h + c of rows 4 * i .. 4 * i + 3
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      const Reg low01 = _mm256_unpacklo_ps(x[i], x[i + 1]), high01 = _mm256_unpackhi_ps(x[i], x[i + 1]);
      const Reg low23 = _mm256_unpacklo_ps(x[i + 2], x[i + 3]), high23 = _mm256_unpackhi_ps(x[i + 2], x[i + 3]);
      u[i] = _mm256_shuffle_ps(low01, low23, 0x44);
      u[i + 1] = _mm256_shuffle_ps(low01, low23, 0xee);
      u[i + 2] = _mm256_shuffle_ps(high01, high23, 0x44);
      u[i + 3] = _mm256_shuffle_ps(high01, high23, 0xee);
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      x[c] = _mm256_permute2f128_ps(u[c], u[4 + c], 0x20);
      x[4 + c] = _mm256_permute2f128_ps(u[c], u[4 + c], 0x31);
    }
  }

  template <class E>
  static void read_transposed(const E* const* row, i64 at, Reg* x) {
#pragma GCC unroll 8
    for (int r = 0; r < lanes; ++r) x[r] = read(row[r] + at);
    transpose(x);
  }
};

}  // namespace

constinit const Kernels avx2_kernels = kernels_of<Avx2>(Mma::avx2);

}  // namespace tilewright::cpu

#endif
