// That the derived shapes cover what they promise.
#include "tests/shapes/shapes.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace {

TEST(Shapes, around_a_tile_every_pair_of_extents_comes_up) {
  std::set<std::pair<std::int64_t, std::int64_t>> mn, mk, nk;
  for (const auto& shape : shapes::around_tile(64, 32, 16, 2)) {
    mn.insert({shape.m, shape.n});
    mk.insert({shape.m, shape.k});
    nk.insert({shape.n, shape.k});
  }
  EXPECT_EQ(mn.size(), 25u);
  EXPECT_EQ(mk.size(), 25u);
  EXPECT_EQ(nk.size(), 25u);
  for (const std::int64_t k : {1, 37, 31, 32, 33}) EXPECT_TRUE(mk.count({65, k})) << k;
}

}  // namespace
