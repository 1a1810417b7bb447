// The shapes that tests run: derived from a plan's own boundaries, where tiled code goes wrong, and taken from real
// models.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace shapes {

using i64 = std::int64_t;

struct Shape {
  i64 m, n, k;
  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

/// Extents around a tile of an axis: one alone, a prime, and one short of, exactly, and one past `blocks` whole tiles.
inline std::array<i64, 5> around(i64 tile, i64 blocks = 1) {
  const i64 extent = tile * blocks;
  return {1, 37, extent - 1, extent, extent + 1};
}

/// Shapes around a tile of bm x bn outputs and `stages` blocks of bk: every pair of extents of two axes comes up (25
/// shapes in place of 125: the third axis is the sum of the other two, modulo five).
inline std::vector<Shape> around_tile(i64 bm, i64 bn, i64 bk, i64 stages = 1) {
  const auto m = around(bm), n = around(bn), k = around(bk, stages);
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) shapes.push_back({m[i], n[j], k[(i + j) % 5]});
  }
  return shapes;
}

/// Multiplications of real models, the long axes whole, the others small enough for an exact reference.
inline std::vector<Shape> of_models() {
  return {
      {1, 50257, 96},    // GPT-2's vocabulary, one token; K cut from 768
      {3, 4097, 1024},   // an extent one past a power of two
      {1, 6144, 4096},   // Llama 3 8B, query-key-value projection, one token
      {16, 512, 14336},  // its down projection, 16 tokens; N cut from 4096
      {128, 197, 768},   // ViT-B/16: 197 = 14 x 14 patches and a class token
      {77, 1024, 77},    // CLIP's text attention over 77 tokens
      {1797, 64, 64},    // the handwritten digits
  };
}

}  // namespace shapes
