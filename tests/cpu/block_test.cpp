// Loading a block into floats and storing floats to a block: every layout, bound, type and value, bit for bit as
// tile/element.hpp converts, and not a byte beside it.
#include <gtest/gtest.h>

#include <bit>

#include "tests/cpu/memory.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace kernels_test {
namespace {

cpu::Block block_of(const Plane& p) {
  return {p.row.stride, p.col.stride, p.row.offsets(), p.col.offsets(), p.row.begin, p.row.end, p.col.begin, p.col.end};
}

/// Random bits, a third of them near the edges of the types: subnormal, overflowing, NaN.
u32 some_bits(std::uint64_t seed) {
  const u32 bits = pick(seed, 0xffffffffu);
  if (bits % 6 == 0) return (bits & 0x80ffffffu) | 0x33000000u;
  if (bits % 6 == 1) return (bits & 0x807fffffu) | 0x7f800000u;
  if (bits % 6 == 2) return (bits & 0x807fffffu) | 0x47000000u;
  return bits;
}

constexpr int sizes[][2] = {{1, 1}, {1, 40}, {40, 1}, {7, 9}, {8, 8}, {16, 16}, {17, 33}, {23, 15}, {35, 50}};

TEST(Load, EveryLayoutTypeAndBound) {
  for_each_set([](const cpu::Kernels& kernels) {
    for (const auto [rows, cols] : sizes) {
      for (int turn = 0; turn < 3 * plane_kinds * 4; ++turn) {
        const DType type = types[turn % 3];
        const Plane p = plane(turn / 3 % plane_kinds, rows, cols, turn / 36 % 2 == 1);
        const Memory memory(p, type, turn / 72 == 1 ? Edge::begin : Edge::end);
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < cols; ++j) {
            if (!p.reachable(i, j)) continue;
            const u32 bits = some_bits(static_cast<std::uint64_t>(p.offset(i, j)));
            write_bits(memory.at(p.offset(i, j)), type, type == DType::f32 ? bits : bits >> 16);
          }
        }
        const i64 ld = cols + turn % 2;
        const Floats tile((rows - 1) * ld + cols);
        kernels.load(memory.base(), type, block_of(p), rows, cols, -7.5f, tile.data(), ld);
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < cols; ++j) {
            const float expected =
                p.reachable(i, j) ? value_of(type, read_bits(memory.at(p.offset(i, j)), type)) : -7.5f;
            ASSERT_EQ(std::bit_cast<u32>(tile.data()[i * ld + j]), std::bit_cast<u32>(expected))
                << "(" << i << ", " << j << ") of " << rows << "x" << cols << " " << name_of(type) << ", " << p.name;
          }
          if (ld > cols && i + 1 < rows) {
            ASSERT_EQ(std::bit_cast<u32>(tile.data()[i * ld + cols]), ~0u);
          }
        }
      }
    }
  });
}

TEST(Store, EveryLayoutTypeAndBound) {
  for_each_set([](const cpu::Kernels& kernels) {
    for (const auto [rows, cols] : sizes) {
      for (int turn = 0; turn < 3 * plane_kinds * 4; ++turn) {
        const DType type = types[turn % 3];
        const int kind = turn / 3 % plane_kinds;
        if (kind == 7 || kind == 8) continue;  // a repeated row or column is no output
        const Plane p = plane(kind, rows, cols, turn / 36 % 2 == 1);
        const Edge edge = turn / 72 == 1 ? Edge::begin : Edge::end;
        const Memory got(p, type, edge), expected(p, type, edge);
        const i64 ld = cols + turn % 2;
        const Floats tile((rows - 1) * ld + cols);
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < cols; ++j) {
            const float value = std::bit_cast<float>(some_bits(static_cast<std::uint64_t>(i * 1000 + j)));
            tile.data()[i * ld + j] = value;
            if (p.reachable(i, j)) write_bits(expected.at(p.offset(i, j)), type, bits_of(type, value));
          }
        }
        kernels.store(tile.data(), ld, rows, cols, got.base(), type, block_of(p));
        for (std::size_t at = 0; at < got.all().size(); ++at) {
          ASSERT_EQ(got.all()[at], expected.all()[at])
              << "byte " << at << " of " << rows << "x" << cols << " " << name_of(type) << ", " << p.name;
        }
      }
    }
  });
}

