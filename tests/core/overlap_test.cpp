// The overlap rule against the definition: the sets of bytes that two views cover.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/overlap.hpp"
#include "tests/core/errors.hpp"

namespace tilewright::core {
namespace {

constexpr i64 most = std::numeric_limits<i64>::max();

/// Addresses without memory: the rule reads none.
const std::byte* place(i64 offset) { return reinterpret_cast<const std::byte*>((std::intptr_t{1} << 32) + offset); }

MatrixView view_at(i64 byte_offset, DType type, i64 rows, i64 cols, i64 row_stride, i64 col_stride) {
  return {place(byte_offset), type, rows, cols, row_stride, col_stride};
}

/// All bytes of a view's elements, an element's bytes as often as elements hold them.
std::multiset<const std::byte*> bytes_of(const MatrixView& view) {
  std::multiset<const std::byte*> bytes;
  for (i64 i = 0; i < view.rows; ++i) {
    for (i64 j = 0; j < view.cols; ++j) {
      const auto* element =
          static_cast<const std::byte*>(view.data) + (i * view.row_stride + j * view.col_stride) * size_of(view.type);
      for (i64 b = 0; b < size_of(view.type); ++b) bytes.insert(element + b);
    }
  }
  return bytes;
}

bool truly_overlaps_itself(const MatrixView& view) {
  const auto bytes = bytes_of(view);
  return std::set<const std::byte*>(bytes.begin(), bytes.end()).size() != bytes.size();
}

bool truly_overlap(const MatrixView& left, const MatrixView& right) {
  const auto ours = bytes_of(left), theirs = bytes_of(right);
  for (const std::byte* byte : ours) {
    if (theirs.count(byte) != 0) return true;
  }
  return false;
}

std::string both(const MatrixView& left, const MatrixView& right) {
  return to_string(left) + " at " + std::to_string(static_cast<const std::byte*>(left.data) - place(0)) + " and " +
         to_string(right) + " at " + std::to_string(static_cast<const std::byte*>(right.data) - place(0));
}

TEST(OverlapsItself, IsExactForAllSmallViews) {
  for (i64 rows = 0; rows <= 4; ++rows) {
    for (i64 cols = 0; cols <= 4; ++cols) {
      for (i64 row_stride = -9; row_stride <= 9; ++row_stride) {
        for (i64 col_stride = -9; col_stride <= 9; ++col_stride) {
          const MatrixView view = view_at(0, DType::f16, rows, cols, row_stride, col_stride);
          ASSERT_EQ(overlaps_itself(view), truly_overlaps_itself(view)) << to_string(view);
        }
      }
    }
  }
}

TEST(OverlapsItself, IsExactForLargeViewsToo) {
  EXPECT_FALSE(overlaps_itself(view_at(0, DType::f16, 1 << 20, 1 << 20, 1 << 20, 1)));
  EXPECT_TRUE(overlaps_itself(view_at(0, DType::f16, 1 << 20, 1 << 20, (1 << 20) - 1, 1)));
  EXPECT_FALSE(overlaps_itself(view_at(0, DType::f16, 1 << 20, 1 << 20, 1, 1 << 20)));
  EXPECT_TRUE(overlaps_itself(view_at(0, DType::f16, 4096, 4096, 1, 1)));
  EXPECT_TRUE(overlaps_itself(view_at(0, DType::f16, 1 << 20, 3, 0, 1)));
  EXPECT_FALSE(overlaps_itself(view_at(0, DType::f16, 1, 3, 0, 1))) << "an axis of extent 1 has no stride";
  EXPECT_FALSE(overlaps_itself(view_at(0, DType::f16, 0, most, 0, 0))) << "an empty view never overlaps";
  // Rows wider apart than coprime strides can bring together, and then just as wide.
  EXPECT_FALSE(overlaps_itself(view_at(0, DType::f16, 1000, 999, 999, 1000)));
  EXPECT_TRUE(overlaps_itself(view_at(0, DType::f16, 1001, 1000, 999, 1000)));
}

/// A matrix of 12 rows and 10 columns with row padding, and a part of it as random slices make one.
constexpr i64 parent_rows = 12, parent_cols = 10;
MatrixView random_part(std::mt19937& random, i64 ld, DType type) {
  MatrixView view = view_at(0, type, parent_rows, parent_cols, ld, 1);
  const auto pick = [&](int low, int high) {
    return static_cast<i64>(std::uniform_int_distribution<int>(low, high)(random));
  };
  for (int cuts = 0; cuts < 2; ++cuts) {
    const auto axis = [&](i64 extent) {
      i64 step = pick(1, 4);
      if (pick(0, 3) == 0) step = -step;
      const i64 a = pick(0, static_cast<int>(extent)), b = pick(0, static_cast<int>(extent));
      return step > 0 ? Slice{std::min(a, b), std::max(a, b) + 1, step} : Slice{std::max(a, b), {}, step};
    };
    const Slice row = axis(view.rows), col = axis(view.cols);
    view = view.slice(row, col);
    if (pick(0, 2) == 0) view = view.transposed();
  }
  if (view.rows == 1 && pick(0, 1) == 0) view = view.broadcast_to(3, view.cols);
  return view;
}

/// How many random cases: TILEWRIGHT_CASES multiplies it.
int cases(int usual) {
  const char* times = std::getenv("TILEWRIGHT_CASES");
  return usual * (times == nullptr ? 1 : std::max(1, std::atoi(times)));
}

TEST(Overlap, IsExactForAllPartsOfOneMatrix) {
  std::mt19937 random(1);
  int apart_within_range = 0;
  for (int i = 0; i < cases(20000); ++i) {
    const i64 ld = parent_cols + static_cast<i64>(random() % 4);
    const DType type = std::array{DType::f16, DType::f32, DType::f64}[random() % 3];
    const MatrixView left = random_part(random, ld, type), right = random_part(random, ld, type);
    const bool truth = truly_overlap(left, right);
    ASSERT_EQ(overlap(left, right), truth) << both(left, right);
    ASSERT_EQ(overlap(right, left), truth) << both(right, left);
    const ByteRange a = byte_range(left), b = byte_range(right);
    if (!truth && a.begin != a.end && b.begin != b.end && a.begin < b.end && b.begin < a.end) ++apart_within_range;
  }
  EXPECT_GT(apart_within_range, 500) << "the cases that only an exact rule gets right must occur";
}

TEST(Overlap, IsExactForEqualStridesOfAnyKind) {
  std::mt19937 random(2);
  const auto pick = [&](int low, int high) {
    return static_cast<i64>(std::uniform_int_distribution<int>(low, high)(random));
  };
  for (int i = 0; i < cases(20000); ++i) {
    const DType left_type = pick(0, 1) == 0 ? DType::f16 : DType::f32;
    const i64 row_stride = pick(-12, 12), col_stride = pick(-12, 12);
    const MatrixView left = view_at(0, left_type, pick(0, 5), pick(0, 5), row_stride, col_stride);
    MatrixView right = view_at(pick(-60, 60), left_type, pick(0, 5), pick(0, 5), row_stride, col_stride);
    if (pick(0, 1) == 0) right = right.flipped_rows();
    if (pick(0, 1) == 0) right = right.transposed();
    ASSERT_EQ(overlap(left, right), truly_overlap(left, right)) << both(left, right);
  }
}

TEST(Overlap, IsNeverMissedForAnyTwoViews) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) {
    return static_cast<i64>(std::uniform_int_distribution<int>(low, high)(random));
  };
  const std::array types = {DType::f16, DType::bf16, DType::f32, DType::f64};
  for (int i = 0; i < cases(20000); ++i) {
    const auto any = [&] {
      return view_at(pick(-40, 40), types[random() % 4], pick(0, 5), pick(0, 5), pick(-15, 15), pick(-15, 15));
    };
    const MatrixView left = any(), right = any();
    // Of such small views the candidates are few, so the rule is exact for them as well.
    ASSERT_EQ(overlap(left, right), truly_overlap(left, right)) << both(left, right);
  }
}

