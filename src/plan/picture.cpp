// Draws the grid line by line: a rule, then for each row of tiles a line with the programs' numbers and one below it.
#include "plan/picture.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace tilewright::plan {
namespace {

constexpr std::size_t margin = 11;  // left of the grid: the first row of each tile
constexpr std::size_t width = 80;
constexpr std::size_t most_rows = 6;  // of tiles that are drawn, a gap included
constexpr i64 gap = -1;               // stands for tiles that are not drawn

/// The indices of an axis that are drawn: all, or the first ones, a gap and the last.
std::vector<i64> drawn(i64 count, std::size_t room) {
  std::vector<i64> indices;
  const bool all = count <= static_cast<i64>(room);
  const i64 head = all ? count : static_cast<i64>(room) - 2;
  for (i64 i = 0; i < head; ++i) indices.push_back(i);
  if (!all) indices.insert(indices.end(), {gap, count - 1});
  return indices;
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

std::string right_aligned(const std::string& text, std::size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ') + text;
}

class Picture {
 public:
  explicit Picture(const Geometry& geometry)
      : geometry_(geometry),
        cell_(std::max({std::size_t{6}, std::to_string(geometry.tiles).size() + 2,
                        std::to_string(geometry.problem.n).size() + 1})),
        rows_(drawn(geometry.grid.rows, most_rows)),
        cols_(drawn(geometry.grid.cols, std::max<std::size_t>(3, (width - margin - 1) / (cell_ + 1)))) {}

  std::string draw() const {
    std::string text = column_labels();
    text += rule("┌", "┬", "┐");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i] == gap) {
        text += line_of_gap();
        continue;
      }
      text += line(rows_[i], true) + line(rows_[i], false);
      if (i + 1 < rows_.size()) text += rule("├", "┼", "┤");
    }
    return text + rule("└", "┴", "┘");
  }

 private:
  std::string column_labels() const {
    std::string text = right_aligned("col", margin);
    for (const i64 col : cols_) {
      const std::string label = col == gap ? "..." : std::to_string(geometry_.cols_of(col).first);
      text += ' ' + label + std::string(cell_ - label.size(), ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
  }

  std::string rule(std::string_view left, std::string_view cross, std::string_view right) const {
    std::string text(margin, ' ');
    for (std::size_t i = 0; i < cols_.size(); ++i) {
      text += i == 0 ? left : cross;
      text += repeated("─", cell_);
    }
    return text.append(right) + '\n';
  }

  std::string line_of_gap() const {
    std::string text = right_aligned("...", margin - 1) + ' ';
    for (std::size_t i = 0; i < cols_.size(); ++i)
      text += "┆" + right_aligned("...", cell_ / 2 + 2) + std::string(cell_ - cell_ / 2 - 2, ' ');
    return text + "┆\n" + rule("├", "┼", "┤");
  }

  std::string line(i64 row, bool with_number) const {
    const IndexRange rows = geometry_.rows_of(row);
    const std::string label = row == 0 ? "row 0" : std::to_string(rows.first);
    std::string text = (with_number ? right_aligned(label, margin - 1) : std::string(margin - 1, ' ')) + ' ';
    for (const i64 col : cols_) text += "│" + (col == gap ? gap_cell(with_number) : cell(row, rows, col, with_number));
    return text + "│\n";
  }

  std::string gap_cell(bool with_number) const {
    return with_number ? right_aligned("...", cell_ / 2 + 2) + std::string(cell_ - cell_ / 2 - 2, ' ')
                       : std::string(cell_, ' ');
  }

  /// One line of one tile: blank where it is part of the matrix, shaded beyond, the program's number over both.
  std::string cell(i64 row, const IndexRange& rows, i64 col, bool with_number) const {
    const IndexRange cols = geometry_.cols_of(col);
    const i64 wide = static_cast<i64>(cell_);
    const bool cut = cols.valid < geometry_.plan.tile.n;
    // A cut column keeps at least one column blank and one shaded, however thin either is.
    const i64 blank = cut ? std::clamp<i64>(wide * cols.valid / geometry_.plan.tile.n, 1, wide - 1) : wide;
    const bool below = !with_number && rows.valid < geometry_.plan.tile.m;
    std::vector<std::string> columns(cell_, "░");
    for (i64 i = 0; i < blank && !below; ++i) columns[static_cast<std::size_t>(i)] = " ";
    if (with_number) {
      const std::string number = std::to_string(program_of(geometry_.plan.order, geometry_.grid, {row, col}));
      const std::size_t start = (cell_ - number.size()) / 2;
      for (std::size_t i = 0; i < number.size(); ++i) columns[start + i] = number[i];
    }
    std::string text;
    for (const std::string& column : columns) text += column;
    return text;
  }

  const Geometry& geometry_;
  std::size_t cell_;  // columns of a tile
  std::vector<i64> rows_, cols_;
};

}  // namespace

std::string list_programs(const Geometry& geometry) {
  constexpr i64 most_listed = 16, listed_ends = 3;
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows = {{"program", "tile", "rows", "columns", "valid"}};
  const bool all = geometry.programs <= most_listed;
  for (i64 number = 0; number < geometry.programs; ++number) {
    if (!all && number == listed_ends) number = geometry.programs - listed_ends;
    const Program p = geometry.program(number);
    rows.push_back({std::to_string(number), fmt::format("({}, {})", p.tile.row, p.tile.col),
                    fmt::format("{}..{}", p.rows.first, p.rows.last), fmt::format("{}..{}", p.cols.first, p.cols.last),
                    fmt::format("{}x{}", p.rows.valid, p.cols.valid)});
  }
  std::array<std::size_t, 5> widest = {10, 12, 20, 20, 0};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widest[i] = std::max(widest[i], row[i].size());
  }
  const bool one_line = 2 + widest[0] + 2 + widest[1] + 1 + widest[2] + 1 + widest[3] + 1 + widest[4] <= width;
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (!all && i == 1 + static_cast<std::size_t>(listed_ends))
      text += fmt::format("  {:>{}}  (--program P shows any of them)\n", "...", widest[0]);
    text += fmt::format("  {:>{}}  ", row[0], widest[0]);
    text += one_line ? fmt::format("{:<{}} {:<{}} {:<{}} {}\n", row[1], widest[1], row[2], widest[2], row[3], widest[3],
                                   row[4])
                     : fmt::format("{:<{}} {}\n{:{}}{:<{}} {}\n", row[1], widest[2], row[4], "", widest[0] + 4, row[2],
                                   widest[2], row[3]);
  }
  return text;
}

std::string draw_grid(const Geometry& geometry) {
  return geometry.tiles == 0 ? std::string{} : Picture(geometry).draw();
}

}  // namespace tilewright::plan
