// Blocks of memory for the kernels' tests: strided, indexed and bounded, with an unmapped page at one end.
//
// A Plane says where element (i, j) is and whether it may be touched, by the definitions of Operand and Block and
// nothing else. Memory holds exactly what lies between the first and the last element that may be touched, flush
// against an unmapped page; every byte that belongs to no element is 0xff, which is a NaN in each of the element types.
#pragma once

#include <tilewright/tile/cpu/kernels.hpp>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/oracle/pages.hpp"

namespace kernels_test {

using namespace tilewright;
using oracle::Edge;
using oracle::Pages;

/// An extent, where its positions are, and which may be touched.
struct Line {
  int extent = 0;
  i64 stride = 0;
  std::vector<i64> table;  // replaces the stride unless empty
  int begin = 0, end = 0;

  bool reachable(int i) const {
    return i >= begin && i < end && (table.empty() || table[static_cast<std::size_t>(i)] != cpu::Operand::masked);
  }
  i64 offset(int i) const { return table.empty() ? i * stride : table[static_cast<std::size_t>(i)]; }
  const i64* offsets() const { return table.empty() ? nullptr : table.data(); }
};

struct Plane {
  std::string name;
  Line row, col;
  bool reachable(int i, int j) const { return row.reachable(i) && col.reachable(j); }
  i64 offset(int i, int j) const { return row.offset(i) + col.offset(j); }
};

/// The ways to lie in memory, all of rows x cols: which axis is contiguous, and what the other one does. `inner` takes
/// bounds that leave out something at all four sides, where the extents have room for it.
constexpr int plane_kinds = 14;
inline Plane plane(int kind, int rows, int cols, bool inner) {
  Plane p;
  p.row = {rows, 0, {}, 0, rows};
  p.col = {cols, 0, {}, 0, cols};
  const auto table = [](int extent, i64 step) {  // backwards, every fifth one masked
    std::vector<i64> offsets;
    for (int i = 0; i < extent; ++i) offsets.push_back(i % 5 == 3 ? cpu::Operand::masked : (extent - 1 - i) * step);
    return offsets;
  };
  const auto set = [&](const char* name, i64 row_stride, i64 col_stride) {
    p.name = name;
    p.row.stride = row_stride;
    p.col.stride = col_stride;
  };
  switch (kind) {
    case 0:
      set("columns contiguous", cols, 1);
      break;
    case 1:
      set("columns contiguous, padded", cols + 3, 1);
      break;
    case 2:
      set("rows contiguous", 1, rows);
      break;
    case 3:
      set("rows contiguous, padded", 1, rows + 5);
      break;
    case 4:
      set("neither contiguous", 3 * i64{cols} + 1, 3);
      break;
    case 5:
      set("rows backwards", -(i64{cols} + 1), 1);
      break;
    case 6:
      set("columns backwards", cols, -1);
      break;
    case 7:
      set("one row repeated", 0, 1);
      break;
    case 8:
      set("one column repeated", 1, 0);
      break;
    case 9:
      set("rows from a table", 0, 1);
      p.row.table = table(rows, cols + 2);
      break;
    case 10:
      set("columns from a table", 1, 0);
      p.col.table = table(cols, rows);
      break;
    case 11:
      set("columns two apart", 2 * i64{cols} + 1, 2);
      break;
    case 12:
      set("rows two apart", 2, 2 * i64{rows} + 3);
      break;
    default:
      set("both from tables", 0, 0);
      p.row.table = table(rows, 2 * cols);
      p.col.table = table(cols, 2);
      break;
  }
  if (inner) {
    const auto shrink = [](Line& line) {
      line.begin = line.extent > 2 ? 1 + line.extent / 8 : 0;
      line.end = line.extent > 1 ? line.extent - 1 : 1;
    };
    shrink(p.row);
    shrink(p.col);
    p.name += ", inner bounds";
  }
  return p;
}

/// The memory of a plane.
class Memory {
 public:
  Memory(const Plane& plane, DType type, Edge edge) : size_(size_of(type)) {
    i64 low = INT64_MAX, high = INT64_MIN;
    for (int i = 0; i < plane.row.extent; ++i) {
      for (int j = 0; j < plane.col.extent; ++j) {
        if (!plane.reachable(i, j)) continue;
        low = std::min(low, plane.offset(i, j));
        high = std::max(high, plane.offset(i, j));
      }
    }
    const bool any = low <= high;
    first_ = any ? low : 0;
    pages_ = Pages(any ? (high - low + 1) * size_ : size_, edge);
    std::memset(pages_.open().data(), 0xff, pages_.open().size());
  }

  /// The address of the element at offset 0, which may be anywhere.
  void* base() const {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(pages_.block()) -
                                   static_cast<std::uintptr_t>(first_ * size_));
  }
  std::byte* at(i64 offset) const { return pages_.block() + (offset - first_) * size_; }
  std::span<std::byte> all() const { return pages_.open(); }

 private:
  i64 size_, first_ = 0;
  Pages pages_;
};

/// An element's bits, at most 32, as tile/element.hpp rounds the value.
inline u32 bits_of(DType type, float value) {
  if (type == DType::f16) return to_f16(value).bits;
  if (type == DType::bf16) return to_bf16(value).bits;
  return std::bit_cast<u32>(value);
}
inline float value_of(DType type, u32 bits) {
  if (type == DType::f16) return to_float(f16{static_cast<u16>(bits)});
  if (type == DType::bf16) return to_float(bf16{static_cast<u16>(bits)});
  return std::bit_cast<float>(bits);
}
inline u32 read_bits(const std::byte* at, DType type) {
  u32 bits = 0;
  std::memcpy(&bits, at, type == DType::f32 ? 4 : 2);  // little-endian
  return bits;
}
inline void write_bits(std::byte* at, DType type, u32 bits) { std::memcpy(at, &bits, type == DType::f32 ? 4 : 2); }

/// Floats in front of an unmapped page; a multiple of 16 of them starts 64-byte aligned. All NaN at first.
class Floats {
 public:
  explicit Floats(i64 count) : pages_(std::max<i64>(count, 16) * 4, Edge::end) {
    std::memset(pages_.open().data(), 0xff, pages_.open().size());
  }
  float* data() const { return reinterpret_cast<float*>(pages_.block()); }

 private:
  Pages pages_;
};

/// A number from 0 to count - 1 that follows from the seed.
inline u32 pick(std::uint64_t seed, u32 count) {
  seed = (seed ^ (seed >> 31)) * 0x9e3779b97f4a7c15u;
  seed = (seed ^ (seed >> 29)) * 0xbf58476d1ce4e5b9u;
  return static_cast<u32>((seed ^ (seed >> 32)) % count);
}

constexpr DType types[] = {DType::f16, DType::bf16, DType::f32};

/// Runs a test for each instruction set of this machine.
inline void for_each_set(const std::function<void(const cpu::Kernels&)>& test) {
  for (const Mma mma : cpu::instruction_sets()) {
    SCOPED_TRACE(to_string(mma));
    test(cpu::kernels(mma));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace kernels_test
