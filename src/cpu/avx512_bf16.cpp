// The micro-kernels for bf16 operands on AVX-512 with dot products of bf16 pairs (BF16): register tiles of 14 x 32,
// twice the products of a multiply-add in FP32 per instruction.
//
// A lane of VDPBF16PS adds two products to a float, each by a fused multiply-add that rounds to nearest even: first the
// upper halves' product, then the lower halves'. Panels therefore hold words of two bf16, index k in the upper half and
// k + 1 in the lower one, and sums take their products in order of k, as in every other instruction set: the bits are
// those of avx512. Except near zero: the instruction takes subnormal numbers, bf16 and float, for zeros, and makes
// zeros of subnormal sums, whatever the caller's floating-point environment says. Behind an odd k stands a zero.
//
// A panel is that of panels.hpp with words in place of floats and pairs in place of k, so the multiplication is the one
// of micro_kernel.hpp. Packing is the file's own, and does what packing.hpp does: words are not converted but put
// together. Start at pack_pairs().
#if defined(__x86_64__)

#include "cpu/avx512.hpp"

namespace tilewright::cpu {
namespace {

struct Avx512Bf16;

struct HalfAvx512Bf16 : HalfAvx512Vector<Avx512Bf16> {
  static Reg multiply_add(Reg a, Reg b, Reg c) {
    return _mm256_dpbf16_ps(c, __builtin_bit_cast(__m256bh, a), __builtin_bit_cast(__m256bh, b));
  }
};

struct Avx512Bf16 : Avx512Vector<Avx512Bf16> {
  using Half = HalfAvx512Bf16;
  static constexpr int mr = 14, b_rows = 8, tall_mr = 0;
  using Avx512Vector<Avx512Bf16>::narrow;
  // The instruction takes subnormal numbers for zeros, and so does what finds them if the caller says so: zeros count
  // as well. It needs no constant in a register, of which a register tile has none left.
  static __m256i narrow(bf16, Reg x) {
    constexpr int zero_or_subnormal = 0x26;
    if (_mm512_fpclass_ps_mask(x, zero_or_subnormal) != 0) [[unlikely]] {
      return Avx512Vector<Avx512Bf16>::narrow(bf16{}, x);
    }
    return __builtin_bit_cast(__m256i, _mm512_maskz_cvtneps_pbh(all, x));
  }
  static Reg multiply_add(Reg a, Reg b, Reg c) {
    return _mm512_dpbf16_ps(c, __builtin_bit_cast(__m512bh, a), __builtin_bit_cast(__m512bh, b));
  }
};

using V = Avx512Bf16;

constexpr int lanes = V::lanes;

constexpr int pairs_of(int k) { return (k + 1) / 2; }

/// A mask of elements first .. last of 32.
__mmask32 elements(int first, int last) {
  const auto below = [](int n) { return n <= 0 ? 0u : n >= 32 ? ~0u : (1u << n) - 1u; };
  return below(last) & ~below(first);
}

/// Elements of 32 from `from` on, which alone are read; the rest are 0.
__m512i read_inside(__mmask32 inside, const bf16* from) { return _mm512_maskz_loadu_epi16(inside, from); }

/// Which elements make the words of two lines of 32, the odd line's first: lane j of the left half is element j of
/// both.
__m512i left_half() {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_or_si512(lane, _mm512_slli_epi32(_mm512_add_epi32(lane, _mm512_set1_epi32(32)), 16));
}
__m512i right_half() { return _mm512_add_epi32(left_half(), _mm512_set1_epi32(0x100010)); }

/// 32 elements `step` apart of which `inside` are read; the rest are 0.
__m512i read_apart(__mmask32 inside, const bf16* from, i64 step) {
  if (step == 1) return inside == ~0u ? _mm512_loadu_si512(from) : read_inside(inside, from);
  if (step == 2 && inside == ~0u) {
    const __m512i low = _mm512_loadu_si512(from), high = read_inside(0x7fffffffu, element_at<V>(from, 32));
    return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(_mm512_maskz_cvtepi32_epi16(V::all, low)),
                                    _mm512_maskz_cvtepi32_epi16(V::all, high), 1);
  }
  u16 bits[32] = {};
  for (int i = 0; i < 32; ++i) {
    if ((inside >> i & 1u) != 0) bits[i] = element_at<V>(from, i * step)->bits;
  }
  return _mm512_loadu_si512(bits);
}

__m512i swap_halves(V::Reg words) { return _mm512_maskz_rol_epi32(V::all, _mm512_castps_si512(words), 16); }

/// One vector's width of lines, read along k: blocks of lines x pairs are transposed.
void pack_along_k(const bf16* base, const Axis& line, int first, int count, const Axis& along, int pairs, float* panel,
                  int pitch) {
  const bool empty = along.begin == along.end;
  const int begin = empty ? pairs : along.begin / 2, end = empty ? pairs : pairs_of(along.end);
  for (int at = 0; at < begin; ++at) V::store(panel + at * pitch, V::zero());
  for (int at = end; at < pairs; ++at) V::store(panel + at * pitch, V::zero());
  if (empty) return;

  const bf16* row[lanes];  // at k = 0; null for a line of zeros
  bool all = true;
  for (int r = 0; r < lanes; ++r) {
    const i64 offset = offset_of<V>(line, first + (r < count ? r : 0));  // lanes beyond the strip are never used
    row[r] = offset == Operand::masked ? nullptr : element_at<V>(base, offset);
    all = all && offset != Operand::masked;
  }
  const i64 next = line.offsets == nullptr ? ahead<V>(count, line.stride) : 0;  // the lines that are packed next
  V::Reg block[lanes];
  for (int at = begin; at < end; at += lanes) {
    const int k = 2 * at, used = lower<V>(end - at, lanes);
    const __mmask32 inside = elements(along.begin - k, along.end - k);
    if (all && inside == ~0u && along.stride == 1) {
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) {
        const bf16* const from = element_at<V>(row[r], k);
        __builtin_prefetch(element_at<V>(from, next));
        block[r] = _mm512_loadu_ps(from);
      }
    } else {
      for (int r = 0; r < lanes; ++r) {
        block[r] = row[r] != nullptr
                       ? _mm512_castsi512_ps(read_apart(inside, element_at<V>(row[r], k * along.stride), along.stride))
                       : V::zero();
      }
    }
    V::transpose(block);
    float* const out = panel + at * pitch;
    if (used == lanes) {
#pragma GCC unroll 16
      for (int c = 0; c < lanes; ++c) _mm512_storeu_si512(out + c * pitch, swap_halves(block[c]));
    } else {
      for (int c = 0; c < used; ++c) _mm512_storeu_si512(out + c * pitch, swap_halves(block[c]));
    }
  }
}