TEST(Load, EverySixteenBitValue) {
  for_each_set([](const cpu::Kernels& kernels) {
    std::vector<u16> all(1 << 16);
    for (u32 i = 0; i < all.size(); ++i) all[i] = static_cast<u16>(i);
    std::vector<float> tile(all.size());
    for (const DType type : {DType::f16, DType::bf16}) {
      for (const auto& [row_stride, col_stride] : {std::pair<i64, i64>{256, 1}, {1, 256}, {512, 2}}) {
        const int count = row_stride == 512 ? 128 : 256;
        const cpu::Block block = {
            .row_stride = row_stride, .col_stride = col_stride, .row_end = count, .col_end = count};
        kernels.load(all.data(), type, block, count, count, 0, tile.data(), count);
        for (i64 i = 0; i < count; ++i) {
          for (i64 j = 0; j < count; ++j) {
            const float expected = value_of(type, static_cast<u32>(i * row_stride + j * col_stride));
            ASSERT_EQ(std::bit_cast<u32>(tile[static_cast<std::size_t>(i * count + j)]), std::bit_cast<u32>(expected));
          }
        }
      }
    }
  });
}

/// Every float whose upper 20 bits are any and whose lower 12 are next to a midpoint of f16 or bf16 or to none.
TEST(Store, RoundsEveryFloatNearAMidpoint) {
  const auto round_all = [](const cpu::Kernels& kernels) {
    constexpr u32 tails[] = {0, 1, 0x7ff, 0x800, 0x801, 0xfff};
    std::vector<float> values(4096);
    std::vector<u16> got(values.size());
    for (const DType type : {DType::f16, DType::bf16}) {
      for (const u32 tail : tails) {
        for (u32 top = 0; top < 256; ++top) {
          for (u32 i = 0; i < 4096; ++i) values[i] = std::bit_cast<float>(top << 24 | i << 12 | tail);
          kernels.store(values.data(), 4096, 1, 4096, got.data(), type,
                        {.col_stride = 1, .row_end = 1, .col_end = 4096});
          for (u32 i = 0; i < 4096; ++i) {
            ASSERT_EQ(got[i], bits_of(type, values[i]))
                << name_of(type) << " of bits " << std::bit_cast<u32>(values[i]);
          }
        }
      }
    }
  };
  for_each_set(round_all);
#if defined(__x86_64__)
  // The same where the caller flushes subnormals: no conversion depends on it.
  const unsigned int before = _mm_getcsr();
  for_each_set([&](const cpu::Kernels& kernels) {
    _mm_setcsr(before | 0x8040u);
    std::vector<u16> subnormals = {0x0001, 0x83ff, 0x0200, 0x8001};
    std::vector<float> tile(4);
    std::vector<u16> again(4);
    kernels.load(subnormals.data(), DType::f16, {.col_stride = 1, .row_end = 1, .col_end = 4}, 1, 4, 0, tile.data(), 4);
    kernels.store(tile.data(), 4, 1, 4, again.data(), DType::f16, {.col_stride = 1, .row_end = 1, .col_end = 4});
    std::vector<float> tiny = {std::bit_cast<float>(0x00000001u), std::bit_cast<float>(0x807fffffu)};
    std::vector<u16> rounded(2);
    kernels.store(tiny.data(), 2, 1, 2, rounded.data(), DType::bf16, {.col_stride = 1, .row_end = 1, .col_end = 2});
    _mm_setcsr(before);
    EXPECT_EQ(again, subnormals);
    EXPECT_EQ(rounded, (std::vector<u16>{0x0000, 0x8080}));
  });
#endif
}

}  // namespace
}  // namespace kernels_test
