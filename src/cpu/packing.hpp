// Packing: a strided, bounded block of a matrix becomes a panel of floats (panels.hpp), converted on the way.
//
// Three ways, by where neighbouring elements lie. Along K (the usual A): as many rows as a vector has lanes are read a
// vector at a time and transposed in registers. Along the strip (the usual B): a wide read and a wide write. Where both
// axes have tables of offsets, the elements of a vector are gathered one by one. Neighbours may be a step apart, which
// costs a shuffle or a read for each. Memory outside of the bounds is never read, not even by a vector of which only
// the inner lanes are used: partial vectors go through V::read_first, which touches exactly what it is told to.
//
// Start at pack().
#pragma once

#include "cpu/access.hpp"
#include "cpu/panels.hpp"

namespace tilewright::cpu {

/// One vector's width of lines, read along k: blocks of lanes x lanes elements are transposed.
template <class V, class E>
void pack_along_k(const E* base, const Axis& line, int first, int count, const Axis& along, int k, float* panel,
                  int pitch) {
  for (int at = 0; at < along.begin; ++at) V::store(panel + at * pitch, V::zero());
  for (int at = along.end; at < k; ++at) V::store(panel + at * pitch, V::zero());
  if (along.begin == along.end) return;

  const E* row[V::lanes];  // at k = 0; null for a line of zeros
  bool all = true;
  for (int r = 0; r < V::lanes; ++r) {
    const i64 offset =
        offset_of<V>(line, first + (r < count ? r : 0));  // lanes beyond the strip are never used: any line does
    row[r] = offset == Operand::masked ? nullptr : element_at<V>(base, offset);
    all = all && offset != Operand::masked;
  }
  const i64 next =
      line.offsets == nullptr ? ahead<V>(count, line.stride) : 0;  // the lines after these are likely to be packed next
  typename V::Reg block[V::lanes];
  int at = along.begin;
  for (; all && along.stride == 1 && at + V::lanes <= along.end; at += V::lanes) {
#pragma GCC unroll 16
    for (int r = 0; r < V::lanes; ++r) __builtin_prefetch(element_at<V>(element_at<V>(row[r], at), next));
    V::read_transposed(row, at, block);
#pragma GCC unroll 16
    for (int c = 0; c < V::lanes; ++c) V::store(panel + (at + c) * pitch, block[c]);
  }
  for (; at < along.end; at += V::lanes) {
    const int rest = lower<V>(along.end - at, V::lanes);
    for (int r = 0; r < V::lanes; ++r) {
      block[r] =
          row[r] != nullptr ? read_apart<V>(element_at<V>(row[r], at * along.stride), along.stride, rest) : V::zero();
    }
    V::transpose(block);
    for (int c = 0; c < rest; ++c) V::store(panel + (at + c) * pitch, block[c]);
  }
}

/// How many lines of memory are walked together where strips are contiguous: each is read from its first strip to its
/// last before the next ones, in memory order, while the next ones are on their way from an outer cache. Read strip by
/// strip, every access would be a stride away from the one before, which no hardware prefetcher follows across pages:
/// twice the time.
constexpr int lines_together = 4;

/// k_begin .. k_end of one strip, read along its width, from a line within the bounds on. Blocks that lie inside of the
/// bounds, which most do, go without a question for each line.
template <class V, int groups, class E>
void pack_along_strip(const E* base, const Axis& line, int first, const Axis& along, int k_begin, int k_end,
                      float* panel) {
  constexpr int pitch = groups * V::lanes;
  const int inside = line.end - first;  // lanes that may be read; those beyond the strip are never used
  panel += k_begin * pitch;
  if (inside >= pitch && contiguous<V>(line) && along.offsets == nullptr && k_begin >= along.begin &&
      k_end <= along.end) {
    const E* from = element_at<V>(base, k_begin * along.stride + first);
    for (int at = k_begin; at < k_end; ++at, panel += pitch, from = element_at<V>(from, along.stride)) {
      __builtin_prefetch(element_at<V>(from, ahead<V>(lines_together, along.stride)));
#pragma GCC unroll 2
      for (int g = 0; g < groups; ++g) V::store(panel + g * V::lanes, V::read(from + g * V::lanes));
    }
    return;
  }
  for (int at = k_begin; at < k_end; ++at, panel += pitch) {
    const i64 offset = offset_of<V>(along, at);
    if (offset == Operand::masked) {
#pragma GCC unroll 2
      for (int g = 0; g < groups; ++g) V::store(panel + g * V::lanes, V::zero());
      continue;
    }
    const E* from = element_at<V>(base, offset + first * line.stride);
    __builtin_prefetch(element_at<V>(from, ahead<V>(lines_together, along.stride)));
    if (inside >= pitch) {
#pragma GCC unroll 2
      for (int g = 0; g < groups; ++g) {
        V::store(panel + g * V::lanes,
                 read_apart<V>(element_at<V>(from, g * V::lanes * line.stride), line.stride, V::lanes));
      }
      continue;
    }
    for (int g = 0; g < groups; ++g) {
      const int count = lower<V>(inside - g * V::lanes, V::lanes);
      const E* const group = element_at<V>(from, g * V::lanes * line.stride);
      V::store(panel + g * V::lanes, count > 0 ? read_apart<V>(group, line.stride, count) : V::zero());
    }
  }
}

/// One vector's width of lines, element by element.
template <class V, class E>
void pack_gathered(const E* base, const Axis& line, int first, int count, const Axis& along, int k, float* panel,
                   int pitch) {
  i64 start[V::lanes];
  for (int r = 0; r < V::lanes; ++r) start[r] = r < count ? offset_of<V>(line, first + r) : Operand::masked;
  for (int at = 0; at < k; ++at, panel += pitch) {
    const i64 offset = offset_of<V>(along, at);
    E gathered[V::lanes] = {};
    if (offset != Operand::masked) {
      for (int r = 0; r < V::lanes; ++r) {
        if (start[r] != Operand::masked) gathered[r] = *element_at<V>(base, start[r] + offset);
      }
    }
    V::store(panel, V::read(gathered));
  }
}

template <class V, class Panel, class E>
void pack_elements(const E* base, const Operand& x, int lines, int k, float* panel) {
  const Axis line = axis_of<V>(x.strip_stride, x.strip_offsets, x.s_begin, x.s_end, lines);
  const Axis along = axis_of<V>(x.k_stride, x.k_offsets, x.k_begin, x.k_end, k);
  const bool wide = read_across<V>(line, along, lines);
  const i64 step = static_cast<i64>(k) * Panel::pitch;
  for (int at = 0; wide && at < k; at += lines_together) {
    for (int s = 0; s < Panel::strips(lines); ++s) {
      const int first = Panel::strip(lines, s).first, end = lower<V>(at + lines_together, k);
      if (first >= line.begin) pack_along_strip<V, Panel::groups>(base, line, first, along, at, end, panel + s * step);
    }
  }
  for (int s = 0; s < Panel::strips(lines); ++s) {
    const Strip strip = Panel::strip(lines, s);
    if (wide && strip.first >= line.begin) continue;
    for (int g = 0; g * V::lanes < strip.count; ++g) {
      const int first = strip.first + g * V::lanes, count = lower<V>(strip.count - g * V::lanes, V::lanes);
      float* out = panel + s * step + g * V::lanes;
      if (along.offsets == nullptr) {
        pack_along_k<V>(base, line, first, count, along, k, out, Panel::pitch);
      } else {
        pack_gathered<V>(base, line, first, count, along, k, out, Panel::pitch);
      }
    }
  }
}

/// Packs `lines` rows of A or columns of B by k into a panel. f64 is no operand: the contract of gemm refuses it.
template <class V, class Panel>
void pack(const Operand& x, int lines, int k, float* panel) {
  if (x.type == DType::f16) {
    pack_elements<V, Panel>(static_cast<const f16*>(x.base), x, lines, k, panel);
  } else if (x.type == DType::bf16) {
    pack_elements<V, Panel>(static_cast<const bf16*>(x.base), x, lines, k, panel);
  } else {
    pack_elements<V, Panel>(static_cast<const float*>(x.base), x, lines, k, panel);
  }
}

}  // namespace tilewright::cpu