/// Pairs begin .. end of one strip, read along its width, from a line within the bounds on: two lines are read and
/// interleaved. Lines of bf16 are packed so fast that the next but one group of them must be on its way. Blocks that
/// lie inside of the bounds, which most do, go without a question for each line.
template <int groups>
void pack_along_strip(const bf16* base, const Axis& line, int first, const Axis& along, int begin, int end,
                      float* panel) {
  constexpr int pitch = groups * lanes;
  const __mmask32 inside = elements(0, lower<V>(line.end - first, pitch));  // more than the strip's own are never used
  const auto line_at = [&](int k) {
    const i64 offset = offset_of<V>(along, k);
    if (offset == Operand::masked) return _mm512_setzero_si512();
    const bf16* const from = element_at<V>(base, offset + first * line.stride);
    __builtin_prefetch(element_at<V>(from, ahead<V>(4 * lines_together, along.stride)));
    return read_apart(inside, from, line.stride);
  };
  if (inside == ~0u && contiguous<V>(line) && along.offsets == nullptr && 2 * begin >= along.begin &&
      2 * end <= along.end) {
    const bf16* from = element_at<V>(base, 2 * begin * along.stride + first);
    for (int at = begin; at < end; ++at) {
      const bf16* const next = element_at<V>(from, along.stride);
      __builtin_prefetch(element_at<V>(from, ahead<V>(4 * lines_together, along.stride)));
      __builtin_prefetch(element_at<V>(next, ahead<V>(4 * lines_together, along.stride)));
      const __m512i even = _mm512_loadu_si512(from), odd = _mm512_loadu_si512(next);
      float* const out = panel + at * pitch;
      _mm512_storeu_si512(out, _mm512_permutex2var_epi16(odd, left_half(), even));
      if constexpr (groups == 2) _mm512_storeu_si512(out + lanes, _mm512_permutex2var_epi16(odd, right_half(), even));
      from = element_at<V>(next, along.stride);
    }
    return;
  }
  for (int at = begin; at < end; ++at) {
    const __m512i even = line_at(2 * at), odd = line_at(2 * at + 1);
    float* const out = panel + at * pitch;
    _mm512_storeu_si512(out, _mm512_permutex2var_epi16(odd, left_half(), even));
    if constexpr (groups == 2) _mm512_storeu_si512(out + lanes, _mm512_permutex2var_epi16(odd, right_half(), even));
  }
}

