// explain as one JSON object: the same facts as the text, under stable keys.
//
// Figures are plain values at the top; how each was obtained stands beside them under "kinds" (counted or modelled),
// and the boundary it refers to under "boundaries". Ratios have four decimal digits, intensities two. A count beyond
// 2^63 is a floating-point number.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/facts.hpp"

namespace tilewright {
namespace plan {
namespace {

using json = nlohmann::ordered_json;

constexpr i64 most_mapped_programs = 1024;  // in "program_map"
constexpr i64 most_listed_steps = 64;       // in a program's "blocks"
constexpr i64 listed_products = 4;          // at either end of an element's sum

json json_of(const Count& count) { return count.fits ? json(count.exact) : json(count.value); }

json json_of(double whole_number) {
  return whole_number < 0x1p63 ? json(static_cast<i64>(whole_number)) : json(whole_number);
}

json json_of(const IndexRange& range) { return json::array({range.first, range.last}); }

json json_of(const std::optional<OffsetRange>& range) {
  return range ? json::array({range->low, range->high}) : json(nullptr);
}

std::string text_of(const Order& order) {
  return order.kind == OrderKind::linear ? "linear" : fmt::format("grouped({})", order.group);
}

json json_of(const Program& program) {
  return {{"program", program.number},
          {"tile", {program.tile.row, program.tile.col}},
          {"part", program.part},
          {"rows", json_of(program.rows)},
          {"cols", json_of(program.cols)},
          {"valid", {program.rows.valid, program.cols.valid}},
          {"valid_outputs", program.rows.valid * program.cols.valid}};
}

json last_program(const Geometry& geometry) {
  if (geometry.programs == 0) return nullptr;
  const Program program = geometry.program(geometry.programs - 1);
  const IndexRange last_k = geometry.steps == 0 ? IndexRange{} : geometry.k_of(geometry.steps - 1);
  return {{"rows", json_of(program.rows)},
          {"cols", json_of(program.cols)},
          {"valid", {program.rows.valid, program.cols.valid}},
          {"valid_outputs", program.rows.valid * program.cols.valid},
          {"last_k", geometry.steps == 0 ? json(nullptr) : json_of(last_k)},
          {"valid_k", last_k.valid}};
}

json layout_of(const Operand& operand) {
  constexpr std::string_view axes[] = {"none", "k", "mn", "both"};
  constexpr std::string_view c_axes[] = {"none", "rows", "cols", "both"};
  const auto unit = static_cast<unsigned char>(operand.layout.unit);
  const IndexRange rows{0, operand.rows - 1, operand.rows}, cols{0, operand.cols - 1, operand.cols};
  json layout = {{"shape", {operand.rows, operand.cols}},
                 {"strides", {operand.row_stride, operand.col_stride}},
                 {"unit_axis", operand.name == 'c' ? c_axes[unit] : axes[unit]},
                 {"alignment", operand.layout.alignment},
                 {"offsets", json_of(valid_offsets(operand, rows, cols))}};
  if (operand.layout.every_second != UnitAxis::none)
    layout["every_second"] =
        (operand.name == 'c' ? c_axes : axes)[static_cast<unsigned char>(operand.layout.every_second)];
  if (operand.name != 'c') layout["mover"] = to_string(operand.mover);
  return layout;
}

json block_of(const Operand& operand, const IndexRange& rows, const IndexRange& cols) {
  return {{"rows", json_of(rows)},
          {"cols", json_of(cols)},
          {"valid", {rows.valid, cols.valid}},
          {"offsets", json_of(valid_offsets(operand, rows, cols))},
          {"unmasked_offsets", json_of(box_offsets(operand, rows, cols))}};
}

std::string address_of(const Operand& operand, std::string_view row, std::string_view col) {
  const auto factor = [](i64 stride) { return stride < 0 ? fmt::format("({})", stride) : fmt::format("{}", stride); };
  return fmt::format("{} + {}*{} + {}*{}", operand.name, row, factor(operand.row_stride), col,
                     factor(operand.col_stride));
}

json program_focus(const Geometry& geometry, const ExplainFocus& focus) {
  const auto [program, steps] = program_facts(geometry, focus);
  const Problem& problem = geometry.problem;
  json facts = json_of(program);
  facts["k_steps"] = program.steps.end - program.steps.begin;
  facts["addresses"] = {{"a", address_of(geometry.a, "rm", "rk")},
                        {"b", address_of(geometry.b, "rk", "rn")},
                        {"c", address_of(geometry.c, "rm", "rn")}};
  facts["masks"] = {{"a", fmt::format("rm < {} && rk < {}", problem.m, problem.k)},
                    {"b", fmt::format("rk < {} && rn < {}", problem.k, problem.n)},
                    {"c", fmt::format("rm < {} && rn < {}", problem.m, problem.n)}};
  json blocks = json::array();
  for (i64 step = steps.begin; step < steps.end; ++step) {
    const bool listed = step - steps.begin < most_listed_steps - 1 || step == steps.end - 1;
    if (!listed) step = steps.end - 1;
    const IndexRange k = geometry.k_of(step);
    blocks.push_back({{"step", step - program.steps.begin},
                      {"k", json_of(k)},
                      {"valid_k", k.valid},
                      {"a", block_of(geometry.a, program.rows, k)},
                      {"b", block_of(geometry.b, k, program.cols)}});
  }
  facts["blocks"] = std::move(blocks);
  facts["blocks_truncated"] = steps.end - steps.begin > most_listed_steps;
  facts["c"] = block_of(geometry.c, program.rows, program.cols);
  return facts;
}

json element_focus(const Geometry& geometry, const ExplainFocus::Element& element) {
  const ElementFacts facts = element_facts(geometry, element);
  const i64 k = geometry.problem.k, parts = geometry.plan.split.parts;
  json result = {{"element", {facts.row, facts.col}},
                 {"program", facts.programs.front().number},
                 {"tile", {facts.programs.front().tile.row, facts.programs.front().tile.col}},
                 {"in_tile", {facts.tile_row, facts.tile_col}},
                 {"offset", geometry.c.offset(facts.row, facts.col)},
                 {"products", k}};
  json terms = json::array();
  for (i64 at = 0; at < k; ++at) {
    if (at == listed_products && k > 2 * listed_products) at = k - listed_products;
    terms.push_back({{"k", at}, {"a", geometry.a.offset(facts.row, at)}, {"b", geometry.b.offset(at, facts.col)}});
  }
  result["terms"] = std::move(terms);
  result["terms_truncated"] = k > 2 * listed_products;
  result["stride_along_k"] = {{"a", geometry.a.col_stride}, {"b", geometry.b.row_stride}};
  json sums = json::array();
  for (const Program& program : facts.programs) {
    const bool empty = program.steps.begin == program.steps.end;
    sums.push_back({{"part", program.part},
                    {"program", program.number},
                    {"k_steps", program.steps.end - program.steps.begin},
                    {"k", empty ? json(nullptr)
                                : json::array({geometry.k_of(program.steps.begin).first,
                                               geometry.k_of(program.steps.end - 1).last_valid()})}});
  }
  result["parts"] = std::move(sums);
  result["parts_truncated"] = parts > static_cast<i64>(facts.programs.size());
  result["sum_order"] = parts == 1 ? "k ascending" : "k ascending within a part, then part 0 + part 1 + ... in order";
  return result;
}

json candidates_of(const PlanChoice& choice) {
  json candidates = json::array();
  for (const Candidate& candidate : choice.candidates) {
    json entry = {{"plan", to_string(candidate.plan)}};
    if (candidate.rejected.empty()) {
      entry["modelled_us"] = rounded(candidate.microseconds, 3);
    } else {
      entry["rejected"] = candidate.rejected;
    }
    candidates.push_back(std::move(entry));
  }
  return candidates;
}

json traffic_of(const Facts& facts) {
  json rows = json::array();
  for (const TrafficRow& row : facts.traffic) {
    rows.push_back(
        {{"cache", row.cache},
         {"cache_bytes", row.cache_bytes},
         {"order", text_of(row.order)},
         {"a_bytes", json_of(row.traffic.a_bytes)},
         {"b_bytes", json_of(row.traffic.b_bytes)},
         {"bytes", json_of(row.traffic.total())},
         {"kind", "modelled"},
         {"simulated", row.traffic.simulated},
         {"boundary", fmt::format("idealised LRU of {}", bytes_text(static_cast<double>(row.cache_bytes)))}});
  }
  return rows;
}

json kinds() {
  json kinds;
  for (const char* key :
       {"grid", "programs", "k_steps", "useful_flops", "block_flops", "useful_ratio", "stage_intensity", "stage_bytes",
        "accumulator_bytes", "last_program", "loads", "tile_kinds", "program_map", "layouts", "warnings"}) {
    kinds[key] = "counted";
  }
  kinds["traffic"] = "in each entry";
  kinds["candidates"] = "modelled";
  return kinds;
}

json boundaries() {
  return {{"useful_flops", "the arithmetic of 2*M*N*K"},
          {"block_flops", "whole tiles and whole K steps, zeros included"},
          {"useful_ratio", "useful_flops / block_flops"},
          {"stage_intensity", "FLOP per byte of one program's logical loads in one whole K step"},
          {"stage_bytes", "one program's logical loads in one whole K step"},
          {"accumulator_bytes", "the FP32 sums of one program"},
          {"loads", "all programs' logical loads under their masks, and their stores"},
          {"traffic", "an idealised fully associative LRU cache of operand blocks, programs one after the other"},
          {"candidates", "the planner's model, in microseconds"}};
}

json program_map(const Geometry& geometry) {
  json map = json::array();
  for (i64 number = 0; number < std::min(geometry.programs, most_mapped_programs); ++number) {
    map.push_back(json_of(geometry.program(number)));
  }
  return map;
}

}  // namespace
}  // namespace plan

std::string explain_json(const Problem& problem, const OperandStrides& strides, const PlanChoice& choice,
                         const CpuDescription& cpu, const ExplainFocus& focus) {
  using namespace plan;
  const Facts facts = facts_of(problem, strides, choice, cpu, focus);
  const Geometry& geometry = facts.geometry;
  json result;
  result["problem"] = {{"m", problem.m},
                       {"n", problem.n},
                       {"k", problem.k},
                       {"input", name_of(problem.input)},
                       {"output", name_of(problem.output)}};
  result["plan"] = to_string(choice.plan);
  result["reason"] = choice.reason;
  result["grid"] = {geometry.grid.rows, geometry.grid.cols};
  result["programs"] = geometry.programs;
  result["k_steps"] = geometry.steps;
  result["useful_flops"] = json_of(facts.useful_flops);
  result["block_flops"] = json_of(facts.block_flops);
  result["useful_ratio"] = facts.useful_ratio ? json(rounded(*facts.useful_ratio, 4)) : json(nullptr);
  result["stage_intensity"] = rounded(facts.stage_intensity, 2);
  result["stage_bytes"] = facts.stage_bytes;
  result["accumulator_bytes"] = facts.accumulator_bytes;
  result["last_program"] = last_program(geometry);
  result["workspace_bytes"] = choice.workspace_bytes;
  result["loads"] = {{"a_times", geometry.grid.cols},
                     {"a_bytes", json_of(facts.a_loaded)},
                     {"b_times", geometry.grid.rows},
                     {"b_bytes", json_of(facts.b_loaded)},
                     {"bytes", json_of(facts.loaded)},
                     {"c_stored_bytes", json_of(facts.c_stored)},
                     {"workspace_moved_bytes", json_of(facts.workspace_moved)}};
  result["traffic"] = traffic_of(facts);
  result["layouts"] = {{"a", layout_of(geometry.a)}, {"b", layout_of(geometry.b)}, {"c", layout_of(geometry.c)}};
  result["warnings"] = json::array();
  for (const Wrap& wrap : facts.wraps) {
    result["warnings"].push_back({{"kind", "offset_32bit"},
                                  {"operand", std::string(1, wrap.operand)},
                                  {"element", {wrap.row, wrap.col}},
                                  {"offset", wrap.offset},
                                  {"wrapped", wrap.wrapped}});
  }
  result["order"] = text_of(choice.plan.order);
  result["tile_kinds"] = json::array();
  for (const TileKind& kind : facts.kinds) {
    result["tile_kinds"].push_back({{"tiles", kind.count}, {"valid", {kind.valid_rows, kind.valid_cols}}});
  }
  result["program_map"] = program_map(geometry);
  result["program_map_cap"] = most_mapped_programs;
  result["program_map_truncated"] = geometry.programs > most_mapped_programs;
  result["candidates"] = candidates_of(choice);
  if (focus.program) result["program"] = program_focus(geometry, focus);
  if (focus.element) result["element"] = element_focus(geometry, *focus.element);
  result["kinds"] = kinds();
  result["boundaries"] = boundaries();
  result["not"] = limits_of_figures();
  return result.dump();
}

}  // namespace tilewright
