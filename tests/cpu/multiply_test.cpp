// Packing and multiplication together, exactly: small integers, whose sums a float holds, against a sum over the
// elements where the definitions of Operand say they are. Every operand, panel and accumulator ends at an unmapped
// page, on either side in turn.
#include <gtest/gtest.h>

#include <bit>

#include "tests/cpu/memory.hpp"

namespace kernels_test {
namespace {

/// An operand of integers from -4 to 4 and its values, 0 where it may not be read.
struct Filled {
  Plane plane;
  Memory memory;
  std::vector<double> values;  // [line][k]

  Filled(const Plane& p, DType type, Edge edge, std::uint64_t seed) : plane(p), memory(p, type, edge) {
    for (int i = 0; i < p.row.extent; ++i) {
      for (int j = 0; j < p.col.extent; ++j) {
        double value = 0;
        if (p.reachable(i, j)) {
          value = static_cast<int>(pick(seed + static_cast<std::uint64_t>(p.offset(i, j)), 9)) - 4;
          write_bits(memory.at(p.offset(i, j)), type, bits_of(type, static_cast<float>(value)));
        }
        values.push_back(value);
      }
    }
  }
  cpu::Operand operand(DType type) const {
    return {
        memory.base(),   type,          plane.row.stride, plane.col.stride, plane.row.offsets(), plane.col.offsets(),
        plane.row.begin, plane.row.end, plane.col.begin,  plane.col.end};
  }
};

/// A sum over k of the values, added to what element (i, j) starts from.
float start_at(int i, int j) { return static_cast<float>((i * 7 + j * 3) % 23 - 11); }
double sum_of(const Filled& a, const Filled& b, int i, int j, bool add) {
  const int k = a.plane.col.extent;
  double sum = add ? start_at(i, j) : 0;
  for (int at = 0; at < k; ++at) {
    sum += a.values[static_cast<std::size_t>(i * k + at)] * b.values[static_cast<std::size_t>(j * k + at)];
  }
  return sum;
}
std::string name_of_product(const Filled& a, const Filled& b, DType type) {
  return std::to_string(a.plane.row.extent) + "x" + std::to_string(b.plane.row.extent) + "x" +
         std::to_string(a.plane.col.extent) + " " + std::string(name_of(type)) + ", A " + a.plane.name + ", B " +
         b.plane.name;
}

/// c = acc + a * b, or a * b, rounded, in each element type: acc stays, and so does what lies between c's rows.
void check_rounded(const cpu::Kernels& kernels, DType type, const Filled& a, const Filled& b, float* b_panel,
                   bool add) {
  const int m = a.plane.row.extent, n = b.plane.row.extent, k = a.plane.col.extent;
  const i64 ld = (n + 15) / 16 * 16;
  for (const DType to : types) {
    const Floats acc(m * ld);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) acc.data()[i * ld + j] = start_at(i, j);
    }
    const Plane place = plane(1, m, n, false);
    const Memory c(place, to, (m + n) % 2 == 0 ? Edge::begin : Edge::end);
    kernels.multiply_direct_a_to(a.operand(type), b.operand(type), b_panel, m, n, k, acc.data(), ld, add,
                                 {c.base(), to, place.row.stride});
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        std::byte* const at = c.at(place.offset(i, j));
        ASSERT_EQ(read_bits(at, to), bits_of(to, static_cast<float>(sum_of(a, b, i, j, add))))
            << "C[" << i << ", " << j << "] of " << name_of_product(a, b, type) << " to " << name_of(to);
        ASSERT_EQ(acc.data()[i * ld + j], start_at(i, j));
        std::memset(at, 0xff, static_cast<std::size_t>(size_of(to)));
      }
    }
    for (const std::byte byte : c.all()) ASSERT_EQ(byte, std::byte{0xff}) << "beside " << name_of_product(a, b, type);
  }
}

