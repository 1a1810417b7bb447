// Classes of rows, and sums that begin early: the arithmetic that host and device share, against enumeration, and the
// same products computed by plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <programs/gemm.hpp>
#include <tilewright/tile/cuda/parts.hpp>

namespace {

using namespace tilewright;
using tile::Classes;

constexpr u32 all_chunks[] = {1, 2, 4, 8}, all_lines[] = {1, 2, 4, 8};

// ---- Classes and their tiles.

TEST(Classes, EveryRowIsInOneTileOfOneClass) {
  for (i64 rows = 0; rows <= 70; ++rows) {
    for (const i64 tile : {16, 64}) {
      for (const u32 chunks : all_chunks) {
        for (const u32 lines : all_lines) {
          SCOPED_TRACE(testing::Message() << rows << " rows in tiles of " << tile << ", " << chunks << " x " << lines);
          const Classes c = tile::classes_of(rows, tile, chunks, lines);
          const i64 count = c.count();
          ASSERT_EQ(count, chunks * lines);
          std::vector<int> taken(static_cast<std::size_t>(rows), 0);
          for (u32 number = 0; number < c.tiles(); ++number) {
            const Classes::Place place = c.place(number);
            ASSERT_LT(place.of, count);
            int own = 0;
            for (i64 i = place.tile * tile; i < (place.tile + 1) * tile; ++i) {
              const i64 row = place.of + i * count;
              if (row >= rows) continue;
              ++taken[static_cast<std::size_t>(row)];
              ++own;
            }
            EXPECT_GT(own, 0) << "tile " << number << " has no row";
          }
          EXPECT_EQ(taken, std::vector<int>(static_cast<std::size_t>(rows), 1));
        }
      }
    }
  }
}

// From phase to phase the shift becomes less by as much as the sums move, until a rest is left.
TEST(Classes, PhasesTakeEveryRowOfKAndTheirShiftsBecomeLess) {
  for (i64 rows = 8; rows <= 70; ++rows) {
    for (u32 base = 0; base < 16; base += 2) {
      for (u32 pitch = 16; pitch < 48; pitch += 2) {
        Classes c = tile::phases_of(rows, pitch);
        c.base = base, c.pitch = pitch;
        SCOPED_TRACE(testing::Message() << rows << " rows, " << pitch << " bytes apart, from " << base << " on");
        std::vector<int> taken(static_cast<std::size_t>(rows), 0);
        u32 shift = 0;
        for (u32 phase = 0; phase < c.chunks; ++phase) {
          const u32 of = c.of_phase(phase);
          ASSERT_LT(of, c.chunks);
          EXPECT_EQ(c.foreign(of), phase == 0 ? 8 - c.phase_columns() + c.rest() : shift - c.phase_columns());
          shift = c.foreign(of);
          for (i64 row = of; row < rows; row += c.chunks) {
            ++taken[static_cast<std::size_t>(row)];
            EXPECT_EQ((base + row * pitch) % 16 / 2, shift) << "row " << row;
          }
          EXPECT_EQ(c.map(of) % 2 == 1, (rows - of + c.chunks - 1) / c.chunks > rows / c.chunks) << "which map";
        }
        EXPECT_EQ(shift, c.rest());
        EXPECT_EQ(taken, std::vector<int>(static_cast<std::size_t>(rows), 1));
      }
    }
  }
}

TEST(Classes, TilesAreNumberedClassByClass) {
  for (const i64 rows : {1, 9, 64, 70, 4095, 8191, 50257}) {
    const Classes c = tile::classes_of(rows, 64, 8, 4);
    Classes::Place before = c.place(0);
    EXPECT_EQ(before.of, 0u);
    EXPECT_EQ(before.tile, 0u);
    for (u32 number = 1; number < c.tiles(); ++number) {
      const Classes::Place place = c.place(number);
      const bool next = place.of == before.of && place.tile == before.tile + 1;
      const bool first = place.of == before.of + 1 && place.tile == 0;
      EXPECT_TRUE(next || first) << "tile " << number << " of " << rows << " rows";
      before = place;
    }
  }
}

/// Calls visit(classes, base, pitch) for bases and pitches under which so many rows are whole chunks.
void for_each_alignment(i64 rows, const auto& visit) {
  for (const u32 chunks : all_chunks) {
    for (const u32 lines : all_lines) {
      for (const u32 base : {0u, 2u, 6u, 14u, 16u, 40u, 126u, 0xfffffffeu}) {
        for (const u32 pitch :
             {2u, 34u, 50u, 66u, 130u, 100u, 44u, 8u, 24u, 56u, 16u, 48u, 128u, 100514u, 0xfffffff2u}) {
          if (pitch * chunks % 16 != 0) continue;
          Classes c = tile::classes_of(rows, 16, chunks, lines);
          c.base = base, c.pitch = pitch;
          visit(c);
        }
      }
    }
  }
}

TEST(Classes, RowsOfOneBeginAlikeAndTheirShiftSaysWhere) {
  constexpr u32 rows = 70;
  int visited = 0;
  for_each_alignment(rows, [&](const Classes& c) {
    SCOPED_TRACE(testing::Message() << "base " << c.base << ", pitch " << c.pitch << ", " << c.chunks << " x "
                                    << c.lines);
    ++visited;
    for (u32 row = 0; row < rows; ++row) {
      const u32 of = row % c.count(), address = c.base + row * c.pitch;
      EXPECT_EQ(c.shift(of) * 2, address % (16 * c.lines)) << "row " << row;
      EXPECT_EQ(c.foreign(of) * 2, address % 16) << "row " << row;
      EXPECT_LE(c.foreign(of), c.shift(of));
      EXPECT_LT(c.shift(of), 64u) << "more than the step of K in which what is foreign is cleared";
    }
  });
  EXPECT_GT(visited, 500);
}

TEST(Classes, RowsThatAreNotWholeChunksApartWouldNotBeginAlike) {
  Classes c = tile::classes_of(70, 16, 4, 1);
  c.pitch = 50;  // 4 rows are 200 bytes, and 8 rows the first multiple of 16
  EXPECT_NE(c.foreign(1), (c.base + 5 * c.pitch) % 16 / 2);
}

TEST(Classes, EachHasALayerOfAMapOfClassesOfItsLength) {
  for (i64 rows = 1; rows <= 70; ++rows) {
    for (const u32 chunks : all_chunks) {
      for (const u32 lines : all_lines) {
        const Classes c = tile::classes_of(rows, 16, chunks, lines);
        std::vector<std::vector<int>> used(cuda::most_class_maps, std::vector<int>(lines, 0));
        for (u32 of = 0; of < c.count(); ++of) {
          ASSERT_LT(c.map(of), static_cast<u32>(cuda::most_class_maps));
          ASSERT_LT(c.layer(of), lines);
          EXPECT_EQ(++used[c.map(of)][c.layer(of)], 1) << "two classes in one place";
          EXPECT_EQ(c.map(of) % 2 == 1, of < rows % c.count()) << "class " << of << " of " << rows << " rows";
          EXPECT_EQ(c.map(of) / 2 + c.layer(of) * chunks, of);
        }
      }
    }
  }
}

// ---- The views of a class.

/// A matrix whose elements are counted when they are written.
struct Counted {
  i64 rows, cols, row_stride, col_stride, origin;
  std::vector<float> values;
  std::vector<int> written;