/// One vector's width of lines, element by element.
void pack_gathered(const bf16* base, const Axis& line, int first, int count, const Axis& along, int pairs, float* panel,
                   int pitch) {
  i64 start[lanes];
  for (int r = 0; r < lanes; ++r) start[r] = r < count ? offset_of<V>(line, first + r) : Operand::masked;
  for (int at = 0; at < pairs; ++at, panel += pitch) {
    u32 words[lanes] = {};
    for (int k = 2 * at, shift = 16; shift >= 0; ++k, shift -= 16) {
      const i64 offset = offset_of<V>(along, k);
      if (offset == Operand::masked) continue;
      for (int r = 0; r < lanes; ++r) {
        if (start[r] == Operand::masked) continue;
        words[r] |= static_cast<u32>(element_at<V>(base, start[r] + offset)->bits) << shift;
      }
    }
    _mm512_storeu_si512(panel, _mm512_loadu_si512(words));
  }
}

/// Packs `lines` rows of A or columns of B by k, all bf16, into a panel of pairs.
template <class Panel>
void pack_pairs(const Operand& x, int lines, int k, float* panel) {
  const auto* const base = static_cast<const bf16*>(x.base);
  const int pairs = pairs_of(k);
  const Axis line = axis_of<V>(x.strip_stride, x.strip_offsets, x.s_begin, x.s_end, lines);
  const Axis along = axis_of<V>(x.k_stride, x.k_offsets, x.k_begin, x.k_end, k);
  const bool wide = read_across<V>(line, along, lines);
  const i64 step = static_cast<i64>(pairs) * Panel::pitch;
  for (int at = 0; wide && at < pairs; at += lines_together) {
    for (int s = 0; s < Panel::strips(lines); ++s) {
      const int first = Panel::strip(lines, s).first, end = lower<V>(at + lines_together, pairs);
      if (first >= line.begin) pack_along_strip<Panel::groups>(base, line, first, along, at, end, panel + s * step);
    }
  }
  for (int s = 0; s < Panel::strips(lines); ++s) {
    const Strip strip = Panel::strip(lines, s);
    if (wide && strip.first >= line.begin) continue;
    for (int g = 0; g * lanes < strip.count; ++g) {
      const int first = strip.first + g * lanes, count = lower<V>(strip.count - g * lanes, lanes);
      float* const out = panel + s * step + g * lanes;
      if (along.offsets == nullptr) {
        pack_along_k(base, line, first, count, along, pairs, out, Panel::pitch);
      } else {
        pack_gathered(base, line, first, count, along, pairs, out, Panel::pitch);
      }
    }
  }
}

template <class Panel>
i64 pair_panel_floats(int lines, int k) {
  return panel_floats<V, Panel>(lines, pairs_of(k));
}

void multiply_pairs(const float* a_panel, const float* b_panel, int m, int n, int k, float* acc, i64 ld, bool add) {
  multiply<V>(a_panel, b_panel, m, n, pairs_of(k), acc, ld, add);
}

/// Pairs of rows of B where they lie: words of two, made as pack_along_strip makes them.
struct PairsOfB {
  const bf16* base;
  i64 stride;
  int k;

  /// 16 rows lie in one or two sets of an L1 of 8 ways and 4 KiB a way, as powers of two do: half of them at a time.
  bool crowded() const { return stride % 1024 == 0; }

  i64 distance(int pairs, int more = 0) const { return ahead<V>(2 * pairs, stride, more); }

  template <int group, int vectors>
  [[gnu::always_inline]] void read(int pair, int column, int count, i64 next, V::Reg (&out)[group][vectors]) const {
    const __mmask32 inside = elements(0, (vectors - 1) * lanes + count);
    const bf16* from = element_at<V>(base, 2 * pair * stride + column);
    const auto row = [&](int at) {
      __builtin_prefetch(element_at<V>(from, next), 0, 2);
      if (at >= k) return _mm512_setzero_si512();
      return inside == ~0u ? _mm512_loadu_si512(from) : read_inside(inside, from);
    };
#pragma GCC unroll 8
    for (int g = 0; g < group; ++g) {
      const __m512i even = row(2 * (pair + g));
      from = element_at<V>(from, stride);
      const __m512i odd = row(2 * (pair + g) + 1);
      from = element_at<V>(from, stride);
      out[g][0] = _mm512_castsi512_ps(_mm512_permutex2var_epi16(odd, left_half(), even));
      if constexpr (vectors == 2) out[g][1] = _mm512_castsi512_ps(_mm512_permutex2var_epi16(odd, right_half(), even));
    }
  }
};

/// Columns of B where they lie, each contiguous along k: a word is two neighbours.
struct PairColumnsOfB {
  const bf16* base;
  i64 stride;
  int k;

