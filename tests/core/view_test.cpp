// Views and matrices: every operation moves the address and the strides as NumPy would, and copies nothing.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <tilewright/matrix.hpp>
#include <tilewright/view.hpp>

#include "tests/core/errors.hpp"
#include "tests/core/sanitizer_options.hpp"

namespace tilewright {
namespace {

constexpr i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();

/// The elements of an f32 view, row by row.
std::vector<float> elements(const MatrixView& view) {
  std::vector<float> result;
  for (i64 i = 0; i < view.rows; ++i) {
    for (i64 j = 0; j < view.cols; ++j) {
      result.push_back(static_cast<const float*>(view.data)[i * view.row_stride + j * view.col_stride]);
    }
  }
  return result;
}
using Floats = std::vector<float>;

class ViewOfSix : public ::testing::Test {
 protected:
  std::array<float, 6> memory_ = {10, 11, 12, 20, 21, 22};
  MatrixView x_ = view_of(memory_.data(), 2, 3, 3);
};

TEST_F(ViewOfSix, TransposeExchangesStridesAndKeepsTheAddress) {
  const MatrixView b = x_.transposed();
  EXPECT_EQ(b.data, memory_.data());
  EXPECT_EQ(b.rows, 3);
  EXPECT_EQ(b.cols, 2);
  EXPECT_EQ(b.row_stride, 1);
  EXPECT_EQ(b.col_stride, 3);
  EXPECT_EQ(elements(b), (Floats{10, 20, 11, 21, 12, 22}));
  // b[1, 0] is the 11 at offset 1; strides of a contiguous 3x2 would read the 12 at offset 2.
  EXPECT_EQ(static_cast<const float*>(b.data)[1 * b.row_stride + 0 * b.col_stride], 11);
}

TEST_F(ViewOfSix, SlicesComposeWithStepsFlipsAndTransposes) {
  EXPECT_EQ(elements(x_.slice({}, {{}, {}, 2})), (Floats{10, 12, 20, 22}));
  EXPECT_EQ(elements(x_.slice({1, {}, {}}, {})), (Floats{20, 21, 22}));
  EXPECT_EQ(elements(x_.flipped_rows()), (Floats{20, 21, 22, 10, 11, 12}));
  EXPECT_EQ(elements(x_.flipped_cols()), (Floats{12, 11, 10, 22, 21, 20}));
  EXPECT_EQ(elements(x_.flipped_cols().slice({}, {1, {}, {}})), (Floats{11, 10, 21, 20}));
  EXPECT_EQ(elements(x_.flipped_rows().flipped_rows()), elements(x_));
  EXPECT_EQ(elements(x_.slice({}, {{}, {}, -2}).transposed().flipped_rows()), (Floats{10, 20, 12, 22}));
  EXPECT_EQ(elements(x_.slice(parse_slices("::-1,1:"))), (Floats{21, 22, 11, 12}));
}

TEST_F(ViewOfSix, SlicesOfAMutableViewAreMutable) {
  MutableMatrixView c = mutable_view_of(memory_.data(), 2, 3, 3);
  const MutableMatrixView part = c.slice(parse_slices("1:,::2")).flipped_cols();
  static_cast<float*>(part.data)[0] = 99;
  EXPECT_EQ(memory_[5], 99);
  static_cast<float*>(c.transposed().flipped_rows().data)[0] = 98;
  EXPECT_EQ(memory_[2], 98);
}

TEST_F(ViewOfSix, BroadcastRepeatsAnAxisOfOne) {
  const MatrixView row = x_.slice({0, 1, {}}, {});
  const MatrixView repeated = row.broadcast_to(3, 3);
  EXPECT_EQ(repeated.row_stride, 0);
  EXPECT_EQ(elements(repeated), (Floats{10, 11, 12, 10, 11, 12, 10, 11, 12}));
  EXPECT_EQ(elements(x_.slice({}, {1, 2, {}}).broadcast_to(2, 2)), (Floats{11, 11, 21, 21}));
  EXPECT_EQ(elements(x_.slice({1, 2, {}}, {1, 2, {}}).broadcast_to(2, 2)), (Floats{21, 21, 21, 21}));
  EXPECT_EQ(row.broadcast_to(0, 3).rows, 0);
  EXPECT_EQ(x_.broadcast_to(2, 3).row_stride, 3);
}

TEST_F(ViewOfSix, BroadcastOfOtherExtentsIsRefused) {
  expect_error(ErrorCode::broadcast, {"2x3", "4x3", "2 rows"}, [&] { x_.broadcast_to(4, 3); });
  expect_error(ErrorCode::broadcast, {"2x3", "2x1", "3 columns"}, [&] { x_.broadcast_to(2, 1); });
  expect_error(ErrorCode::negative_extent, {"2x-1"}, [&] { x_.broadcast_to(2, -1); });
}

TEST_F(ViewOfSix, ByteRangeCoversTheElementsOfAnySign) {
  const auto offsets = [&](const MatrixView& view) {
    const ByteRange range = byte_range(view);
    const auto* start = reinterpret_cast<const std::byte*>(memory_.data());
    return std::pair<i64, i64>{range.begin - start, range.end - start};
  };
  const std::pair<i64, i64> all{0, 24};
  EXPECT_EQ(offsets(x_), all);
  EXPECT_EQ(offsets(x_.flipped_rows()), all);
  EXPECT_EQ(offsets(x_.flipped_rows().flipped_cols()), all);
  EXPECT_EQ(offsets(x_.transposed()), all);
  EXPECT_EQ(offsets(x_.slice(parse_slices(":,1:2"))), (std::pair<i64, i64>{4, 20}));
  EXPECT_EQ(offsets(x_.slice(parse_slices("1:,:")).broadcast_to(1000, 3)), (std::pair<i64, i64>{12, 24}));
  const ByteRange none = byte_range(x_.slice(parse_slices("1:1,:")));
  EXPECT_EQ(none.begin, none.end);
}

TEST(View, NegativeExtentsAreRefused) {
  const float element = 0;
  expect_error(ErrorCode::negative_extent, {"-1x3", "f32"}, [&] { byte_range(view_of(&element, -1, 3, 3)); });
  expect_error(ErrorCode::negative_extent, {"3x-2"}, [&] { view_of(&element, 3, -2, 1).slice({}, {}); });
  expect_error(ErrorCode::negative_extent, {"-5x1"}, [] { Matrix(-5, 1, DType::f32); });
}

TEST(View, OffsetsBeyond63BitsAreRefused) {
  const float element = 0;
  for (const MatrixView& view :
       {view_of(&element, 2, 1, most), view_of(&element, 2, 1, least), view_of(&element, 3, 3, most / 4, most / 4),
        view_of(&element, most, 2, 1, 1), view_of(&element, 1, 2, 0, most / 4 + 1)}) {
    expect_error(ErrorCode::address_range, {"63 bits", "bytes"}, [&] { byte_range(view); });
    expect_error(ErrorCode::address_range, {"63 bits"}, [&] { view.flipped_rows(); });
  }
  // In range as offsets, but not from this address.
  expect_error(ErrorCode::address_range, {"wraps around"}, [&] { byte_range(view_of(&element, 2, 1, least / 4)); });
}

TEST(View, AnAxisOfExtentOneHasNoStride) {
  const float element = 7;
  const MatrixView view = view_of(&element, 1, 1, most, least);
  EXPECT_EQ(byte_range(view).end - byte_range(view).begin, 4);
  EXPECT_EQ(view.flipped_rows().flipped_cols().data, &element);
  EXPECT_EQ(view.slice({0, 9, 5}, {-1, {}, -3}).data, &element);
}

TEST(View, EmptyViewsHaveNoAddressArithmetic) {
  const float element = 7;
  const MatrixView view = view_of(&element, 0, most, most, most);
  EXPECT_EQ(byte_range(view).begin, byte_range(view).end);
  const MatrixView part = view.slice({}, {5, {}, 7}).flipped_cols().flipped_rows();
  EXPECT_EQ(part.rows, 0);
  EXPECT_EQ(part.data, &element);
  EXPECT_EQ(part.transposed().cols, 0);
}

TEST(View, NoMemoryStaysNoMemory) {
  // So that a view of nothing can still be refused where its elements would be used.
  EXPECT_EQ(view_of<float>(nullptr, 4, 4, 4).slice({1, {}, {}}, {2, {}, {}}).data, nullptr);
  const ByteRange none = byte_range(view_of<float>(nullptr, 4, 4, -4));
  EXPECT_EQ(none.begin, none.end);
}

TEST(View, OffsetsPast32BitsAreExact) {
  // No memory is touched: 70000 rows of 70000.
  const auto* base = reinterpret_cast<const f16*>(std::uintptr_t{1} << 40);
  const MatrixView big = view_of(base, 70000, 70000, 70000);
  const MatrixView corner = big.slice({-1, {}, {}}, {-1, {}, {}});
  const auto address = [](const MatrixView& view) { return reinterpret_cast<std::uintptr_t>(view.data); };
  EXPECT_EQ(address(corner) - address(big), std::uintptr_t{2} * (70000ull * 70000 - 1));
  EXPECT_EQ(byte_range(big).end - byte_range(big).begin, 2ll * 70000 * 70000);
}

TEST(View, DescriptionHasExtentsTypeAndStrides) {
  const f16 element{0};
  EXPECT_EQ(to_string(view_of(&element, 130, 65, 65)), "130x65 f16, strides (65, 1)");
  EXPECT_EQ(to_string(view_of<bf16>(nullptr, 0, 1, -3, 0)), "0x1 bf16, strides (-3, 0)");
}

TEST(Matrix, IsContiguousAndAligned) {
  Matrix matrix(3, 5, DType::f16);
  const MutableMatrixView view = matrix.view();
  EXPECT_EQ(to_string(view), "3x5 f16, strides (5, 1)");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data) % 64, 0u);
  for (int i = 0; i < 15; ++i) matrix.elements<f16>()[i] = to_f16(static_cast<float>(i));
  EXPECT_EQ(static_cast<const f16*>(MatrixView(matrix).data)[14], to_f16(14));
}