  Counted(i64 r, i64 c, i64 rs, i64 cs) : rows(r), cols(c), row_stride(rs), col_stride(cs) {
    const i64 low = std::min<i64>(0, (r - 1) * rs) + std::min<i64>(0, (c - 1) * cs);
    origin = -low;
    const auto size = static_cast<std::size_t>((r - 1) * std::abs(rs) + (c - 1) * std::abs(cs) + 1);
    values.assign(size, std::numeric_limits<float>::quiet_NaN());
    written.assign(size, 0);
  }
  std::size_t at(i64 row, i64 col) const {
    return static_cast<std::size_t>(origin + row * row_stride + col * col_stride);
  }
  template <class E>
  tile::Matrix<E> view() {
    return {values.data() + origin, rows, cols, row_stride, col_stride};
  }
};

float number(i64 seed, i64 i, i64 j) { return static_cast<float>((i * 7 + j * 5 + i * j + seed) % 7 - 3); }

/// The product that arguments name, by plain loops; written: how often an element of C's memory was.
void multiply(const programs::GemmArgs<float, float>& x, Counted& c) {
  ASSERT_EQ(x.a.rows, x.m);
  ASSERT_EQ(x.c.rows, x.m);
  ASSERT_EQ(x.b.cols, x.n);
  ASSERT_EQ(x.c.cols, x.n);
  ASSERT_EQ(x.a.cols, x.k);
  ASSERT_EQ(x.b.rows, x.k);
  const auto in = [](const auto& m, i64 row, i64 col) { return m.ptr + row * m.row_stride + col * m.col_stride; };
  for (i64 row = 0; row < x.m; ++row) {
    for (i64 col = 0; col < x.n; ++col) {
      float sum = 0;
      for (i64 k = 0; k < x.k; ++k) sum += *in(x.a, row, k) * *in(x.b, k, col);
      float* const to = in(x.c, row, col);
      *to = sum;
      ++c.written[static_cast<std::size_t>(to - c.values.data())];
    }
  }
}

void expect_whole_product(bool by_rows, i64 m, i64 n, i64 k, i64 step, bool turned) {
  SCOPED_TRACE(testing::Message() << (by_rows ? "rows of " : "columns of ") << m << "x" << n << "x" << k << ", every "
                                  << step << (turned ? ", stored the other way round" : ""));
  // Rows that are longer than what is used, or columns, one of which runs backwards.
  Counted a(m, k, turned ? 1 : k + 3, turned ? m + 1 : 1), b(k, n, turned ? -1 : n + 2, turned ? k : 1),
      c(m, n, turned ? 2 : n + 1, turned ? -2 * m - 1 : 1);
  for (i64 i = 0; i < m; ++i) {
    for (i64 j = 0; j < k; ++j) a.values[a.at(i, j)] = number(1, i, j);
  }
  for (i64 i = 0; i < k; ++i) {
    for (i64 j = 0; j < n; ++j) b.values[b.at(i, j)] = number(2, i, j);
  }
  const programs::GemmArgs<float, float> whole{m, n, k, a.view<const float>(), b.view<const float>(), c.view<float>()};
  for (i64 first = 0; first < std::min(step, by_rows ? m : n); ++first) {
    if (by_rows) {
      multiply(whole.of_rows(first, step), c);
    } else {
      multiply(whole.of_cols(first, step), c);
    }
  }
  for (i64 row = 0; row < m; ++row) {
    for (i64 col = 0; col < n; ++col) {
      float sum = 0;
      for (i64 i = 0; i < k; ++i) sum += number(1, row, i) * number(2, i, col);
      EXPECT_EQ(c.values[c.at(row, col)], sum) << "row " << row << ", column " << col;
      EXPECT_EQ(c.written[c.at(row, col)], 1) << "row " << row << ", column " << col;
    }
  }
  EXPECT_EQ(std::accumulate(c.written.begin(), c.written.end(), i64{0}), m * n) << "something else was written";
}

TEST(ProductByClasses, IsTheWholeProductAndWritesEachElementOnce) {
  for (const i64 extent : {1, 2, 7, 8, 9, 16, 23, 64, 70}) {
    for (const i64 step : {1, 2, 4, 8, 16, 64}) {
      for (const bool turned : {false, true}) {
        expect_whole_product(true, extent, 5, 3, step, turned);
        expect_whole_product(false, 3, extent, 4, step, turned);
      }
    }
  }
}

// ---- Sums that begin early.

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// A matrix by rows of elements of 2 bytes at an address; around its rows, and between them, are NaNs.
struct Lying {
  u32 base;  // bytes, of row 0
  i64 rows, cols, pitch;
  float value(i64 row, i64 col) const { return static_cast<float>(1 + (row * 5 + col * 3) % 11); }

