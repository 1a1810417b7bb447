// A distribution of shapes: reading it, and weighing every compiled tile over it.
//
// One aligned square hides what a tile costs on the shapes that a program really multiplies. So the useful ratio is
// that of all shapes together, each as often as its weight says: sum of useful FLOP / sum of block-level FLOP.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include <tilewright/error.hpp>
#include <tilewright/explain.hpp>

#include "core/csv.hpp"
#include "core/shown.hpp"
#include "plan/compiled_tiles.hpp"
#include "plan/model.hpp"
#include "plan/number.hpp"
#include "plan/planner.hpp"
#include "plan/request.hpp"

namespace tilewright {
namespace plan {
namespace {

using core::csv::Place;
using core::csv::refuse;
using core::csv::split;

enum class Column : unsigned char { m, n, k, weight, name, group, ignored };

/// Whether a line with '#' in front is a header, as some programs write it, and no remark: it names m, n and k.
bool names_extents(std::string_view line) {
  const std::vector<std::string_view> cells = split(line.substr(1, line.find('(') - 1));
  return std::ranges::all_of(std::array{'m', 'n', 'k'}, [&](char extent) {
    return std::ranges::any_of(cells,
                               [&](std::string_view cell) { return cell.size() == 1 && (cell[0] | 0x20) == extent; });
  });
}

std::vector<Column> parse_header(std::string_view line, const Place& place) {
  if (line.starts_with('#')) line = line.substr(1);
  line = line.substr(0, line.find('('));  // a remark behind the names
  constexpr std::array<std::pair<std::string_view, Column>, 16> known = {{{"m", Column::m},
                                                                          {"n", Column::n},
                                                                          {"k", Column::k},
                                                                          {"weight", Column::weight},
                                                                          {"name", Column::name},
                                                                          {"group", Column::group},
                                                                          {"ta", Column::ignored},
                                                                          {"tb", Column::ignored},
                                                                          {"lda", Column::ignored},
                                                                          {"ldb", Column::ignored},
                                                                          {"ldc", Column::ignored},
                                                                          {"layout", Column::ignored},
                                                                          {"types", Column::ignored},
                                                                          {"offset", Column::ignored},
                                                                          {"step", Column::ignored},
                                                                          {"stepb", Column::ignored}}};
  std::vector<Column> columns;
  for (const std::string_view cell : split(line)) {
    std::string name(cell);
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto found = std::ranges::find(known, name, &std::pair<std::string_view, Column>::first);
    if (found == known.end()) {
      refuse(place, fmt::format("'{}' is no column; the header names m, n, k and may name weight, name, group",
                                core::shown(cell)));
    }
    if (found->second != Column::ignored && std::ranges::count(columns, found->second) != 0) {
      refuse(place, fmt::format("the column '{}' is named twice", core::shown(cell)));
    }
    columns.push_back(found->second);
  }
  for (const auto& [name, column] : known) {
    if (column <= Column::k && std::ranges::count(columns, column) == 0)
      refuse(place, fmt::format("the header lacks the column {}", name));
  }
  return columns;
}

i64 parse_extent(std::string_view cell, const Place& place) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || value < 1) {
    refuse(place,
           fmt::format("'{}' is no extent; give a whole number from 1 to 9223372036854775807", core::shown(cell)));
  }
  return value;
}

double parse_weight(std::string_view cell, const Place& place) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  // Written so that NaN fails.
  if (error != std::errc{} || end != cell.data() + cell.size() || !(value > 0 && value < 1e300)) {
    refuse(place, fmt::format("'{}' is no weight; give a number above 0", core::shown(cell)));
  }
  return value;
}

WeightedShape parse_shape(std::string_view line, const std::vector<Column>& columns, const Place& place) {
  const std::vector<std::string_view> cells = split(line);
  if (cells.size() != columns.size()) {
    refuse(place, fmt::format("{} cells, but the header names {} columns", cells.size(), columns.size()));
  }
  WeightedShape shape;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    switch (columns[i]) {
      case Column::m:
        shape.m = parse_extent(cells[i], place);
        break;
      case Column::n:
        shape.n = parse_extent(cells[i], place);
        break;
      case Column::k:
        shape.k = parse_extent(cells[i], place);
        break;
      case Column::weight:
        shape.weight = parse_weight(cells[i], place);
        break;
      case Column::name:
        shape.name = cells[i];
        break;
      case Column::group:
        shape.group = cells[i];
        break;
      case Column::ignored:
        break;
    }
  }
  return shape;
}

/// One tile over the whole distribution.
struct Weighed {
  TileShape tile;
  double useful_flops = 0, block_flops = 0, programs = 0, microseconds = 0;  // sums, each shape times its weight
  i64 chosen = 0;  // shapes for which the planner takes this tile
};

struct Weighing {
  std::vector<Weighed> tiles;       // by modelled time, least first
  double weight = 0;                // of all shapes
  double planner_microseconds = 0;  // the planner's own choice for every shape
};