TEST(Overlap, InterleavedPartsOfALargeMatrixAreApart) {
  const MatrixView matrix = view_at(0, DType::f16, 100001, 65537, 65537, 1);
  const auto part = [&](std::string_view text) { return matrix.slice(parse_slices(text)); };
  EXPECT_FALSE(overlap(part(":,0::2"), part(":,1::2")));
  EXPECT_FALSE(overlap(part(":,0::2"), part("::-1,1::2").transposed()));
  EXPECT_FALSE(overlap(part("0::2,:"), part("1::2,:")));
  EXPECT_FALSE(overlap(part("0::3,:"), part("1::6,::-1")));
  EXPECT_FALSE(overlap(part(":,:30000"), part(":,30000:")));
  EXPECT_FALSE(overlap(part("5:6,::2"), part(":,1::2")));
  EXPECT_FALSE(overlap(part(":,7:8"), part("::3,8:")));
  EXPECT_TRUE(overlap(part(":,0::2"), part(":,0::3")));
  EXPECT_TRUE(overlap(part("1:,:"), part(":-1,:")));  // shifted by one row
  EXPECT_TRUE(overlap(part("99999:,65535:"), part("::99999,::65535")));
  EXPECT_TRUE(overlap(matrix, matrix.transposed()));
}

TEST(Overlap, ElementsOfOtherSizesShareSingleBytes) {
  // The odd bytes of f16 elements at even addresses, and an f32 that begins on the last byte.
  EXPECT_TRUE(overlap(view_at(0, DType::f16, 3, 3, 3, 1), view_at(17, DType::f32, 1, 1, 1, 1)));
  EXPECT_FALSE(overlap(view_at(0, DType::f16, 3, 3, 3, 1), view_at(18, DType::f32, 1, 1, 1, 1)));
  // An f32 fits between two f16 columns that are six bytes apart.
  EXPECT_FALSE(overlap(view_at(0, DType::f16, 8, 1, 3, 1), view_at(2, DType::f32, 1, 1, 1, 1)));
  EXPECT_TRUE(overlap(view_at(0, DType::f16, 8, 1, 3, 1), view_at(3, DType::f32, 1, 1, 1, 1)));
}

