// Tensor maps as a driver is asked for them: that boxes of classes of rows hold what they are to hold and that nothing
// beyond a matrix is inside a map, and whole products through such maps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <tilewright/gemm.hpp>
#include "cuda/tensor_map.hpp"
#include "gemm/cuda_kernel.hpp"
#include "plan/gpu_planner.hpp"
#include "tests/fake_driver/encoded.hpp"

namespace {

using namespace tilewright;
using fake_driver::EncodedMap;
using tile::Classes;

EncodedMap encoded(const cuda::TensorMap& map) {
  EncodedMap its;
  std::memcpy(&its, &map, sizeof(its));
  return its;
}

/// The address of an element of a map of three axes; null outside of the map, where a box has a zero.
const unsigned char* element(const EncodedMap& map, i64 inner, i64 layer, i64 row) {
  const auto inside = [&](int axis, i64 at) { return at >= 0 && at < static_cast<i64>(map.extents[axis]); };
  if (!inside(0, inner) || !inside(1, layer) || !inside(2, row)) return nullptr;
  return map.address + inner * 2 + layer * static_cast<i64>(map.strides[0]) + row * static_cast<i64>(map.strides[1]);
}

class TensorMaps : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuda::unavailable(), "") << "CTest puts the fake driver on the library path: start these tests by it";
  }
};