Weighing weigh(std::span<const WeightedShape> shapes, DType input, const CpuDescription& cpu, i64 threads) {
  if (shapes.empty())
    throw Error(ErrorCode::problem, "the distribution holds no shapes; give at least one line with m, n and k.");
  Weighing result;
  for (const TileShape& tile : tiles) result.tiles.push_back({tile});
  for (const WeightedShape& shape : shapes) {
    const Problem problem = problem_of(shape.m, shape.n, shape.k, input, input, {shape.k, 1, shape.n, 1, shape.n, 1});
    const Cheapest choice = cheapest_plan(problem, {}, cpu, threads, 0);
    result.weight += shape.weight;
    result.planner_microseconds += shape.weight * choice.microseconds;
    for (Weighed& weighed : result.tiles) {
      const TileShape& tile = weighed.tile;
      PlanRequest request;
      request.tile = tile;
      const double grid = static_cast<double>(cdiv(shape.m, tile.m)) * static_cast<double>(cdiv(shape.n, tile.n));
      weighed.useful_flops += shape.weight * product({2, shape.m, shape.n, shape.k}).value;
      weighed.block_flops += shape.weight * grid * product({2, cdiv(shape.k, tile.k), tile.m, tile.n, tile.k}).value;
      weighed.programs += shape.weight * grid;
      weighed.microseconds += shape.weight * cheapest_plan(problem, request, cpu, threads, 0).microseconds;
      if (choice.plan.tile == tile) ++weighed.chosen;
    }
  }
  std::ranges::stable_sort(result.tiles, {}, &Weighed::microseconds);
  return result;
}

}  // namespace
}  // namespace plan

std::vector<WeightedShape> parse_shapes(std::string_view csv, std::string_view source) {
  std::vector<plan::Column> columns;
  std::vector<WeightedShape> shapes;
  core::csv::for_each_line(csv, source, [&](std::string_view line, const core::csv::Place& place) {
    if (columns.empty()) {
      if (line.starts_with('#') && !plan::names_extents(line)) return;
      columns = plan::parse_header(line, place);
    } else if (!line.starts_with('#')) {
      shapes.push_back(plan::parse_shape(line, columns, place));
    }
  });
  if (columns.empty())
    throw Error(ErrorCode::problem, fmt::format("{} has no header line; write m,n,k first.", source));
  return shapes;
}

std::string explain_shapes_text(std::span<const WeightedShape> shapes, DType input, const CpuDescription& cpu,
                                i64 threads) {
  using namespace plan;
  const Weighing result = weigh(shapes, input, cpu, threads);
  std::string text = fmt::format("TILES over {} shape{}, {} inputs, packed row-major operands\n\n", shapes.size(),
                                 shapes.size() == 1 ? "" : "s", name_of(input));
  text += fmt::format("  {:<14}{:>13}{:>16}{:>16}{:>16}\n", "tile", "useful ratio", "programs", "time", "chosen for");
  text += fmt::format("  {:<14}{:>13}{:>16}{:>16}{:>16}\n", "", "counted", "counted, mean", "modelled, mean", "shapes");
  for (const Weighed& tile : result.tiles) {
    text += fmt::format("  {:<14}{:>11.2f} %{:>16.4g}{:>16}{:>16}\n", text_of(tile.tile),
                        100 * tile.useful_flops / tile.block_flops, tile.programs / result.weight,
                        time_text(tile.microseconds / result.weight), tile.chosen);
  }
  text += fmt::format("  {:<14}{:>45}{:>16}\n\n", "planner", time_text(result.planner_microseconds / result.weight),
                      shapes.size());
  text += wrapped(
      "Useful ratio: useful FLOP of all shapes / block-level FLOP of all shapes, whole tiles with their zeros. Means "
      "are over "
      "the weights. Times come from the planner's model, were not measured, and are meant for comparing tiles. The "
      "last line "
      "lets the planner choose for every shape.",
      0);
  return text + "\n";
}

std::string explain_shapes_json(std::span<const WeightedShape> shapes, DType input, const CpuDescription& cpu,
                                i64 threads) {
  using namespace plan;
  const Weighing result = weigh(shapes, input, cpu, threads);
  nlohmann::ordered_json json;
  json["shapes"] = shapes.size();
  json["weight"] = result.weight;
  json["input"] = name_of(input);
  json["tiles"] = nlohmann::ordered_json::array();
  for (const Weighed& tile : result.tiles) {
    json["tiles"].push_back({{"tile", text_of(tile.tile)},
                             {"useful_ratio", rounded(tile.useful_flops / tile.block_flops, 4)},
                             {"mean_programs", rounded(tile.programs / result.weight, 2)},
                             {"mean_us", rounded(tile.microseconds / result.weight, 3)},
                             {"chosen_for", tile.chosen}});
  }
  json["planner_mean_us"] = rounded(result.planner_microseconds / result.weight, 3);
  json["kinds"] = {{"useful_ratio", "counted"},
                   {"mean_programs", "counted"},
                   {"mean_us", "modelled"},
                   {"planner_mean_us", "modelled"}};
  return json.dump();
}

}  // namespace tilewright
