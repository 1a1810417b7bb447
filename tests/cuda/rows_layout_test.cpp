// How a left operand that stays as it lies in memory is in shared memory: no row writes over another, each keeps its
// place in sectors, and threads that read together find their elements in different banks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <tilewright/tile/cuda/layout.hpp>

namespace {

using namespace tilewright;
using cuda::Block;
using cuda::RowsLayout;

template <class B>
class RowsLayoutOf : public testing::Test {};

using Blocks = testing::Types<Block<128, 64, 2, 0>, Block<64, 64, 2, 0>, Block<128, 64, 2, 1>, Block<64, 64, 2, 1>,
                              Block<256, 64, 2, 1>, Block<128, 128, 2, 1>, Block<64, 256, 2, 0>>;
struct Names {
  template <class B>
  static std::string GetName(int) {
    const int outer = B::outer, inner = B::inner;
    return std::to_string(outer) + "_rows_of_" + std::to_string(inner) + (B::axis == 1 ? "_along_k" : "_along_m");
  }
};
TYPED_TEST_SUITE(RowsLayoutOf, Blocks, Names);

/// Calls visit(layout) for rows that begin anywhere in a line, each so many elements behind the one before.
template <class B>
void for_each_layout(const auto& visit) {
  for (u32 first = 0; first < 128; first += 2) {
    for (u32 step = 0; step < 64; ++step) {
      SCOPED_TRACE(testing::Message() << "first " << first << ", " << step << " elements apart");
      visit(RowsLayout<B>{first, step * 2});
    }
  }
}

TYPED_TEST(RowsLayoutOf, RowsStayApartAndInside) {
  using Layout = RowsLayout<TypeParam>;
  for_each_layout<TypeParam>([](const Layout& layout) {
    std::vector<int> owner(static_cast<std::size_t>(Layout::bytes) / 16, -1);  // of each chunk
    bool apart = true, inside = true;
    for (int row = 0; row < TypeParam::outer; ++row) {
      // All chunks that a copy may write, with elements or with zeros, from the one of the row's first element on.
      const auto begin = static_cast<int>(layout.start(row)) / 16;
      const auto last = (static_cast<int>(layout.start(row)) + TypeParam::inner * 2 - 1) / 16;
      EXPECT_LE(last, begin + Layout::chunks - 1) << "row " << row << " has more chunks than are copied";
      for (int chunk = begin; chunk < begin + Layout::chunks; ++chunk) {
        if (chunk < 0 || chunk >= Layout::bytes / 16) {
          inside = false;
          continue;
        }
        int& own = owner[static_cast<std::size_t>(chunk)];
        apart = apart && own == -1;
        own = row;
      }
    }
    EXPECT_TRUE(apart) << "rows overlap";
    EXPECT_TRUE(inside) << "a row ends behind the block";
  });
  EXPECT_LE(Layout::bytes, static_cast<int>(2 * TypeParam::outer * TypeParam::inner * 2));
  EXPECT_EQ(Layout::bytes % cuda::block_alignment, 0);
}

TYPED_TEST(RowsLayoutOf, RowsKeepTheirPlaceInSectors) {
  for_each_layout<TypeParam>([](const RowsLayout<TypeParam>& layout) {
    bool kept = true;
    for (int row = 0; row < TypeParam::outer; ++row) {
      const u32 address = layout.first + static_cast<u32>(row) * layout.step;
      kept = kept && (layout.start(row) & 31) == (address & 31);
    }
    EXPECT_TRUE(kept);
  });
}

TYPED_TEST(RowsLayoutOf, RowsSixteenApartAreAConstantApart) {
  for_each_layout<TypeParam>([](const RowsLayout<TypeParam>& layout) {
    bool constant = true;
    for (int row = 0; row + 16 < TypeParam::outer; ++row)
      constant = constant && layout.start(row + 16) == layout.start(row) + RowsLayout<TypeParam>::sixteen;
    EXPECT_TRUE(constant);
  });
}

// A step of K does not move rows: fragments of the next block are read at the same places.
TYPED_TEST(RowsLayoutOf, ASteppedBlockHasItsRowsInTheSamePlaces) {
  for_each_layout<TypeParam>([](const RowsLayout<TypeParam>& layout) {
    const u32 walked = TypeParam::axis == 1 ? TypeParam::inner * 2 : TypeParam::outer * layout.step;
    const RowsLayout<TypeParam> next{layout.first + walked, layout.step};
    bool same = true;
    for (int row = 0; row < TypeParam::outer; ++row) same = same && next.start(row) == layout.start(row);
    EXPECT_TRUE(same);
  });
}

/// The different words of the busiest bank.
int words_in_a_bank(const std::array<u32, 32>& addresses) {
  std::array<std::set<u32>, 32> banks;
  for (const u32 address : addresses) banks[address / 4 % 32].insert(address / 4);
  std::size_t most = 0;
  for (const auto& words : banks) most = std::max(most, words.size());
  return static_cast<int>(most);
}

template <class B>
void expect_few_conflicts() {
  double sum = 0;
  int reads = 0;
  for (u32 first = 0; first < 128; first += 2) {
    for (u32 step = 1; step < 64; ++step) {
      const RowsLayout<B> layout{first, step * 2};
      for (const int row : {0, 1, 8, 9}) {  // of an atom: rows 2t and 2t + 1, and eight behind them
        std::array<u32, 32> addresses{};
        for (int lane = 0; lane < 32; ++lane)
          addresses[static_cast<std::size_t>(lane)] = layout.start(row + lane % 4 * 2) + static_cast<u32>(lane / 4 * 2);
        const int words = words_in_a_bank(addresses);
        EXPECT_LE(words, 2) << "first " << first << ", " << step << " elements apart, row " << row;
        sum += words;
        ++reads;
      }
    }
  }
  EXPECT_LT(sum / reads, 1.1);
}

TEST(RowsLayout, ReadsOfRowsAlongMHaveFewBankConflicts) {
  expect_few_conflicts<Block<128, 64, 2, 0>>();
  expect_few_conflicts<Block<64, 64, 2, 0>>();
}

// Eight rows of an atom at once, four threads beside each other in each.
TEST(RowsLayout, ReadsOfRowsAlongKHaveFewBankConflicts) {
  for (u32 first = 0; first < 128; first += 2) {
    for (u32 step = 0; step < 64; ++step) {
      const RowsLayout<Block<128, 64, 2, 1>> layout{first, step * 2};
      std::array<u32, 32> addresses{};
      for (int lane = 0; lane < 32; ++lane)
        addresses[static_cast<std::size_t>(lane)] = layout.start(lane / 4) + static_cast<u32>(lane % 4 * 4);
      EXPECT_LE(words_in_a_bank(addresses), step % 4 == 0 ? 2 : 3)
          << "first " << first << ", " << step << " elements apart";
    }
  }
}

}  // namespace