TEST(Overlap, EmptyAndDistantViewsNever) {
  const MatrixView full = view_at(0, DType::f32, 4, 4, 4, 1);
  EXPECT_FALSE(overlap(full, full.slice({2, 2, {}}, {})));
  EXPECT_FALSE(overlap(full.slice({}, {2, 2, {}}), full));
  EXPECT_FALSE(overlap(full, view_at(64, DType::f32, 4, 4, 4, 1)));
  EXPECT_TRUE(overlap(full, view_at(63, DType::f32, 4, 4, 4, 1)));
}

TEST(Overlap, EqualStridesAreDecidedForAnyExtents) {
  // Far too many candidates for anything but the rule for equal strides. Both strides are multiples of 4 bytes.
  const auto lattice = [](i64 byte_offset) { return view_at(byte_offset, DType::f16, 1 << 20, 1 << 20, 6, 10); };
  EXPECT_FALSE(overlap(lattice(0), lattice(2)));
  EXPECT_FALSE(overlap(lattice(0), lattice(-2).transposed().flipped_cols().flipped_rows()));
  EXPECT_TRUE(overlap(lattice(0), lattice(1)));
  EXPECT_TRUE(overlap(lattice(0), lattice(4)));
}

TEST(Overlap, IsConservativeWhereDecidingWouldTakeLong) {
  // Unrelated strides laid over each other. All are even and the bases are one element apart, so nothing is shared, but
  // there is no small set of candidates to show it by: refused, and at once.
  const MatrixView left = view_at(0, DType::f16, 1 << 20, 1 << 20, 6, (1 << 22) + 14);
  const MatrixView right = view_at(2, DType::f16, 1 << 20, 1 << 20, 10, (1 << 22) + 2);
  EXPECT_TRUE(overlap(left, right));
}

TEST(Overlap, RefusesWhatHasNoByteRange) {
  const MatrixView good = view_at(0, DType::f16, 2, 2, 2, 1);
  expect_error(ErrorCode::negative_extent, {"-1x2"}, [&] { overlap(good, view_at(0, DType::f16, -1, 2, 2, 1)); });
  expect_error(ErrorCode::address_range, {"63 bits"}, [&] { overlaps_itself(view_at(0, DType::f16, 2, 2, most, 1)); });
}

}  // namespace
}  // namespace tilewright::core