/// acc += a * b, or acc = a * b, through the kernels that an instruction set has for the type: packed, and each operand
/// read where it lies if it allows that. Every element of acc is held against the definition; nothing beyond column n
/// is written.
void check_product(const cpu::Kernels& set, DType type, const Filled& a, const Filled& b) {
  const cpu::Kernels& kernels = set.for_operands(type, type);
  const int m = a.plane.row.extent, n = b.plane.row.extent, k = a.plane.col.extent;
  const i64 ld = (n + 15) / 16 * 16 + (n % 3 == 0 ? 16 : 0);
  const cpu::Operand left = a.operand(type), right = b.operand(type);
  const Floats a_panel(kernels.a_panel_floats(m, k)), b_panel(kernels.b_panel_floats(n, k));
  kernels.pack_a(left, m, k, a_panel.data());
  kernels.pack_b(right, n, k, b_panel.data());
  const auto check = [&](const char* way, bool add, auto multiply) {
    const Floats acc(m * ld);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) acc.data()[i * ld + j] = start_at(i, j);
    }
    multiply(acc.data(), add);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        ASSERT_EQ(acc.data()[i * ld + j], sum_of(a, b, i, j, add))
            << "C[" << i << ", " << j << "] of " << name_of_product(a, b, type) << ", " << way
            << (add ? ", added" : "");
      }
      for (i64 j = n; j < ld; ++j) {
        ASSERT_EQ(std::bit_cast<u32>(acc.data()[i * ld + j]), ~0u) << "column " << j << " was written, n = " << n;
      }
    }
  };
  const bool add = (m + n + k) % 2 == 0;
  check("packed", add,
        [&](float* acc, bool adds) { kernels.multiply(a_panel.data(), b_panel.data(), m, n, k, acc, ld, adds); });
  if (k > 0 && left.is_plain(m, k) && left.k_stride == 1) {
    check("a direct", !add, [&](float* acc, bool adds) {
      kernels.multiply_direct_a(left, right, b_panel.data(), m, n, k, acc, ld, adds);
    });
    check_rounded(kernels, type, a, b, b_panel.data(), add);
  }
  if (k > 0 && right.is_plain(n, k) && (right.strip_stride == 1 || right.k_stride == 1)) {
    check("b direct", add,
          [&](float* acc, bool adds) { kernels.multiply_direct_b(a_panel.data(), right, m, n, k, acc, ld, adds); });
  }
}

