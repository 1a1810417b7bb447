// Checked 64-bit arithmetic at its borders.
#include <gtest/gtest.h>

#include <limits>

#include "core/checked.hpp"

namespace tilewright::core {
namespace {

constexpr i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();

TEST(Checked, Add) {
  EXPECT_EQ(checked_add(most - 1, 1), most);
  EXPECT_EQ(checked_add(most, 1), std::nullopt);
  EXPECT_EQ(checked_add(least, -1), std::nullopt);
  EXPECT_EQ(checked_add(least, most), -1);
}

TEST(Checked, Multiply) {
  EXPECT_EQ(checked_mul(i64{1} << 31, i64{1} << 31), i64{1} << 62);
  EXPECT_EQ(checked_mul(i64{1} << 32, i64{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul(least, -1), std::nullopt);
  EXPECT_EQ(checked_mul(least, 1), least);
}

TEST(Checked, ProductWithAZeroIsZeroWhateverTheOrder) {
  EXPECT_EQ(checked_product(most, most, i64{0}), 0);
  EXPECT_EQ(checked_product(i64{0}, most, most), 0);
  EXPECT_EQ(checked_product(most, i64{2}, i64{1}), std::nullopt);
  EXPECT_EQ(checked_product(i64{-3}, i64{4}, i64{2}), -24);
}

}  // namespace
}  // namespace tilewright::core
