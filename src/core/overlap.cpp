// The overlap rule. Start at overlap(), at the end.
//
// Signs of strides do not matter: a view covers the same bytes walked from its lowest address. Let the elements of one
// view start at p + i*s1 + j*s2 and of the other at q + k*t1 + l*t2 (bytes, strides > 0). They share a byte if and only
// if
//
//   i*s1 + j*s2 - k*t1 - l*t2 = (q - p) + d    for some d with -size_left < d < size_right
//
// has a solution within the extents. With two unknowns that is settled by one greatest common divisor (solvable()).
// Four unknowns become twice two, if the outer axes are paired and the inner ones: i*s1 - k*t1 is a multiple of S =
// gcd(s1, t1), and the rest, j*s2 - l*t2, spans little in matrices: so few multiples of S come into question, and each
// is two equations in two unknowns. For slices of one matrix S is a multiple of its row stride and there are at most
// three.
#include "core/overlap.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace tilewright::core {
namespace {

__extension__ typedef __int128 Wide;  // differences of addresses, and products of two strides

/// An axis walked upwards: stride > 0 in bytes; extent 1 and stride 0 if the axis adds no address.
struct Axis {
  i64 extent = 1, stride = 0;
  Wide span() const { return static_cast<Wide>(extent - 1) * stride; }
  bool trivial() const { return extent == 1; }
};

Axis walked_upwards(i64 extent, i64 stride, i64 size) {
  if (extent == 1 || stride == 0) return {};
  return {extent, (stride < 0 ? -stride : stride) * size};  // byte_range has shown that this fits
}

Wide floor_div(Wide value, Wide divisor) {
  const Wide quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}
Wide ceil_div(Wide value, Wide divisor) { return -floor_div(-value, divisor); }
Wide mod(Wide value, Wide divisor) { return value - floor_div(value, divisor) * divisor; }

Wide gcd(Wide a, Wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

/// The inverse of a modulo b, for coprime a and b.
Wide inverse(Wide a, Wide b) {
  Wide r = a % b, next_r = b, x = 1, next_x = 0;
  while (next_r != 0) {
    const Wide quotient = r / next_r;
    r = std::exchange(next_r, r - quotient * next_r);
    x = std::exchange(next_x, x - quotient * next_x);
  }
  return mod(x, b);
}

struct Interval {
  Wide low, high;  // both included
  bool has(Wide value) const { return low <= value && value <= high; }
};

/// Whether a*x + b*y = c for some x and y in their intervals; a, b >= 0.
bool solvable(Wide a, Interval x, Wide b, Interval y, Wide c) {
  if (a == 0) std::swap(a, b), std::swap(x, y);
  if (a == 0) return c == 0;
  if (b == 0) return c % a == 0 && x.has(c / a);
  const Wide common = gcd(a, b);
  if (c % common != 0) return false;
  a /= common, b /= common, c /= common;
  // y = (c - a*x) / b is an integer for one x in b, and within its interval for x between these two.
  const Wide low = std::max(x.low, ceil_div(c - b * y.high, a));
  const Wide high = std::min(x.high, floor_div(c - b * y.low, a));
  const Wide residue = mod(c, b) * inverse(a, b) % b;
  return low + mod(residue - low, b) <= high;
}

/// The values that (index of left) - (index of right) takes.
Interval index_differences(Axis left, Axis right) {
  return {1 - static_cast<Wide>(right.extent), static_cast<Wide>(left.extent) - 1};
}

/// Whether i*left.stride - k*right.stride = c within the extents.
bool meet(Axis left, Axis right, Wide c) {
  return solvable(left.stride, {0, static_cast<Wide>(left.extent) - 1}, right.stride,
                  {1 - static_cast<Wide>(right.extent), 0}, c);
}

/// One axis of the left view and one of the right, taken together.
struct Pair {
  Axis left, right;
  /// The values of i*left.stride - k*right.stride.
  Interval differences() const { return {-right.span(), left.span()}; }
  bool equal_strides() const { return left.stride == right.stride || left.trivial() || right.trivial(); }
  i64 stride() const { return std::max(left.stride, right.stride); }
};

/// The multiples u * step of the outer pair's common divisor which the inner pair can complement to c.
struct Multiples {
  Wide first, last, step;
  Wide count() const { return std::max<Wide>(0, last - first + 1); }
};
Multiples multiples(const Pair& outer, const Pair& inner, Wide c) {
  const Wide step = gcd(outer.left.stride, outer.right.stride);
  if (step == 0) return {0, 0, 0};
  const Interval out = outer.differences(), in = inner.differences();
  return {ceil_div(std::max(out.low, c - in.high), step), floor_div(std::min(out.high, c - in.low), step), step};
}

}  // namespace

bool overlaps_itself(const MatrixView& view) {
  byte_range(view);
  if (view.rows == 0 || view.cols == 0) return false;
  if ((view.rows > 1 && view.row_stride == 0) || (view.cols > 1 && view.col_stride == 0)) return true;
  const Axis row = walked_upwards(view.rows, view.row_stride, 1);
  const Axis col = walked_upwards(view.cols, view.col_stride, 1);
  if (row.trivial() || col.trivial()) return false;
  // Two elements coincide if di * row.stride = dj * col.stride; the smallest such di and dj are these.
  const i64 common = std::gcd(row.stride, col.stride);
  return col.stride / common < row.extent && row.stride / common < col.extent;
}

bool overlap(const MatrixView& left, const MatrixView& right) {
  const ByteRange left_bytes = byte_range(left), right_bytes = byte_range(right);
  if (left_bytes.begin == left_bytes.end || right_bytes.begin == right_bytes.end) return false;
  const auto address = [](const std::byte* place) { return reinterpret_cast<std::uintptr_t>(place); };
  if (address(left_bytes.end) <= address(right_bytes.begin) || address(right_bytes.end) <= address(left_bytes.begin)) {
    return false;
  }
  const i64 left_size = size_of(left.type), right_size = size_of(right.type);
  const Wide distance = static_cast<Wide>(address(right_bytes.begin)) - static_cast<Wide>(address(left_bytes.begin));
  const Axis left_row = walked_upwards(left.rows, left.row_stride, left_size);
  const Axis left_col = walked_upwards(left.cols, left.col_stride, left_size);
  const Axis right_row = walked_upwards(right.rows, right.row_stride, right_size);
  const Axis right_col = walked_upwards(right.cols, right.col_stride, right_size);

  // Either view may be transposed: rows go with rows or with columns, and either pair may be the outer one.
  const std::array<std::array<Pair, 2>, 4> pairings = {{
      {{{left_row, right_row}, {left_col, right_col}}},
      {{{left_row, right_col}, {left_col, right_row}}},
      {{{left_col, right_col}, {left_row, right_row}}},
      {{{left_col, right_row}, {left_row, right_col}}},
  }};

  // Equal strides: only the differences of indices count, which are two unknowns.
  for (const auto& [outer, inner] : pairings) {
    if (!outer.equal_strides() || !inner.equal_strides()) continue;
    for (Wide c = distance - left_size + 1; c < distance + right_size; ++c) {
      if (solvable(outer.stride(), index_differences(outer.left, outer.right), inner.stride(),
                   index_differences(inner.left, inner.right), c)) {
        return true;
      }
    }
    return false;
  }

  constexpr Wide most =
      4096;  // microseconds, against the milliseconds of a multiplication that would have to be refused
  const auto cost = [&](const std::array<Pair, 2>& pairing) {
    Wide count = 0;
    for (Wide c = distance - left_size + 1; c < distance + right_size; ++c) {
      count += multiples(pairing[0], pairing[1], c).count();
    }
    return count;
  };
  const auto cheapest = std::min_element(pairings.begin(), pairings.end(),
                                         [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  if (cost(*cheapest) > most) return true;
  const auto& [outer, inner] = *cheapest;
  for (Wide c = distance - left_size + 1; c < distance + right_size; ++c) {
    const Multiples candidates = multiples(outer, inner, c);
    for (Wide u = candidates.first; u <= candidates.last; ++u) {
      const Wide part = u * candidates.step;
      if (meet(outer.left, outer.right, part) && meet(inner.left, inner.right, c - part)) return true;
    }
  }
  return false;
}

}  // namespace tilewright::core
