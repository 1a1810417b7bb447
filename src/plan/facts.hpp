// The facts that explain tells, computed once; explain_text.cpp and explain_json.cpp only spell them.
//
// Start at Facts for the whole multiplication, at ProgramFacts and ElementFacts for a closer look. Everything follows
// from the problem, the strides and the plan by counting; only the cache traffic assumes a machine, an idealised one.
#pragma once

#include <optional>
#include <vector>

#include <tilewright/explain.hpp>

#include "plan/number.hpp"
#include "plan/traffic.hpp"

namespace tilewright::plan {

/// Indices first..last of one axis, of which the first `valid` exist.
struct IndexRange {
  i64 first = 0, last = -1, valid = 0;
  i64 last_valid() const { return first + valid - 1; }
};

/// One program: its tile of C, and the K steps that it sums.
struct Program {
  i64 number = 0;
  TileCoord tile{0, 0};
  i64 part = 0;
  IndexRange rows, cols;
  StepRange steps{0, 0};
};

/// The lowest and the highest element offset in a box of indices.
struct OffsetRange {
  i64 low, high;
  friend bool operator==(const OffsetRange&, const OffsetRange&) = default;
};

/// An operand as the kernel addresses it: element (i, j) is at base + i * row_stride + j * col_stride.
struct Operand {
  char name = 'a';
  i64 rows = 0, cols = 0, row_stride = 0, col_stride = 0;
  DType type = DType::f16;
  LayoutClass layout;
  Mover mover = Mover::pack;  // of inputs

  i64 offset(i64 row, i64 col) const { return row * row_stride + col * col_stride; }
};

/// The offsets of rows x cols: of the valid part, and of the whole box as if there were no mask. Nothing if there are
/// no such elements, or, for the box, if its offsets pass 63 bits.
std::optional<OffsetRange> valid_offsets(const Operand& operand, const IndexRange& rows, const IndexRange& cols);
std::optional<OffsetRange> box_offsets(const Operand& operand, const IndexRange& rows, const IndexRange& cols);

/// An operand's farthest elements must have byte offsets in 63 bits; an axis of one index has no stride that matters.
/// Throws Error address_range.
void check_offsets(char name, const MatrixView& view);

/// Problem, strides and plan together: from a program's number to its part of the work, and back.
struct Geometry {
  Problem problem;
  Plan plan;
  Operand a, b, c;
  TileGrid grid{0, 0};
  i64 tiles = 0, programs = 0, steps = 0;

  /// Throws problem and address_range as explain_text does.
  Geometry(const Problem& problem, const OperandStrides& strides, const Plan& plan);

  Program program(i64 number) const;
  IndexRange rows_of(i64 tile_row) const;
  IndexRange cols_of(i64 tile_col) const;
  IndexRange k_of(i64 step) const;
};

/// Tiles of one kind: whole ones, and those cut by the last row, the last column or both.
struct TileKind {
  i64 count = 0, valid_rows = 0, valid_cols = 0;
};

/// An operand with an element whose offset a signed 32-bit integer cannot hold: the farthest one.
struct Wrap {
  char operand;
  i64 row, col, offset;
  i64 wrapped;  // what 32 bits would hold
};

struct TrafficRow {
  const char* cache;  // "L2", "L3" or "given"
  i64 cache_bytes;
  Order order;
  Traffic traffic;
};

struct Facts {
  explicit Facts(const Geometry& of) : geometry(of) {}

  Geometry geometry;
  Count useful_flops, block_flops;
  std::optional<double> useful_ratio;  // nothing where no work is done
  double stage_intensity = 0;          // FLOP per byte
  i64 stage_bytes = 0;                 // of both blocks of one whole K step
  i64 accumulator_bytes = 0;
  Count a_loaded, b_loaded, loaded;  // bytes, by all programs
  Count c_stored, workspace_moved;   // bytes
  std::vector<TileKind> kinds;       // those that occur
  std::vector<TrafficRow> traffic;
  std::vector<Wrap> wraps;
};

Facts facts_of(const Problem& problem, const OperandStrides& strides, const PlanChoice& choice,
               const CpuDescription& cpu, const ExplainFocus& focus);

/// A program with the K steps that were asked for: all of its own, or one.
struct ProgramFacts {
  Program program;
  StepRange steps{0, 0};
};
ProgramFacts program_facts(const Geometry& geometry, const ExplainFocus& focus);

/// An output element: the programs that sum it, one for each part of K, and its place in their tile.
struct ElementFacts {
  i64 row, col, tile_row, tile_col;
  std::vector<Program> programs;  // the first parts and the last one; see Split
};
ElementFacts element_facts(const Geometry& geometry, const ExplainFocus::Element& element);

/// What the figures do not say; part of every explanation.
std::span<const std::string_view> limits_of_figures();

}  // namespace tilewright::plan