  /// What lies at a byte of memory.
  float at(i64 byte) const {
    const i64 from = byte - base, row = from >= 0 ? from / pitch : -1, col = from >= 0 ? from % pitch / 2 : 0;
    return row >= 0 && row < rows && col < cols ? value(row, col) : nan_value;
  }
};

struct Foreign {
  int nans = 0;        // before clearing
  int nans_after = 0;  // and after
};

/// Clears a row of a first step's block as roles.hpp does: k of [first, shift).
void clear(std::vector<float>& block, u32 shift, u32 foreign) {
  for (u32 k = shift > foreign ? shift - foreign : 0; k < shift; ++k) block[k] = 0;
}

/// The sum of a row of A from `shift` in front of its first element on, in steps, times a column that has zeros there.
/// element(x): of A's row, x counted from where the sum begins. Also counts the ks that took part.
float early_sum(const Lying& a, i64 row, u32 shift, u32 foreign, bool clears, const auto& element, Foreign& found) {
  constexpr i64 step = 64;
  std::vector<int> counted(static_cast<std::size_t>(a.cols), 0);
  const auto column = [](i64 k) { return static_cast<float>(k % 5 - 2); };
  float sum = 0;
  for (i64 begin = -static_cast<i64>(shift); begin < a.cols; begin += step) {
    std::vector<float> block(step);
    for (i64 x = 0; x < step; ++x) block[static_cast<std::size_t>(x)] = element(begin + x);
    if (begin < 0) {
      for (const float value : block) found.nans += std::isnan(value);
      if (clears) clear(block, shift, foreign);
      for (const float value : block) found.nans_after += std::isnan(value);
    }
    for (i64 x = 0; x < step; ++x) {
      const i64 k = begin + x;
      const bool exists = k >= 0 && k < a.cols;
      if (exists) {
        EXPECT_EQ(block[static_cast<std::size_t>(x)], a.value(row, k)) << "k " << k;
        ++counted[static_cast<std::size_t>(k)];
      }
      sum += block[static_cast<std::size_t>(x)] * (exists ? column(k) : 0);
    }
  }
  EXPECT_EQ(counted, std::vector<int>(static_cast<std::size_t>(a.cols), 1)) << "each k once";
  return sum;
}

float plain_sum(const Lying& a, i64 row) {
  float sum = 0;
  for (i64 k = 0; k < a.cols; ++k) sum += a.value(row, k) * static_cast<float>(k % 5 - 2);
  return sum;
}

/// Calls visit(matrix, classes) for matrices whose rows start anywhere.
void for_each_matrix(const auto& visit) {
  for (const u32 lines : all_lines) {
    for (const u32 base : {1024u, 1026u, 1038u, 1148u}) {
      for (const i64 cols : {1, 7, 50, 64, 129}) {
        for (const i64 gap : {0, 2, 16}) {
          const Lying a{base, 70, cols, cols * 2 + gap};
          u32 chunks = 1;
          while (chunks * a.pitch % 16 != 0 || (chunks == 1 && base % 16 != 0)) chunks *= 2;
          Classes c = tile::classes_of(a.rows, 16, chunks, lines);
          c.base = base, c.pitch = static_cast<u32>(a.pitch);
          SCOPED_TRACE(testing::Message() << "base " << base << ", " << cols << " columns, pitch " << a.pitch << ", "
                                          << chunks << " x " << lines);
          visit(a, c);
        }
      }
    }
  }
}

TEST(EarlySum, OfAClassIsTheSameOnceForeignElementsAreCleared) {
  Foreign cleared, left;
  for_each_matrix([&](const Lying& a, const Classes& c) {
    for (i64 row = 0; row < a.rows; ++row) {
      const auto of = static_cast<u32>(row % c.count());
      const u32 shift = c.shift(of), foreign = c.foreign(of);
      // A box: its coordinates count from the chunk that holds the row's first element, and what is in front of that,
      // or behind the row's end, is filled with zeros.
      const i64 origin = a.base + row * a.pitch - foreign * 2;
      ASSERT_EQ(origin % 16, 0);
      const auto element = [&](i64 k) {
        const i64 x = k + foreign;
        return x >= 0 && x < a.cols + foreign ? a.at(origin + x * 2) : 0.0f;
      };
      ASSERT_EQ((static_cast<i64>(shift) - foreign) % 8, 0) << "boxes begin at chunks";
      const int before = left.nans_after;
      EXPECT_EQ(early_sum(a, row, shift, foreign, true, element, cleared), plain_sum(a, row));
      const float unclear = early_sum(a, row, shift, foreign, false, element, left);
      EXPECT_EQ(std::isnan(unclear), left.nans_after > before);
    }
  });
  EXPECT_GT(cleared.nans, 0);
  EXPECT_EQ(cleared.nans_after, 0);
  EXPECT_GT(left.nans_after, 0) << "nothing was there to be cleared";
}

// The other operand's rows along K, as they lie in memory, begin as early as the classes' do, and are cleared by the
// same steps. What shares a chunk with an element behind the row's last one is not copied.
TEST(EarlySum, BesideRowsThatStayRawIsTheSameOnceForeignElementsAreCleared) {
  Foreign cleared, left;
  for_each_matrix([&](const Lying& a, const Classes&) {
    for (const u32 shift : {1u, 3u, 7u, 8u, 13u, 63u}) {
      for (i64 row = 0; row < 9; ++row) {
        const i64 first = a.base + row * a.pitch, end = first + a.cols * 2;
        const auto element = [&](i64 k) {
          const i64 byte = first + k * 2;
          return byte >= first / 16 * 16 && byte < end ? a.at(byte) : 0.0f;
        };
        const int before = left.nans_after;
        EXPECT_EQ(early_sum(a, row, shift, 7, true, element, cleared), plain_sum(a, row));
        const float unclear = early_sum(a, row, shift, 7, false, element, left);
        EXPECT_EQ(std::isnan(unclear), left.nans_after > before);
      }
    }
  });
  EXPECT_GT(cleared.nans, 0);
  EXPECT_EQ(cleared.nans_after, 0);
  EXPECT_GT(left.nans_after, 0) << "nothing was there to be cleared";
}

}  // namespace
