// Explain: what one multiplication does, under one plan, from the grid to the addresses of a single element.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tilewright/plan.hpp>

namespace tilewright {

/// Where a question looks closer. The text answers the question asked; the JSON holds the general facts as well.
struct ExplainFocus {
  std::optional<i64> program;  // a program's rows, columns, K indices, addresses and masks
  std::optional<i64> step;     // one K step of that program, counted from its first
  struct Element {
    i64 row, col;
  };
  std::optional<Element> element;  // who owns C[row, col], and the addresses whose products it sums
  std::optional<i64> cache_bytes;  // size of the idealised cache; the CPU's L2 and L3 if not given
};

/// Strides of the three operands in elements, as the kernel sees them.
struct OperandStrides {
  i64 a_row = 0, a_col = 0, b_row = 0, b_col = 0, c_row = 0, c_col = 0;
};

/// The problem that operands of these strides state, without memory: base addresses count as aligned to 16 bytes.
Problem problem_of(i64 m, i64 n, i64 k, DType input, DType output, const OperandStrides& strides);

/// The facts as text for a person (80 columns, UTF-8, ends in a newline), or as one compact JSON object. Throws Error
/// problem for a focus outside of the problem, a cache size below 1 and a grid of 2^63 programs or more; address_range
/// for an operand whose byte offsets do not fit in 63 bits.
std::string explain_text(const Problem& problem, const OperandStrides& strides, const PlanChoice& choice,
                         const CpuDescription& cpu, const ExplainFocus& focus = {});
std::string explain_json(const Problem& problem, const OperandStrides& strides, const PlanChoice& choice,
                         const CpuDescription& cpu, const ExplainFocus& focus = {});

/// One shape of a distribution.
struct WeightedShape {
  i64 m = 0, n = 0, k = 0;
  double weight = 1;  // how often it occurs, > 0
  std::string name, group;
};

/// Reads a distribution from CSV text: a header line with the columns m, n, k and, optionally, weight, name and group
/// in any order (a leading '#' is allowed; ta, tb, lda, ldb, ldc are accepted and ignored), then one shape a line;
/// empty lines and lines that start with '#' are skipped. Throws Error problem with `source` and the line number.
std::vector<WeightedShape> parse_shapes(std::string_view csv, std::string_view source);

/// Weighs every compiled tile over a distribution of shapes with packed row-major operands: useful ratio, programs,
/// modelled time. Throws Error problem for an empty distribution.
std::string explain_shapes_text(std::span<const WeightedShape> shapes, DType input, const CpuDescription& cpu,
                                i64 threads);
std::string explain_shapes_json(std::span<const WeightedShape> shapes, DType input, const CpuDescription& cpu,
                                i64 threads);

}  // namespace tilewright