TEST(Multiply, EveryHeightWithEveryLayout) {
  for_each_set([](const cpu::Kernels& kernels) {
    int turn = 0;
    for (const DType type : types) {
      for (int m = 1; m <= 40; ++m) {
        for (const int n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 65}) {
          for (const int k : {1, 2, 7, 15, 16, 17, 33}) {
            ++turn;  // 14 and 5 have no common factor: every pair of layouts comes up
            const Plane a = plane(turn % plane_kinds, m, k, turn % 7 == 0);
            const Plane b = plane(turn / 5 % plane_kinds, n, k, turn % 11 == 0);
            const Edge edge = turn % 2 == 0 ? Edge::begin : Edge::end;
            check_product(kernels, type, Filled(a, type, edge, 1), Filled(b, type, edge, 99));
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

TEST(Multiply, EveryLayoutAndBoundOnOneBlock) {
  for_each_set([](const cpu::Kernels& kernels) {
    for (const DType type : types) {
      for (int kind = 0; kind < plane_kinds; ++kind) {
        for (const bool inner : {false, true}) {
          for (const Edge edge : {Edge::begin, Edge::end}) {
            const Filled a(plane(kind, 61, 77, inner), type, edge, 1), b(plane(kind, 75, 77, inner), type, edge, 5);
            check_product(kernels, type, a, b);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

TEST(Multiply, BoundsMayBeEmptyOrBeyondTheBlock) {
  for_each_set([](const cpu::Kernels& kernels) {
    for (const DType type : {DType::f16, DType::bf16}) {
      for (int kind : {0, 2, 4}) {
        Plane nothing = plane(kind, 20, 20, false);
        nothing.row.end = 0;
        const Filled b(plane(0, 20, 20, false), type, Edge::end, 3);
        check_product(kernels, type, Filled(nothing, type, Edge::end, 1), b);
        nothing = plane(kind, 20, 20, false);
        nothing.col.begin = 20;
        check_product(kernels, type, Filled(nothing, type, Edge::end, 1), b);
        Filled wide(plane(kind, 20, 20, false), type, Edge::end, 1);
        wide.plane.row.begin = wide.plane.col.begin = -5;  // the block is what counts
        wide.plane.row.end = wide.plane.col.end = 1000;
        check_product(kernels, type, wide, b);
      }
    }
  });
}

TEST(Multiply, NothingToAddLeavesTheAccumulator) {
  for_each_set([](const cpu::Kernels& kernels) {
    for (const DType type : {DType::f16, DType::bf16}) {
      const Filled a(plane(0, 20, 0, false), type, Edge::end, 1), b(plane(0, 20, 0, false), type, Edge::end, 1);
      check_product(kernels, type, a, b);
    }
  });
}

/// Bounds along K that begin and end at every position of a pair and of a vector.
TEST(Multiply, EveryBoundAlongK) {
  for_each_set([](const cpu::Kernels& kernels) {
    constexpr int k = 70;
    for (const int kind : {0, 2, 4, 10}) {
      const Filled b(plane(1, 33, k, false), DType::bf16, Edge::end, 3);
      for (int begin = 0; begin <= k; ++begin) {
        for (const int end : {begin, begin + 1, begin + 2, begin + 31, begin + 32, begin + 33, k - 1, k}) {
          if (end < begin || end > k) continue;
          Plane bounded = plane(kind, 15, k, false);
          bounded.col.begin = begin;
          bounded.col.end = end;
          const Edge edge = begin % 2 == 0 ? Edge::begin : Edge::end;
          check_product(kernels, DType::bf16, Filled(bounded, DType::bf16, edge, 1), b);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

/// Few rows around the heights at which they are multiplied in another way, and pieces of k that are full and not.
TEST(Multiply, FewRowsByManyOfK) {
  for_each_set([](const cpu::Kernels& kernels) {
    for (const DType type : types) {
      for (const int m : {1, 2, 9, 10, 15, 16, 28, 29}) {
        for (const int k : {127, 129, 255, 256, 257, 512}) {
          check_product(kernels, type, Filled(plane(0, m, k, false), type, Edge::end, 1),
                        Filled(plane(2, 49, k, false), type, Edge::end, 5));
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

/// Rows of B that fall on the same sets of a cache, which are read fewer at a time where they lie.
TEST(Multiply, RowsOfBAPowerOfTwoApart) {
  for_each_set([](const cpu::Kernels& kernels) {
    for (const DType type : types) {
      for (const int m : {1, 2, 3, 5, 16, 61}) {
        for (const int k : {1, 7, 8, 9, 15, 16, 31, 40}) {
          Plane b = plane(2, 75, k, false);
          b.col.stride = 1024;
          check_product(kernels, type, Filled(plane(0, m, k, false), type, Edge::end, 1),
                        Filled(b, type, Edge::end, 5));
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

/// Rows (or columns) a page and more apart, each against unmapped memory on both sides: whatever is read beside one is
/// a fault.
TEST(Multiply, ReadsNothingBetweenTheLines) {
  const i64 page = oracle::page_bytes();
  for_each_set([&](const cpu::Kernels& set) {
    for (const DType type : types) {
      const cpu::Kernels& kernels = set.for_operands(type, type);
      const i64 stride = 2 * page / size_of(type);
      for (const bool at_end : {false, true}) {
        for (const bool k_contiguous : {true, false}) {
          for (const int width : {1, 5, 8, 13, 16, 21, 32, 45}) {
            constexpr int lines = 37;
            const oracle::Mapping mapping((2 * lines + 1) * page, PROT_NONE);
            const i64 start = at_end ? page - width * size_of(type) : 0;  // within its page
            for (int i = 0; i < lines; ++i) {
              mapping.protect((2 * i + 1) * page, page, PROT_READ | PROT_WRITE);
              for (int j = 0; j < width; ++j) {
                write_bits(mapping.base() + (2 * i + 1) * page + start + j * size_of(type), type, bits_of(type, 1));
              }
            }
            const int m = k_contiguous ? lines : width, k = k_contiguous ? width : lines;
            const cpu::Operand x = {.base = mapping.base() + page + start,
                                    .type = type,
                                    .strip_stride = k_contiguous ? stride : 1,
                                    .k_stride = k_contiguous ? 1 : stride,
                                    .s_end = m,
                                    .k_end = k};
            const i64 ld = (m + 15) / 16 * 16;
            const Floats a(kernels.a_panel_floats(m, k)), b(kernels.b_panel_floats(m, k)), acc(m * ld);
            std::memset(acc.data(), 0, static_cast<std::size_t>(m * ld * 4));
            kernels.pack_a(x, m, k, a.data());
            kernels.pack_b(x, m, k, b.data());
            kernels.multiply(a.data(), b.data(), m, m, k, acc.data(), ld, true);
            for (int i = 0; i < m * m; ++i) ASSERT_EQ(acc.data()[i / m * ld + i % m], k) << i << " " << width;
          }
        }
      }
    }
  });
}

constexpr float value_in(float x) { return x; }
constexpr float value_in(bf16 x) { return to_float(x); }

/// The product of rows i0 .. i0 + m of a and columns j0 .. j0 + n of b, both with k contiguous, added to `start`: bits.
template <class E>
std::vector<u32> product_bits(const cpu::Kernels& set, const std::vector<E>& a, const std::vector<E>& b, int k, int i0,
                              int m, int j0, int n, float start = 0) {
  const cpu::Kernels& kernels = set.for_operands(dtype_of<E>, dtype_of<E>);
  const i64 ld = (n + 15) / 16 * 16;
  const Floats a_panel(kernels.a_panel_floats(m, k)), b_panel(kernels.b_panel_floats(n, k)), acc(m * ld);
  std::fill_n(acc.data(), m * ld, start);
  const auto operand = [k](const E* base, int lines) {
    return cpu::Operand{
        .base = base, .type = dtype_of<E>, .strip_stride = k, .k_stride = 1, .s_end = lines, .k_end = k};
  };
  kernels.pack_a(operand(a.data() + i0 * k, m), m, k, a_panel.data());
  kernels.pack_b(operand(b.data() + j0 * k, n), n, k, b_panel.data());
  kernels.multiply(a_panel.data(), b_panel.data(), m, n, k, acc.data(), ld, true);
  std::vector<u32> bits;
  for (int i = 0; i < m * n; ++i) bits.push_back(std::bit_cast<u32>(acc.data()[i / n * ld + i % n]));
  return bits;
}

/// Random numbers, where every order of addition gives other bits.
template <class E>
void bits_do_not_depend_on_the_position() {
  constexpr int size = 80, k = 61;
  std::vector<E> a, b;
  for (u32 i = 0; i < size * k; ++i) {
    a.push_back(from_float<E>(static_cast<float>(pick(i, 2000001)) * 1e-6f - 1));
    b.push_back(from_float<E>(static_cast<float>(pick(i + 77777, 2000001)) * 1e-6f - 1));
  }
  std::vector<std::vector<u32>> fused;  // instruction sets with a fused multiply-add agree bit for bit
  for_each_set([&](const cpu::Kernels& kernels) {
    const std::vector<u32> whole = product_bits(kernels, a, b, k, 0, size, 0, size);
    for (int m = 1; m <= 40; ++m) {
      for (const int n : {1, 8, 9, 16, 17, 33}) {
        const int i0 = m * 5 % (size - m), j0 = m * 11 % (size - n);
        const std::vector<u32> part = product_bits(kernels, a, b, k, i0, m, j0, n);
        for (int i = 0; i < m; ++i) {
          for (int j = 0; j < n; ++j) {
            ASSERT_EQ(part[static_cast<std::size_t>(i * n + j)],
                      whole[static_cast<std::size_t>((i0 + i) * size + j0 + j)])
                << m << "x" << n << " at (" << i0 << ", " << j0 << "), element (" << i << ", " << j << ")";
          }
        }
      }
    }
    float plain = 0, once = 0;  // element (0, 0) by the two rules
    for (std::size_t at = 0; at < k; ++at) {
      const float product = value_in(a[at]) * value_in(b[at]);
      plain += product;
      once = std::fma(value_in(a[at]), value_in(b[at]), once);
    }
    EXPECT_EQ(std::bit_cast<float>(whole[0]), kernels.mma == Mma::portable ? plain : once);
    if (kernels.mma != Mma::portable) fused.push_back(whole);
  });
  for (const std::vector<u32>& bits : fused) EXPECT_EQ(bits, fused.front());
}

TEST(Multiply, BitsDoNotDependOnThePosition) {
  bits_do_not_depend_on_the_position<float>();
  bits_do_not_depend_on_the_position<bf16>();
}

template <class E>
void infinities_and_nans_stay_in_their_row_and_column() {
  for_each_set([](const cpu::Kernels& kernels) {
    constexpr int m = 29, n = 45, k = 20;
    std::vector<E> a(m * k, from_float<E>(1)), b(n * k, from_float<E>(1));
    a[5 * k + 19] = from_float<E>(std::numeric_limits<float>::infinity());
    b[33 * k + 7] = from_float<E>(std::numeric_limits<float>::quiet_NaN());
    const std::vector<u32> bits = product_bits(kernels, a, b, k, 0, m, 0, n);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        const float got = std::bit_cast<float>(bits[static_cast<std::size_t>(i * n + j)]);
        if (j == 33) {
          EXPECT_TRUE(std::isnan(got));
        } else {
          EXPECT_EQ(got, i == 5 ? std::numeric_limits<float>::infinity() : static_cast<float>(k)) << i << " " << j;
        }
      }
    }
  });
}

TEST(Multiply, InfinitiesAndNaNsStayInTheirRowAndColumn) {
  infinities_and_nans_stay_in_their_row_and_column<float>();
  infinities_and_nans_stay_in_their_row_and_column<bf16>();
}

/// x, or a zero of its sign if it is subnormal.
float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

/// A product of bf16 by docs/numerics.md: one fused multiply-add after the other, with subnormals flushed or kept.
u32 sum_bits(const bf16* a, const bf16* b, int k, float start, bool flushes) {
  float sum = start;
  for (int at = 0; at < k; ++at) {
    const float x = to_float(a[at]), y = to_float(b[at]);
    sum = flushes ? flushed(std::fma(flushed(x), flushed(y), flushed(sum))) : std::fma(x, y, sum);
  }
  if (flushes && k % 2 == 1) sum += 0.0f;  // the zero behind an odd k, for which a sum of -0 becomes +0
  return std::bit_cast<u32>(sum);
}

/// Numbers of all magnitudes, with many subnormals, products and sums around 2^-126, against a scalar sum in order of
/// k.
TEST(Multiply, Bf16NearZeroIsKeptOrFlushedAsTheInstructionSetSays) {
  constexpr int m = 20, n = 33;
  for_each_set([](const cpu::Kernels& kernels) {
    if (kernels.mma == Mma::portable) return;  // rounds twice a step
    for (const auto& [a_exponent, b_exponent] :
         {std::pair<u32, u32>{0, 120}, {0, 230}, {55, 62}, {62, 62}, {120, 120}}) {
      for (const int k : {1, 2, 3, 16, 45}) {
        std::vector<bf16> a, b;
        const auto number = [&](u32 seed, u32 from) {
          return bf16{
              static_cast<u16>((pick(seed, 2) << 15) | ((from + pick(seed + 1, 8)) << 7) | pick(seed + 2, 128))};
        };
        for (u32 i = 0; i < static_cast<u32>(m * k); ++i) a.push_back(number(3 * i, a_exponent));
        for (u32 i = 0; i < static_cast<u32>(n * k); ++i) b.push_back(number(3 * i + 99999, b_exponent));
        for (const float start : {0.0f, 0x1.8p-127f, -0x1p-126f, 1.0f}) {
          const std::vector<u32> bits = product_bits(kernels, a, b, k, 0, m, 0, n, start);
          for (int at = 0; at < m * n; ++at) {
            const int i = at / n, j = at % n;
            ASSERT_EQ(bits[static_cast<std::size_t>(at)],
                      sum_bits(a.data() + i * k, b.data() + j * k, k, start, kernels.mma == Mma::avx512_bf16))
                << "element (" << i << ", " << j << "), K = " << k << ", exponents from " << a_exponent << " and "
                << b_exponent;
          }
        }
      }
    }
  });
}

/// What a caller meets: a subnormal factor, a product that is too small, and a sum that was subnormal before.
TEST(Multiply, Bf16DotProductsMakeZerosOfSubnormals) {
  for_each_set([](const cpu::Kernels& kernels) {
    const bool flushes = kernels.mma == Mma::avx512_bf16;
    const auto product = [&](float x, float y, float start) {
      return std::bit_cast<float>(product_bits<bf16>(kernels, {to_bf16(x)}, {to_bf16(y)}, 1, 0, 1, 0, 1, start)[0]);
    };
    EXPECT_EQ(product(0x1p-127f, 0x1p100f, 0), flushes ? 0 : 0x1p-27f);
    EXPECT_EQ(product(0x1p-126f, 0x1p100f, 0), 0x1p-26f);
    EXPECT_EQ(product(0x1p-70f, 0x1p-70f, 0), flushes ? 0 : 0x1p-140f);
    EXPECT_EQ(product(0x1p-63f, 0x1p-63f, 0), 0x1p-126f);
    EXPECT_EQ(product(0, 1, 0x1p-130f), flushes ? 0 : 0x1p-130f);
    EXPECT_EQ(product(0x1p-126f, 1, 0x1p-127f), flushes ? 0x1p-126f : 0x1.8p-126f);
  });
}

TEST(Kernels, PanelsGrowWithTheBlock) {  // a panel that is sized for a whole tile serves every part of it
  for_each_set([](const cpu::Kernels& kernels) {
    for (int lines = 0; lines < 100; ++lines) {
      for (int k = 0; k < 40; ++k) {
        for (const auto floats : {kernels.a_panel_floats, kernels.b_panel_floats}) {
          EXPECT_LE(floats(lines, k), floats(lines + 1, k));
          EXPECT_LE(floats(lines, k), floats(lines, k + 1));
          EXPECT_EQ(floats(lines, k) % 16, 0);
        }
      }
    }
  });
}

}  // namespace
}  // namespace kernels_test