  void read(int first, int count, int at, int depth, V::Reg (&block)[lanes]) const {
    const __mmask32 inside = elements(0, lower<V>(2 * depth, k - 2 * at));
    for (int j = 0; j < lanes; ++j) {
      const bf16* const from = element_at<V>(base, (first + (j < count ? j : 0)) * stride + 2 * at);
      __builtin_prefetch(element_at<V>(from, 256), 0, 2);  // so many columns are more streams than hardware follows
      block[j] = _mm512_castsi512_ps(inside == ~0u ? _mm512_loadu_si512(from) : read_inside(inside, from));
    }
    V::transpose(block);
    for (int i = 0; i < lanes; ++i) block[i] = _mm512_castsi512_ps(swap_halves(block[i]));
  }
};

void multiply_pairs_direct_b(const float* a_panel, const Operand& b, int m, int n, int k, float* acc, i64 ld,
                             bool add) {
  const auto* const base = static_cast<const bf16*>(b.base);
  if (b.strip_stride == 1) {
    multiply_rows<V>(a_panel, PairsOfB{base, b.k_stride, k}, m, n, pairs_of(k), acc, ld, add);
  } else {
    multiply_across<V>(a_panel, PairColumnsOfB{base, b.strip_stride, k}, m, n, pairs_of(k), acc, ld, add);
  }
}

/// Rows of A where they lie: a word is two neighbours.
struct PairsOfA {
  const bf16* base;
  i64 stride;
  int k;

  void copy(int row, int pair, int length, int next, float* out) const {
    const bf16* const from = element_at<V>(base, row * stride + 2 * pair);
    const bf16* const fetched = element_at<V>(element_at<V>(base, ahead<V>(next, stride)), 2 * pair);
    const int whole = lower<V>(length, k / 2 - pair) / lanes * lanes;  // in vectors that are all inside
    for (int i = 0; i < whole; i += lanes) {
      __builtin_prefetch(element_at<V>(fetched, 2 * i), 0, 2);
      V::store(out + i, _mm512_castsi512_ps(swap_halves(_mm512_loadu_ps(from + 2 * i))));
    }
    for (int i = whole; i < length; i += lanes) {
      const __m512i words = read_inside(elements(0, lower<V>(2 * (length - i), k - 2 * (pair + i))), from + 2 * i);
      __builtin_prefetch(element_at<V>(fetched, 2 * i), 0, 2);
      V::store(out + i, _mm512_castsi512_ps(swap_halves(_mm512_castsi512_ps(words))));
    }
  }
};

/// Calls use(b) with B where it lies, if its rows are contiguous, or with its panel.
template <class Use>
void with_b(const Operand& b, int n, int k, float* panel, Use use) {
  const Axis column = axis_of<V>(b.strip_stride, b.strip_offsets, b.s_begin, b.s_end, n);
  const Axis along = axis_of<V>(b.k_stride, b.k_offsets, b.k_begin, b.k_end, k);
  if (contiguous<V>(column) && along.offsets == nullptr && column.begin == 0 && column.end == n && along.begin == 0 &&
      along.end == k) {
    return use(UnpackedB<V, PairsOfB>{{static_cast<const bf16*>(b.base), b.k_stride, k}});
  }
  pack_pairs<ColumnPanel<V>>(b, n, k, panel);
  use(PackedB<V>{});
}

void multiply_pairs_direct_a(const Operand& a, const Operand& b, float* b_panel, int m, int n, int k, float* acc,
                             i64 ld, bool add) {
  with_b(b, n, k, b_panel, [&](const auto& b_rows) {
    multiply_columns<V>(PairsOfA{static_cast<const bf16*>(a.base), a.strip_stride, k}, b_rows, b_panel, m, n,
                        pairs_of(k), acc, ld, add);
  });
}

void multiply_pairs_direct_a_to(const Operand& a, const Operand& b, float* b_panel, int m, int n, int k,
                                const float* acc, i64 ld, bool add, const RoundedRows& c) {
  with_b(b, n, k, b_panel, [&](const auto& b_rows) {
    multiply_columns_to<V>(PairsOfA{static_cast<const bf16*>(a.base), a.strip_stride, k}, b_rows, b_panel, m, n,
                           pairs_of(k), acc, ld, add, c);
  });
}

}  // namespace

constinit const Kernels avx512_bf16_kernels = {Mma::avx512_bf16,
                                               V::mr,
                                               ColumnPanel<V>::width,
                                               2 * words_of_rows,
                                               pair_panel_floats<RowPanel<V>>,
                                               pair_panel_floats<ColumnPanel<V>>,
                                               pack_pairs<RowPanel<V>>,
                                               pack_pairs<ColumnPanel<V>>,
                                               multiply_pairs,
                                               multiply_pairs_direct_a,
                                               multiply_pairs_direct_b,
                                               multiply_pairs_direct_a_to,
                                               load<V>,
                                               store<V>,
                                               &avx512_kernels};

}  // namespace tilewright::cpu

#endif
