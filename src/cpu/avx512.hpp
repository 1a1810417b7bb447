// A vector register of AVX-512 (F, BW, VL, DQ), 16 lanes: what the instruction sets that multiply in such registers
// have in common. vector.hpp says what the functions do.
//
// Local is a type of the including object's own, so that no two objects share a function: see vector.hpp.
#pragma once

#include <immintrin.h>

#include "cpu/vector.hpp"

namespace tilewright::cpu {

template <class Local>
struct Avx512Vector {
  using Reg = __m512;
  static constexpr int lanes = 16;

  // The intrinsics without a mask start from an undefined register, of which g++ warns; a mask of all lanes costs
  // nothing.
  static constexpr __mmask16 all = 0xffff;
  static __mmask16 first(int n) { return static_cast<__mmask16>((1u << n) - 1u); }

  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Reg x) { _mm512_storeu_ps(p, x); }
  static Reg load_first(const float* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static void store_first(float* p, int n, Reg x) { _mm512_mask_storeu_ps(p, first(n), x); }

  static Reg widen(f16, __m256i bits) { return _mm512_maskz_cvtph_ps(all, bits); }
  static Reg widen(bf16, __m256i bits) {
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, _mm512_maskz_cvtepu16_epi32(all, bits), 16));
  }
  static __m256i narrow(f16, Reg x) {
    return _mm512_maskz_cvtps_ph(all, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static __m256i narrow(bf16, Reg x) {  // to_bf16 of tile/element.hpp
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i upper = _mm512_maskz_srli_epi32(all, bits, 16);
    const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_maskz_srli_epi32(all, _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_maskz_cvtepi32_epi16(all, _mm512_mask_or_epi32(rounded, nan, upper, _mm512_set1_epi32(0x40)));
  }

  template <class E>
  static Reg read(const E* p) {
    return widen(E{}, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  template <class E>
  static Reg read_first(const E* p, int n) {
    return widen(E{}, _mm256_maskz_loadu_epi16(first(n), p));
  }
  template <class E>
  static void write(E* p, Reg x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), Local::narrow(E{}, x));
  }
  template <class E>
  static void write_first(E* p, int n, Reg x) {
    _mm256_mask_storeu_epi16(p, first(n), Local::narrow(E{}, x));
  }
  static Reg read(const float* p) { return load(p); }
  static Reg read_first(const float* p, int n) { return load_first(p, n); }
  static void write(float* p, Reg x) { store(p, x); }
  static void write_first(float* p, int n, Reg x) { store_first(p, n, x); }

  /// The even ones of 32 elements, of which the last is not read; or 16 elements backwards.
  template <class E>
  static Reg read_step(const E* p, i64 step) {
    if constexpr (sizeof(E) == 2) {
      if (step == 2) {
        const __m512i pairs = _mm512_maskz_loadu_epi16(0x7fffffffu, p);
        return Local::widen(E{}, _mm512_maskz_cvtepi32_epi16(all, pairs));
      }
      if (step == -1) {
        const __m256i order = _mm256_set_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m256i elements = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(element_at<Local>(p, -15)));
        return Local::widen(E{}, _mm256_maskz_permutexvar_epi16(all, order, elements));
      }
    }
    return read_one_by_one<Local>(p, step);
  }

  static Reg low_pairs(Reg a, Reg b) {
    return _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xff, _mm512_castps_pd(a), _mm512_castps_pd(b)));
  }
  static Reg high_pairs(Reg a, Reg b) {
    return _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xff, _mm512_castps_pd(a), _mm512_castps_pd(b)));
  }
  static Reg even_quarters(Reg a, Reg b) { return _mm512_maskz_shuffle_f32x4(all, a, b, 0x88); }
  static Reg odd_quarters(Reg a, Reg b) { return _mm512_maskz_shuffle_f32x4(all, a, b, 0xdd); }

  static void transpose(Reg* x) {
    Reg u[16];  // u[4 * i + c], quarter q: column 4 * q + c of rows 4 * i .. 4 * i + 3
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      const Reg low01 = _mm512_maskz_unpacklo_ps(all, x[i], x[i + 1]),
                high01 = _mm512_maskz_unpackhi_ps(all, x[i], x[i + 1]);
      const Reg low23 = _mm512_maskz_unpacklo_ps(all, x[i + 2], x[i + 3]);
      const Reg high23 = _mm512_maskz_unpackhi_ps(all, x[i + 2], x[i + 3]);
      u[i] = low_pairs(low01, low23);
      u[i + 1] = high_pairs(low01, low23);
      u[i + 2] = low_pairs(high01, high23);
      u[i + 3] = high_pairs(high01, high23);
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const Reg even_top = even_quarters(u[c], u[4 + c]), odd_top = odd_quarters(u[c], u[4 + c]);
      const Reg even_bottom = even_quarters(u[8 + c], u[12 + c]), odd_bottom = odd_quarters(u[8 + c], u[12 + c]);
      x[c] = even_quarters(even_top, even_bottom);
      x[4 + c] = even_quarters(odd_top, odd_bottom);
      x[8 + c] = odd_quarters(even_top, even_bottom);
      x[12 + c] = odd_quarters(odd_top, odd_bottom);
    }
  }

  static void read_transposed(const float* const* row, i64 at, Reg* x) {
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) x[r] = read(row[r] + at);
    transpose(x);
  }
  // 16-bit elements are transposed before they are widened, which halves the bytes that pass through the shuffles. Rows
  // r and r + 8 share a register, one half each, so that nothing needs to cross the halves.
  template <class E>
  static void read_transposed(const E* const* row, i64 at, Reg* x) {
#pragma GCC unroll 2
    for (int k = 0; k < 16; k += 8) {
      __m256i t[8], u[8];
#pragma GCC unroll 8
      for (int r = 0; r < 8; ++r) {
        const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[r] + at + k));
        const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[r + 8] + at + k));
        t[r] = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
      }
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        u[2 * r] = _mm256_unpacklo_epi16(t[2 * r], t[2 * r + 1]);
        u[2 * r + 1] = _mm256_unpackhi_epi16(t[2 * r], t[2 * r + 1]);
      }
