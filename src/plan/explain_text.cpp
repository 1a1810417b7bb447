// explain as text: a page of 80 columns that a newcomer can read from top to bottom.
//
// Every figure stands in a table of four columns: name, value, how it was obtained (counted or modelled; nothing here
// is measured), and the boundary it refers to. Start at explain_text, at the end.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "plan/facts.hpp"
#include "plan/picture.hpp"

namespace tilewright {
namespace plan {
namespace {

constexpr std::size_t name_columns = 16, value_columns = 15, kind_columns = 9;
constexpr std::size_t note_column = 2 + name_columns + value_columns + 2 + kind_columns;

std::string heading(std::string_view title) { return fmt::format("\n{}\n", wrapped(title, 2)); }

std::string figure(std::string_view name, std::string_view value, std::string_view kind, std::string_view note) {
  std::string line = fmt::format("  {:<{}}{:>{}}  {}", name, name_columns, value, value_columns, kind);
  // A value that is too long for its column pushes the note down.
  line +=
      line.size() < note_column ? std::string(note_column - line.size(), ' ') : '\n' + std::string(note_column, ' ');
  return line + wrapped(note, note_column) + '\n';
}

/// Three entries in columns, or, where they are too long for a line, below each other.
std::string three_columns(const std::string& first, const std::string& second, const std::string& third) {
  constexpr std::size_t indent = 4, first_columns = 33, second_columns = 22;
  const bool fits = first.size() < first_columns && second.size() < second_columns &&
                    indent + first_columns + second_columns + third.size() <= 80;
  if (fits)
    return fmt::format("{:{}}{:<{}}{:<{}}{}\n", "", indent, first, first_columns, second, second_columns, third);
  return fmt::format("{0:{1}}{2}\n{0:{3}}{4}\n{0:{3}}{5}\n", "", indent, first, indent + 3, second, third);
}

std::string paragraph(std::string_view text, std::size_t indent = 2) {
  return fmt::format("{:{}}{}\n", "", indent, wrapped(text, indent));
}

std::string plural(i64 count, std::string_view thing) {
  return fmt::format("{} {}{}", with_separators(count), thing, count == 1 ? "" : "s");
}

std::string text_of(const Order& order) {
  return order.kind == OrderKind::linear ? "linear" : fmt::format("grouped({})", order.group);
}

std::string text_of(const IndexRange& range) { return fmt::format("{}..{}", range.first, range.last); }

/// "rm*65", "rm*(-65)".
std::string times(std::string_view index, i64 stride) {
  return stride < 0 ? fmt::format("{}*({})", index, stride) : fmt::format("{}*{}", index, stride);
}

std::string address(char operand, i64 offset) {
  return offset < 0 ? fmt::format("{} - {}", operand, -offset) : fmt::format("{} + {}", operand, offset);
}

char upper(char operand) { return static_cast<char>(operand - 'a' + 'A'); }

std::string expression(const Operand& operand, std::string_view row, std::string_view col) {
  return fmt::format("{}[{}, {}] = {} + {} + {}", upper(operand.name), row, col, operand.name,
                     times(row, operand.row_stride), times(col, operand.col_stride));
}

std::string text_of(const std::optional<OffsetRange>& range) {
  return range ? fmt::format("{}..{}", range->low, range->high) : "none";
}

std::string header(const Facts& facts, const PlanChoice& choice) {
  const Problem& problem = facts.geometry.problem;
  std::string text =
      wrapped(fmt::format("C ({}x{}, {}) = A ({}x{}) * B ({}x{}), inputs {}, sums in f32", problem.m, problem.n,
                          name_of(problem.output), problem.m, problem.k, problem.k, problem.n, name_of(problem.input)),
              2);
  text += '\n';
  text += fmt::format("plan  {}\n", wrapped(to_string(choice.plan), 6));
  if (!choice.reason.empty()) text += fmt::format("why   {}\n", wrapped(choice.reason, 6));
  return text;
}

std::string order_sentence(const Geometry& geometry) {
  const Order& order = geometry.plan.order;
  if (order.kind == OrderKind::linear) return "Order linear: programs are numbered row by row over the grid.";
  return fmt::format("Order grouped({0}): {0} rows of tiles are numbered column by column, then the next {0} rows.",
                     order.group);
}

std::string grid_section(const Facts& facts) {
  const Geometry& geometry = facts.geometry;
  const TileShape& tile = geometry.plan.tile;
  std::string text = heading("GRID: which program owns which outputs");
  text += paragraph(fmt::format(
      "{} x {} tiles of {}x{} outputs; {}; each tile is owned by one program{}, so no two programs write one output.",
      with_separators(geometry.grid.rows), with_separators(geometry.grid.cols), tile.m, tile.n,
      plural(geometry.programs, "program"), geometry.plan.split.kind == SplitKind::none ? "" : " for each part of K"));
  if (geometry.tiles == 0) return text + paragraph("C has no elements: there is nothing to do.");
  text += draw_grid(geometry);
  const bool cut = geometry.problem.m % tile.m != 0 || geometry.problem.n % tile.n != 0;
  if (cut) text += paragraph("░ is tile beyond the matrix: not read (zeros instead), not stored.", 11);
  text += paragraph(order_sentence(geometry));
  text += '\n';
  std::size_t widest = 12;
  for (const TileKind& kind : facts.kinds) widest = std::max(widest, plural(kind.count, "tile").size());
  for (const TileKind& kind : facts.kinds) {
    const bool whole = kind.valid_rows == tile.m && kind.valid_cols == tile.n;
    text += fmt::format("  {:>{}} with {}x{} = {} valid outputs{}\n", plural(kind.count, "tile"), widest,
                        kind.valid_rows, kind.valid_cols, with_separators(kind.valid_rows * kind.valid_cols),
                        whole ? "" : fmt::format(" of {}", with_separators(tile.m * tile.n)));
  }
  return text + '\n' + list_programs(geometry);
}

std::string k_section(const Facts& facts) {
  const Geometry& geometry = facts.geometry;
  const i64 k = geometry.problem.k, bk = geometry.plan.tile.k;
  std::string text = heading("K: what a program sums");
  if (geometry.steps == 0) return text + paragraph("K = 0: no products; every output is zero.");
  const IndexRange last = geometry.k_of(geometry.steps - 1);
  text += paragraph(fmt::format("{} of {} indices. The last one covers k = {}, of which {} of {} {} valid{}.",
                                plural(geometry.steps, "step"), bk, text_of(last), last.valid, bk,
                                last.valid == 1 ? "is" : "are",
                                k % bk == 0 ? "" : ": the others are zeros in both operands and add nothing"));
  if (geometry.plan.split.kind == SplitKind::split_k) {
    const i64 parts = geometry.plan.split.parts;
    text += paragraph(fmt::format(
        "Split into {} of {} at most. Program p works on tile p % {} of part p / {}; the parts are FP32 sums in a "
        "workspace of {} bytes and are added in order, part 0 first.",
        plural(parts, "part"), plural(cdiv(geometry.steps, parts), "step"), geometry.tiles, geometry.tiles,
        with_separators(product({parts, geometry.problem.m, geometry.problem.n, 4}))));
  }
  return text;
}

std::string work_section(const Facts& facts) {
  const Geometry& geometry = facts.geometry;
  const TileShape& tile = geometry.plan.tile;
  std::string text = heading("WORK");
  text += figure("useful", with_separators(facts.useful_flops) + " FLOP", "counted", "2*M*N*K");
  text += figure("block level", with_separators(facts.block_flops) + " FLOP", "counted",
                 fmt::format("{} x {} x 2*{}*{}*{}", plural(geometry.tiles, "tile"), plural(geometry.steps, "step"),
                             tile.m, tile.n, tile.k));
  text += figure("useful ratio", facts.useful_ratio ? fmt::format("{:.2f} %", 100 * *facts.useful_ratio) : "-",
                 "counted", "useful / block level; whole tiles, zeros included. It does not predict time");
  return text;
}

std::string data_section(const Facts& facts) {
  const Geometry& geometry = facts.geometry;
  const TileShape& tile = geometry.plan.tile;
  const double bytes = static_cast<double>(facts.accumulator_bytes);
  std::string text = heading("DATA");
  text += figure("one K step", with_separators(facts.stage_bytes) + " B", "counted",
                 fmt::format("a program's loads: {}x{} of A and {}x{} of B, {}", tile.m, tile.k, tile.k, tile.n,
                             name_of(geometry.problem.input)));
  text += figure("stage intensity", fmt::format("{:.2f} FLOP/B", facts.stage_intensity), "counted",
                 "a program's loads of one whole K step; the same for every BK");
  text += figure("accumulator",
                 bytes < 1024 ? bytes_text(bytes) : fmt::format("{} B", with_separators(facts.accumulator_bytes)),
                 "counted", fmt::format("{}x{} FP32 sums of one program ({})", tile.m, tile.n, bytes_text(bytes)));
  text += figure(
      "A loaded", with_separators(facts.a_loaded) + " B", "counted",
      fmt::format("all programs' loads: every element {}, once a column of tiles", plural(geometry.grid.cols, "time")));
  text += figure(
      "B loaded", with_separators(facts.b_loaded) + " B", "counted",
      fmt::format("all programs' loads: every element {}, once a row of tiles", plural(geometry.grid.rows, "time")));
  text +=
      figure("C stored", with_separators(facts.c_stored) + " B", "counted", "all programs' stores: every element once");
  if (geometry.plan.split.kind == SplitKind::split_k) {
    text +=
        figure("workspace", with_separators(facts.workspace_moved) + " B", "counted", "partial sums, written and read");
  }
  return text;
}

std::string cache_section(const Facts& facts) {
  std::string text = heading("CACHE: what the order of programs is worth");
  text += paragraph(
      "Bytes of A and B drawn into an idealised cache: fully associative, least recently used out first, one operand "
      "block "
      "of one K step as a unit, programs one after the other.");
  for (const TrafficRow& row : facts.traffic) {
    const double moved = row.traffic.total(), loads = facts.loaded.value;
    const std::string name = row.cache == std::string_view("given") ? "" : fmt::format(" ({})", row.cache);
    text += figure(
        text_of(row.order),
        fmt::format("{} B", moved < 0x1p63 ? with_separators(static_cast<i64>(moved)) : fmt::format("{:.2e}", moved)),
        "modelled",
        fmt::format("idealised LRU of {}{}: {}{}", bytes_text(static_cast<double>(row.cache_bytes)), name,
                    loads > 0 ? fmt::format("{:.1f}% of all loads", 100 * moved / loads) : "no loads",
                    row.traffic.simulated ? "" : "; by reuse distance, as there are too many accesses to simulate"));
  }
  return text;
}

std::string unit_sentence(const Operand& operand) {
  const UnitAxis rows_axis = operand.name == 'a' ? UnitAxis::mn : UnitAxis::k;
  const i64 alignment = operand.layout.alignment;
  switch (operand.layout.unit) {
    case UnitAxis::none:
      return fmt::format("no axis of unit stride{}; elements aligned to {} B",
                         operand.layout.every_second == UnitAxis::none ? "" : ", one of stride 2", alignment);
    case UnitAxis::both:
      return fmt::format("a single row or column: both axes count as unit stride, aligned to {} B", alignment);
    case UnitAxis::k:
    case UnitAxis::mn:
      break;
  }
  const bool columns = operand.layout.unit == rows_axis;
  return fmt::format("{} of unit stride, their starts aligned to {} B", columns ? "columns" : "rows", alignment);
}

std::string layout_section(const Facts& facts) {
  const Geometry& geometry = facts.geometry;
  std::string text = heading("LAYOUT: how the operands lie in memory (offsets in elements)");
  for (const Operand* operand : {&geometry.a, &geometry.b, &geometry.c}) {
    const IndexRange rows{0, operand->rows - 1, operand->rows}, cols{0, operand->cols - 1, operand->cols};
    text += fmt::format(
        "  {}  {}\n", upper(operand->name),
        wrapped(fmt::format("{}x{}, strides ({}, {}), offsets {}", operand->rows, operand->cols, operand->row_stride,
                            operand->col_stride, text_of(valid_offsets(*operand, rows, cols))),
                5));
    const std::string mover = operand->name == 'c' ? "" : "; moved by " + to_string(operand->mover);
    text += paragraph(unit_sentence(*operand) + mover, 5);
  }
  for (const Wrap& wrap : facts.wraps) {
    text += paragraph(fmt::format(
        "WARNING: 32-bit offsets would wrap. {}[{}, {}] is at offset {}, which is {} in 32 bits; no mask on rows or "
        "columns notices. Tilewright computes offsets in 64 bits; code of your own must, from the first "
        "multiplication.",
        upper(wrap.operand), wrap.row, wrap.col, wrap.offset, wrap.wrapped));
  }
  return text;
}

std::string candidates_section(const PlanChoice& choice) {
  if (choice.candidates.empty()) return {};
  constexpr std::size_t most_listed = 5;
  const auto first_rejected =
      std::ranges::find_if(choice.candidates, [](const Candidate& c) { return !c.rejected.empty(); });
  const auto ranked = static_cast<std::size_t>(first_rejected - choice.candidates.begin());
  const std::size_t rejected = choice.candidates.size() - ranked;
  std::string text = heading("CHOICE: the planner's candidates (modelled time, not measured)");
  for (std::size_t i = 0; i < std::min(ranked, most_listed); ++i) {
    const Candidate& candidate = choice.candidates[i];
    const Plan& plan = candidate.plan;
    text += fmt::format("  {:>10}  {}x{}x{} order={} split={} b={}\n", time_text(candidate.microseconds), plan.tile.m,
                        plan.tile.n, plan.tile.k, text_of(plan.order), to_string(plan.split), to_string(plan.b));
  }
  if (ranked > most_listed) text += fmt::format("  {:>10}  and {} more\n", "...", ranked - most_listed);
  for (std::size_t i = 0; i < std::min(rejected, most_listed); ++i) {
    const Candidate& candidate = choice.candidates[ranked + i];
    text += fmt::format("  {:>10}  {}\n", "rejected",
                        wrapped(fmt::format("{}x{}x{}: {}", candidate.plan.tile.m, candidate.plan.tile.n,
                                            candidate.plan.tile.k, candidate.rejected),
                                14));
  }
  if (rejected > most_listed) text += fmt::format("  {:>10}  and {} more\n", "...", rejected - most_listed);
  return text;
}

std::string limits_section() {
  std::string text = heading("WHAT THESE FIGURES ARE NOT");
  for (const std::string_view limit : limits_of_figures()) text += fmt::format("  - {}\n", wrapped(limit, 4));
  return text;
}

/// One axis of a program: "rm = 128..191   valid while rm < 130: 2 of 64".
std::string axis_line(std::string_view name, const IndexRange& range, i64 extent) {
  return paragraph(fmt::format("{} = {:<22} mask {} < {}: {} of {} valid", name, text_of(range), name, extent,
                               range.valid, range.last - range.first + 1));
}

/// "A[rm, rk] = a + rm*65 + rk*1     if rm < 130 && rk < 65", the condition on a line of its own where that is too
/// long.
std::string address_line(const std::string& address, const std::string& condition) {
  const std::string line = fmt::format("    {:<44} if {}", address, condition);
  return line.size() <= 80 ? line + '\n' : fmt::format("    {}\n      if {}\n", address, condition);
}

std::string block_lines(const Operand& operand, std::string_view row_name, std::string_view col_name,
                        const IndexRange& rows, const IndexRange& cols) {
  const auto box = box_offsets(operand, rows, cols);
  return three_columns(
      fmt::format("{}  [{} {}, {} {}]", upper(operand.name), row_name, text_of(rows), col_name, text_of(cols)),
      text_of(valid_offsets(operand, rows, cols)), box ? text_of(box) : "beyond 63 bits");
}

std::string program_section(const Geometry& geometry, const ExplainFocus& focus) {
  const auto [program, steps] = program_facts(geometry, focus);
  const Problem& problem = geometry.problem;
  std::string text =
      heading(fmt::format("PROGRAM {} of 0..{}: tile ({}, {}) of the {}x{} grid", program.number, geometry.programs - 1,
                          program.tile.row, program.tile.col, geometry.grid.rows, geometry.grid.cols));
  if (geometry.plan.split.kind == SplitKind::split_k) {
    text += paragraph(fmt::format(
        "It sums part {} of {} of K and stores FP32 sums in the workspace; C is written when all parts are added.",
        program.part, geometry.plan.split.parts));
  }
  text += axis_line("rm", program.rows, problem.m);
  text += axis_line("rn", program.cols, problem.n);
  const i64 own_steps = program.steps.end - program.steps.begin;
  if (own_steps == 0) {
    text += paragraph("rk: no K steps; its sums are zero.");
  } else if (focus.step) {
    text += axis_line("rk", geometry.k_of(steps.begin), problem.k);
  } else {
    const IndexRange first = geometry.k_of(program.steps.begin), last = geometry.k_of(program.steps.end - 1);
    text += paragraph(fmt::format("rk = {}..{} in {}, mask rk < {}: {} of {} valid in the last", first.first, last.last,
                                  plural(own_steps, "step"), problem.k, last.valid, geometry.plan.tile.k));
  }
  text += fmt::format("  {} of {} outputs are valid\n\n", with_separators(program.rows.valid * program.cols.valid),
                      with_separators(geometry.plan.tile.m * geometry.plan.tile.n));

  text += "  Addresses, in elements from each operand's base:\n";
  const auto mask = [](std::string_view first, i64 below, std::string_view second, i64 second_below) {
    return fmt::format("{} < {} && {} < {}", first, below, second, second_below);
  };
  text += address_line(expression(geometry.a, "rm", "rk"), mask("rm", problem.m, "rk", problem.k));
  text += address_line(expression(geometry.b, "rk", "rn"), mask("rk", problem.k, "rn", problem.n));
  text += address_line(expression(geometry.c, "rm", "rn"), mask("rm", problem.m, "rn", problem.n));
  text += paragraph("Where the mask of a load is false nothing is read and the block holds 0.", 4);

  text += '\n' + three_columns("Offsets, lowest..highest", "under the mask", "box without a mask");
  constexpr i64 most_listed = 6, listed_head = 3;
  const bool all = steps.end - steps.begin <= most_listed;
  for (i64 step = steps.begin; step < steps.end; ++step) {
    if (!all && step == steps.begin + listed_head) {
      text += "  ...\n";
      step = steps.end - 1;
    }
    const IndexRange k = geometry.k_of(step);
    text += fmt::format("  K step {}{}\n", step - program.steps.begin,
                        program.steps.begin == 0 ? "" : fmt::format(" (step {} of the whole K)", step));
    text += block_lines(geometry.a, "rm", "rk", program.rows, k);
    text += block_lines(geometry.b, "rk", "rn", k, program.cols);
  }
  text += "  Store\n";
  return text + block_lines(geometry.c, "rm", "rn", program.rows, program.cols);
}

std::string product_line(const Geometry& geometry, i64 row, i64 col, i64 k) {
  const std::string a = fmt::format("A[{}, {}] = {}", row, k, address('a', geometry.a.offset(row, k)));
  const std::string b = fmt::format("B[{}, {}] = {}", k, col, address('b', geometry.b.offset(k, col)));
  if (a.size() < 30 && b.size() <= 34) return fmt::format("    k = {:<7}{:<31}{}\n", k, a, b);
  return fmt::format("    k = {:<7}{}\n{:15}{}\n", k, a, "", b);
}

std::string element_section(const Geometry& geometry, const ExplainFocus::Element& element) {
  const ElementFacts facts = element_facts(geometry, element);
  const Problem& problem = geometry.problem;
  const Program& owner = facts.programs.front();
  const i64 parts = geometry.plan.split.parts;
  std::string text = heading(fmt::format("ELEMENT C[{}, {}]: who owns it and what it sums", element.row, element.col));
  text += paragraph(
      parts == 1
          ? fmt::format("Owned by program {}: tile ({}, {}), place ({}, {}) in the tile.", owner.number, owner.tile.row,
                        owner.tile.col, facts.tile_row, facts.tile_col)
          : fmt::format("Tile ({}, {}), place ({}, {}) in the tile; summed by {} programs, one for each part of K.",
                        owner.tile.row, owner.tile.col, facts.tile_row, facts.tile_col, parts));
  text +=
      paragraph(fmt::format("{} = {}", expression(geometry.c, std::to_string(element.row), std::to_string(element.col)),
                            address('c', geometry.c.offset(element.row, element.col))));
  if (problem.k == 0) return text + paragraph("K = 0: it sums nothing and is +0.");

  text += fmt::format("\n  It sums {}, in order of k (addresses in elements):\n", plural(problem.k, "product"));
  constexpr i64 most_listed = 6, listed_head = 3;
  for (i64 k = 0; k < problem.k; ++k) {
    if (problem.k > most_listed && k == listed_head) {
      text += fmt::format("    ...        each k further: A by {:+}, B by {:+}\n", geometry.a.col_stride,
                          geometry.b.row_stride);
      k = problem.k - 1;
    }
    text += product_line(geometry, element.row, element.col, k);
  }

  const std::string product_rounding = geometry.plan.mma == Mma::portable ? "the product and the sum are each rounded"
                                       : geometry.plan.mma == Mma::avx512_bf16
                                           ? "one fused multiply-add, rounded once, subnormals as zeros"
                                           : "one fused multiply-add, rounded once";
  text += "\n  The sum, in words:\n";
  if (parts == 1) {
    text += paragraph(fmt::format("acc = 0; for k = 0 to {}: acc = acc + A[{}, k]*B[k, {}] in FP32 ({}). The order is "
                                  "fixed, across the {} of "
                                  "{} too.",
                                  problem.k - 1, element.row, element.col, product_rounding,
                                  plural(geometry.steps, "K step"), geometry.plan.tile.k),
                      4);
  } else {
    i64 expected = 0;
    for (const Program& program : facts.programs) {
      if (program.part != expected) text += "    ...\n";
      expected = program.part + 1;
      const bool empty = program.steps.begin == program.steps.end;
      const i64 first = empty ? 0 : geometry.k_of(program.steps.begin).first;
      text += empty ? fmt::format("    p{} = 0: no K step is left for this part (program {})\n", program.part,
                                  program.number)
                    : fmt::format("    p{} = sum over k = {}..{}, in order (program {})\n", program.part, first,
                                  geometry.k_of(program.steps.end - 1).last_valid(), program.number);
    }
    text +=
        paragraph(fmt::format("Within a part, in FP32, {}. Then the parts are added in order: {}.", product_rounding,
                              parts == 2   ? "p0 + p1"
                              : parts == 3 ? "(p0 + p1) + p2"
                                           : fmt::format("((p0 + p1) + p2) + ... + p{}", parts - 1)),
                  4);
  }
  const IndexRange last = geometry.k_of(geometry.steps - 1);
  const i64 zeros = last.last - last.first + 1 - last.valid;
  if (zeros != 0)
    text += paragraph(fmt::format("The last K step is filled up with {}, which leave{} the sum as it is.",
                                  plural(zeros, "zero"), zeros == 1 ? "s" : ""),
                      4);
  return text + paragraph(fmt::format("The result is rounded once, to {}.", name_of(problem.output)), 4);
}

}  // namespace
}  // namespace plan

std::string explain_text(const Problem& problem, const OperandStrides& strides, const PlanChoice& choice,
                         const CpuDescription& cpu, const ExplainFocus& focus) {
  const plan::Facts facts = plan::facts_of(problem, strides, choice, cpu, focus);
  std::string text = plan::header(facts, choice);
  if (focus.program || focus.element) {
    if (focus.program) text += plan::program_section(facts.geometry, focus);
    if (focus.element) text += plan::element_section(facts.geometry, *focus.element);
    return text;
  }
  text += "\n" +
          plan::wrapped(
              "Figures are counted (from shape, strides and plan alone) or modelled (a machine is assumed); nothing is "
              "measured here.",
              0) +
          "\n";
  text += plan::grid_section(facts) + plan::k_section(facts) + plan::work_section(facts) + plan::data_section(facts);
  text += plan::cache_section(facts) + plan::layout_section(facts) + plan::candidates_section(choice) +
          plan::limits_section();
  return text;
}

}  // namespace tilewright
