#include "gemm/rest.hpp"

namespace tilewright::gemm_detail {

Divided divided(const Rest& rest, const ProductViews& whole) {
  const auto& [a, b, c] = whole;
  constexpr Slice all{};
  if (rest.kind == RestKind::rows) {
    const i64 first = a.rows - rest.count;
    const Slice own{0, first, 1}, others{first, a.rows, 1};
    return {{a.slice(own, all), b, c.slice(own, all)}, {a.slice(others, all), b, c.slice(others, all)}};
  }
  if (rest.kind == RestKind::cols) {
    const i64 first = b.cols - rest.count;
    const Slice own{0, first, 1}, others{first, b.cols, 1};
    return {{a, b.slice(all, own), c.slice(all, own)}, {a, b.slice(all, others), c.slice(all, others)}};
  }
  return {whole, {}};
}

}  // namespace tilewright::gemm_detail