#pragma GCC unroll 2
      for (int r = 0; r < 8; r += 4) {  // t[r + c]: columns 2 * c and 2 * c + 1 of rows r .. r + 3 of either half
        t[r] = _mm256_unpacklo_epi32(u[r], u[r + 2]);
        t[r + 1] = _mm256_unpackhi_epi32(u[r], u[r + 2]);
        t[r + 2] = _mm256_unpacklo_epi32(u[r + 1], u[r + 3]);
        t[r + 3] = _mm256_unpackhi_epi32(u[r + 1], u[r + 3]);
      }
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        x[k + 2 * c] = widen(E{}, _mm256_unpacklo_epi64(t[c], t[4 + c]));
        x[k + 2 * c + 1] = widen(E{}, _mm256_unpackhi_epi64(t[c], t[4 + c]));
      }
    }
  }
};

/// 8 lanes, in what the micro-kernel asks of a vector: for the last columns of a matrix, at half the cost. Whole is the
/// vector that it is half of.
template <class Whole>
struct HalfAvx512Vector {
  using Reg = __m256;
  static constexpr int lanes = 8;
  static __mmask8 first(int n) { return static_cast<__mmask8>((1u << n) - 1u); }
  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  static Reg load_first(const float* p, int n) { return _mm256_maskz_loadu_ps(first(n), p); }
  static void write_first(float* p, int n, Reg x) { _mm256_mask_storeu_ps(p, first(n), x); }
  template <class E>
  static void write_first(E* p, int n, Reg x) {
    Whole::write_first(p, n, _mm512_maskz_insertf32x8(0xff, _mm512_setzero_ps(), x, 0));
  }
  template <class E>
  static void write(E* p, Reg x) {
    write_first(p, lanes, x);
  }
};

}  // namespace tilewright::cpu