TEST(Matrix, MayBeEmptyAndIsEmptyAfterAMove) {
  const Matrix none(0, 7, DType::f32);
  EXPECT_EQ(none.cols(), 7);
  EXPECT_EQ(none.view().data, nullptr);
  EXPECT_EQ(Matrix(most, 0, DType::f32).rows(), most);
  Matrix from(2, 2, DType::f32);
  const void* memory = from.view().data;
  Matrix to = std::move(from);
  EXPECT_EQ(MatrixView(to).data, memory);
  EXPECT_EQ(from.rows(), 0);  // NOLINT(bugprone-use-after-move): that this is allowed is what is tested
  EXPECT_EQ(from.view().data, nullptr);
  Matrix other(1, 1, DType::f16);
  other = std::move(to);
  EXPECT_EQ(MatrixView(other).data, memory);
  EXPECT_EQ(to.cols(), 0);  // NOLINT(bugprone-use-after-move)
}

TEST(Matrix, TooLargeIsRefused) {
  expect_error(ErrorCode::too_large, {"4611686018427387904x2", "f16", "2^63"},
               [] { Matrix(i64{1} << 62, 2, DType::f16); });
  expect_error(ErrorCode::too_large, {"9223372036854775806 bytes"}, [] { Matrix((i64{1} << 62) - 1, 1, DType::f16); });
}

}  // namespace
}  // namespace tilewright
