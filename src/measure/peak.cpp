// See peak.hpp. Each loop holds 12 independent sums in registers: enough to hide the latency of the units it was tried
// on (4 cycles, two a cycle; 6 for the dot product), and few enough for the 16 registers of AVX2. They start at
// different values, since equal sums would be computed once.
//
// NOTE: The loops are compiled for their instruction set by an attribute, so they call nothing that could be merged
// with a copy compiled for another.
#include "measure/peak.hpp"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::measure {
namespace {

constexpr long steps = 4096;  // of a loop
constexpr int sums = 12;

/// Runs a loop and keeps its result from being optimised away.
volatile float sink;

typedef float Four __attribute__((vector_size(16)));

void portable_loop() {
  const float start = 1 + sink * 0;
  const Four x = {start, start, start, start}, y = x * 0x1p-30f;
  Four s[sums];
#pragma GCC unroll 12
  for (int i = 0; i < sums; ++i) s[i] = x * static_cast<float>(i);
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) s[i] = s[i] * x + y;
  }
  Four total = s[0];
#pragma GCC unroll 12
  for (int i = 1; i < sums; ++i) total += s[i];
  sink = total[0];
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void avx2_loop() {
  const __m256 x = _mm256_set1_ps(1 + sink * 0), y = _mm256_set1_ps(0x1p-30f + sink * 0);
  __m256 s[sums];
#pragma GCC unroll 12
  for (int i = 0; i < sums; ++i) s[i] = _mm256_set1_ps(static_cast<float>(i));
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) s[i] = _mm256_fmadd_ps(s[i], x, y);
  }
  __m256 total = s[0];
#pragma GCC unroll 12
  for (int i = 1; i < sums; ++i) total = _mm256_add_ps(total, s[i]);
  sink = _mm256_cvtss_f32(total);
}

__attribute__((target("avx512f"))) void avx512_loop() {
  const __m512 x = _mm512_set1_ps(1 + sink * 0), y = _mm512_set1_ps(0x1p-30f + sink * 0);
  __m512 s[sums];
#pragma GCC unroll 12
  for (int i = 0; i < sums; ++i) s[i] = _mm512_set1_ps(static_cast<float>(i));
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) s[i] = _mm512_fmadd_ps(s[i], x, y);
  }
  __m512 total = s[0];
#pragma GCC unroll 12
  for (int i = 1; i < sums; ++i) total = _mm512_add_ps(total, s[i]);
  sink = _mm512_cvtss_f32(total);
}

__attribute__((target("avx512f,avx512bf16"))) void avx512_bf16_loop() {
  const __m512 one = _mm512_set1_ps(1 + sink * 0), small = _mm512_set1_ps(0x1p-30f + sink * 0);
  const __m512bh x = _mm512_cvtne2ps_pbh(one, one), y = _mm512_cvtne2ps_pbh(small, small);
  __m512 s[sums];
#pragma GCC unroll 12
  for (int i = 0; i < sums; ++i) s[i] = _mm512_set1_ps(static_cast<float>(i));
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) s[i] = _mm512_dpbf16_ps(s[i], x, y);
  }
  __m512 total = s[0];
#pragma GCC unroll 12
  for (int i = 1; i < sums; ++i) total = _mm512_add_ps(total, s[i]);
  sink = _mm512_cvtss_f32(total);
}
#endif

struct Loop {
  void (*run)();
  int lanes;  // multiply-adds of one instruction
};

Loop loop_of(Unit unit) {
#if defined(__x86_64__)
  switch (unit) {
    case Unit::portable:
      break;
    case Unit::avx2_fma:
      return {avx2_loop, 8};
    case Unit::avx512_fma:
      return {avx512_loop, 16};
    case Unit::avx512_bf16_dot:
      return {avx512_bf16_loop, 32};
  }
#else
  static_cast<void>(unit);
#endif
  return {portable_loop, 4};
}

}  // namespace

std::string name_of(Unit unit) {
  switch (unit) {
    case Unit::portable:
      return "portable multiply and add";
    case Unit::avx2_fma:
      return "avx2 fma";
    case Unit::avx512_fma:
      return "avx512 fma";
    case Unit::avx512_bf16_dot:
      return "avx512 bf16 dot";
  }
  return "unknown";
}

std::vector<Unit> units_at_hand() {
  std::vector<Unit> units = {Unit::portable};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) units.push_back(Unit::avx2_fma);
  if (__builtin_cpu_supports("avx512f")) units.push_back(Unit::avx512_fma);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16")) units.push_back(Unit::avx512_bf16_dot);
#endif
  return units;
}

void run_loop(Unit unit) { loop_of(unit).run(); }

double peak_gflops(Unit unit, double microseconds) {
  using Clock = std::chrono::steady_clock;
  const Loop loop = loop_of(unit);
  const double flops = 2.0 * steps * sums * loop.lanes;
  const auto end = Clock::now() + std::chrono::duration<double, std::micro>(microseconds);
  double best = 0;
  do {
    const auto start = Clock::now();
    loop.run();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds > 0) best = std::max(best, flops / seconds * 1e-9);
  } while (Clock::now() < end);
  return best;
}

}  // namespace tilewright::measure