/// Which elements of the boxes of all tiles are there: those of the rows that a class has, and in front of each what
/// shares a chunk with its first one.
void expect_boxes(const MatrixView& view, const Classes& c, i64 tile) {
  constexpr i64 step = 64;
  cuda::TensorMap maps[cuda::most_class_maps];
  cuda::class_maps(view, c, tile, step, maps);
  const auto* const base = static_cast<const unsigned char*>(view.data);
  std::vector<int> found(static_cast<std::size_t>(view.rows * view.cols), 0);
  i64 wrong = 0, in_front = 0;
  for (u32 number = 0; number < c.tiles(); ++number) {
    const auto [of, own] = c.place(number);
    const EncodedMap map = encoded(maps[c.map(of)]);
    const i64 shift = c.shift(of), foreign = c.foreign(of);
    ASSERT_EQ(map.axes, 3u);
    ASSERT_EQ(map.box[0], step);
    ASSERT_EQ(map.box[1], 1u);
    ASSERT_EQ(map.box[2], tile);
    for (i64 begin = -shift; begin < view.cols; begin += step) {
      const i64 first = begin + foreign;  // the box's coordinate
      wrong += first % 8 != 0;
      for (i64 r = own * tile; r < (own + 1) * tile; ++r) {
        const i64 row = of + r * c.count();
        for (i64 x = first; x < first + step; ++x) {
          const i64 k = x - foreign;
          const unsigned char* const at = element(map, x, c.layer(of), r);
          const bool exists = row < view.rows && k >= -foreign && k < view.cols;
          wrong += (at != nullptr) != exists;
          if (!exists) continue;
          const unsigned char* const right = base + (row * view.row_stride + k) * 2;
          wrong += at != right;
          if (k >= 0) {
            ++found[static_cast<std::size_t>(row * view.cols + k)];
          } else {
            const auto chunk = [](const unsigned char* byte) { return reinterpret_cast<std::uintptr_t>(byte) / 16; };
            wrong += chunk(right) != chunk(base + row * view.row_stride * 2);
            ++in_front;
          }
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0);
  // Whatever boxes ask for: a map of a class has no row that the matrix has not.
  for (u32 of = 0; of < std::min<i64>(c.count(), view.rows); ++of) {
    const EncodedMap map = encoded(maps[c.map(of)]);
    const i64 layers = static_cast<i64>(map.extents[1]), rows = static_cast<i64>(map.extents[2]);
    EXPECT_LT(of % c.chunks + (layers - 1) * c.chunks + (rows - 1) * c.count(), view.rows) << "class " << of;
    EXPECT_EQ(map.address, base + of % c.chunks * view.row_stride * 2 - c.foreign(of) * 2) << "class " << of;
    EXPECT_EQ(static_cast<i64>(map.extents[0]), view.cols + c.foreign(of)) << "class " << of;
  }
  EXPECT_EQ(found, std::vector<int>(found.size(), 1));
  i64 expected = 0;
  for (i64 row = 0; row < view.rows; ++row) expected += c.foreign(static_cast<u32>(row % c.count()));
  EXPECT_EQ(in_front, expected);
}

TEST_F(TensorMaps, OfClassesHoldEachRowOnceAndNothingBeyondTheMatrix) {
  constexpr i64 cols = 21;
  int matrices = 0;
  for (i64 rows = 1; rows <= 70; ++rows) {
    for (const i64 tile : {16, 64}) {
      for (const i64 chunks : {1, 2, 4, 8}) {
        for (const i64 lines : {1, 2, 4, 8}) {
          for (const std::uintptr_t base : {0x10000u, 0x10002u, 0x1007eu}) {
            for (const i64 pitch : {5, 21, 26, 28, 24}) {
              if (chunks * pitch % 8 != 0) continue;
              SCOPED_TRACE(testing::Message() << rows << " rows " << pitch << " apart from " << base << " on, tiles of "
                                              << tile << ", " << chunks << " x " << lines);
              Classes c = tile::classes_of(rows, tile, chunks, lines);
              c.base = static_cast<u32>(base), c.pitch = static_cast<u32>(pitch * 2);
              expect_boxes({reinterpret_cast<const void*>(base), DType::f16, rows, cols, pitch, 1}, c, tile);
              ++matrices;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(matrices, 1000);
}

TEST_F(TensorMaps, OfClassesOfLongRowsHoldThem) {
  for (const i64 cols : {1, 63, 64, 65, 200}) {
    for (const i64 lines : {1, 8}) {
      Classes c = tile::classes_of(131, 16, 8, lines);
      c.base = 0x20006, c.pitch = static_cast<u32>(cols * 2 + 6);
      SCOPED_TRACE(cols);
      expect_boxes({reinterpret_cast<const void*>(std::uintptr_t{0x20006}), DType::bf16, 131, cols, cols + 3, 1}, c,
                   16);
    }
  }
}

TEST_F(TensorMaps, OfAMatrixHaveItsExtentsAndStrides) {
  const MatrixView view{reinterpret_cast<const void*>(std::uintptr_t{0x30000}), DType::f16, 100, 50, 56, 1};
  const EncodedMap by_rows = encoded(cuda::tensor_map(view, 128, 64, 1));
  EXPECT_EQ(by_rows.axes, 2u);
  EXPECT_EQ(by_rows.extents[0], 50u);
  EXPECT_EQ(by_rows.extents[1], 100u);
  EXPECT_EQ(by_rows.strides[0], 112u);
  EXPECT_EQ(by_rows.box[0], 64u);
  EXPECT_EQ(by_rows.box[1], 128u);
  const EncodedMap by_cols = encoded(cuda::tensor_map(view.transposed(), 64, 128, 0));
  EXPECT_EQ(std::memcmp(by_cols.extents, by_rows.extents, sizeof(by_rows.extents)), 0);
  EXPECT_EQ(std::memcmp(by_cols.box, by_rows.box, sizeof(by_rows.box)), 0);
}

/// A matrix of f16 in memory of its own, so many elements behind a line; around it and between its rows are NaNs.
struct Lying {
  i64 rows, cols, row_stride, col_stride;
  std::vector<u16> memory;
  u16* data;

  Lying(i64 r, i64 c, i64 rs, i64 cs, i64 off) : rows(r), cols(c), row_stride(rs), col_stride(cs) {
    constexpr u16 nan = 0x7e00;
    memory.assign(static_cast<std::size_t>((r - 1) * rs + (c - 1) * cs + 1 + off + 128), nan);
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    data = memory.data() + (128 - at % 128) % 128 / 2 + off;
  }
  void fill(i64 seed) {
    for (i64 i = 0; i < rows; ++i) {
      for (i64 j = 0; j < cols; ++j) at(i, j) = to_f16(number(seed, i, j)).bits;
    }
  }
  static float number(i64 seed, i64 i, i64 j) { return static_cast<float>((i * 7 + j * 5 + i * j + seed) % 7 - 3); }
  u16& at(i64 row, i64 col) const { return data[row * row_stride + col * col_stride]; }
  MatrixView view() const { return {data, DType::f16, rows, cols, row_stride, col_stride}; }
};

float half_at(const void* at) {
  u16 bits;
  std::memcpy(&bits, at, sizeof(bits));
  return to_float(f16{bits});
}

/// Does what roles.hpp does for all programs of a plan that takes rows of A or columns of B by classes: boxes through the maps, elements
/// in front cleared, sums that begin early, tiles stored through the class' view of C.
void run(const Problem& problem, const Plan& plan, const gemm_detail::Product& product, std::vector<int>& written,
         const u16* c_data) {
  const bool left = !transposes(plan) && !plan::b_in_classes(problem, plan);
  const auto parts = gemm_detail::cuda_parts(problem, plan, product);
  const Classes& c = parts->classes;
  const TileShape& tile = product.tile;
  const i64 across = left ? cdiv(product.out.cols, tile.n) : cdiv(product.out.rows, tile.m);
  const u32 all = c.tiles();
  const auto programs = static_cast<u32>(all * across);
  ASSERT_EQ(programs, plan::tile_rows(problem, plan) * plan::tile_cols(problem, plan));
  for (u32 number = 0; number < programs; ++number) {
    const auto others = static_cast<u32>(across);
    TileCoord at = tilewright::detail::tile_in<u32>(plan.order, left ? all : others, left ? others : all, number);
    auto& own = left ? at.row : at.col;
    const Classes::Place place = c.place(static_cast<u32>(own));
    own = place.tile;
    const gemm_detail::CudaArgs args = left ? gemm_detail::CudaArgs(parts->args.of_rows(place.of, c.count()))
                                            : gemm_detail::CudaArgs(parts->args.of_cols(place.of, c.count()));
    const EncodedMap map = encoded(parts->maps[c.map(place.of)]);
    const i64 shift = c.shift(place.of), foreign = c.foreign(place.of);
    // By the operand, as if A were in classes: of it, from the box; of the other, where it exists.
    const auto of_a = [&](i64 row, i64 k) {
      if (k < 0 && k >= -foreign) return 0.0f;  // cleared
      const unsigned char* const from = element(map, k + foreign, c.layer(place.of), row);
      return from == nullptr ? 0.0f : half_at(from);
    };
    const auto of_b = [&](i64 k, i64 col) {
      if (k < 0 || k >= args.k) return 0.0f;
      const auto& b = left ? args.b : args.a;
      return half_at(left ? b.ptr + k * b.row_stride + col * b.col_stride
                          : b.ptr + col * b.row_stride + k * b.col_stride);
    };
    for (i64 i = at.row * tile.m; i < std::min((at.row + 1) * tile.m, args.m); ++i) {
      for (i64 j = at.col * tile.n; j < std::min((at.col + 1) * tile.n, args.n); ++j) {
        float sum = 0;
        for (i64 begin = -shift; begin < args.k; begin += tile.k) {
          for (i64 k = begin; k < begin + tile.k; ++k) sum += left ? of_a(i, k) * of_b(k, j) : of_a(j, k) * of_b(k, i);
        }
        f16* const to = args.c.ptr + i * args.c.row_stride + j * args.c.col_stride;
        to->bits = to_f16(sum).bits;
        ++written[static_cast<std::size_t>(reinterpret_cast<const u16*>(to) - c_data)];
      }
    }
  }
}

void expect_product(const char* text, const Lying& a, const Lying& b) {
  const i64 m = a.rows, n = b.cols, depth = a.cols;
  Lying c(m, n, n + 1, 1, 1);
  const MutableMatrixView out{c.data, DType::f16, m, n, c.row_stride, c.col_stride};
  const Problem problem = problem_of(a.view(), b.view(), out);
  const Plan plan = plan::choose_gpu_plan(problem, parse_plan(text), {132, 227 << 10, true}).plan;
  SCOPED_TRACE(testing::Message() << to_string(plan) << " of " << m << "x" << n << "x" << depth);
  ASSERT_GT(plan::classes_of(problem, plan).count(), 1u);
  const gemm_detail::Product product = gemm_detail::product_of(plan, a.view(), b.view(), out);
  std::vector<int> written(c.memory.size(), 0);
  run(problem, plan, product, written, c.data);
  i64 wrong = 0;
  for (i64 i = 0; i < m; ++i) {
    for (i64 j = 0; j < n; ++j) {
      float sum = 0;
      for (i64 k = 0; k < depth; ++k) sum += Lying::number(1, i, k) * Lying::number(2, k, j);
      wrong += !(to_float(f16{c.at(i, j)}) == sum) || written[static_cast<std::size_t>(i * c.row_stride + j)] != 1;
    }
  }
  EXPECT_EQ(wrong, 0) << "elements are wrong, or not written once";
}

TEST_F(TensorMaps, WholeProductsComeOutOfClasses) {
  struct {
    i64 m, n, k;
  } const shapes[] = {{131, 72, 77}, {5, 64, 9}, {70, 264, 130}, {9, 8, 1100}};
  for (const auto& [m, n, k] : shapes) {
    for (const i64 gap : {0, 1, 2, 4}) {
      for (const i64 off : {0, 1, 5}) {
        Lying a(m, k, k + gap, 1, off), b(k, n, n, 1, 0), odd_b(k, n, n + 1, 1, 3), across(k, n, 1, k + 1, 1);
        if (layout_class(a.view(), true).alignment >= 16) continue;
        a.fill(1), b.fill(2), odd_b.fill(2), across.fill(2);
        expect_product("128x192x64 a=tma b=tma", a, b);
        expect_product("64x64x64 a=tma b=tma", a, b);
        expect_product("64x128x64 a=tma b=realign", a, odd_b);
        expect_product("64x64x64 a=tma b=realign order=linear", a, across);
        // The same of B's columns.
        Lying b_across(k, m, 1, k + gap, off), odd_a(n, k, 1, n + 1, 3), a_across(n, k, 1, n, 0);
        b_across.fill(2), odd_a.fill(1), a_across.fill(1);
        expect_product("128x192x64 a=tma b=tma", a_across, b_across);
        expect_product("64x128x64 a=realign b=tma", odd_a, b_across);
      }
    }
  }
}

}  // namespace
