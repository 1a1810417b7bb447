// A sweep as SVG; see sweep.hpp. sweep_picture() at the end is the picture from top to bottom.
//
// It brings its own background and speaks of no font by name, so that it reads alike on light and dark pages. Lines are
// named where they end, once a row.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tilewright/error.hpp>
#include "bench/markup.hpp"
#include "bench/merge.hpp"
#include "bench/sweep.hpp"
#include "bench/sweep_panels.hpp"

namespace tilewright::bench {
namespace {

using Json = nlohmann::ordered_json;

// In the picture's own pixels.
constexpr double left = 168, right = 124, panel_width = 172, panel_height = 104, column_gap = 16, row_gap = 14;
constexpr double top = 78, block_head = 62, block_foot = 34, bottom = 74, inset = 9, label_height = 15;
constexpr i64 last_shift = 8;

constexpr const char* style =
    "text{font-family:system-ui,sans-serif;fill:#5d6572;font-size:12px}"
    ".title{fill:#1d2129;font-size:19px;font-weight:600}.product{fill:#1d2129;font-size:15px;font-weight:600}"
    ".head{fill:#1d2129;font-size:13px;font-weight:600}.row{fill:#1d2129;font-size:13px;font-weight:600}"
    ".tick{font-size:10.5px}.panel{fill:#ffffff;stroke:#dfe2e6}.grid{stroke:#eceef1}"
    ".line{fill:none;stroke-width:1.8;stroke-linejoin:round}.ours{stroke-width:2.8}.name{font-weight:600}"
    ".figure{fill:#0f6fd1}";
constexpr const char* colours[] = {"#0f6fd1", "#c4561b", "#6f7785", "#8a4fb0", "#2d8a72", "#b0850c", "#b3446c"};
constexpr const char* dashes[] = {"", "", "5 3", "2 2", "7 2 2 2", "1 2", "9 3"};
const char* colour_of(std::size_t contender) { return colours[contender % std::size(colours)]; }

std::string name_of_contender(const std::string& name) {
  constexpr std::pair<const char*, const char*> known[] = {
      {"tilewright", "Tilewright"}, {"cublas", "cuBLAS"}, {"cublaslt", "cuBLASLt"}, {"pad", "padding copies"}};
  for (const auto& [own, shown] : known) {
    if (name == own) return shown;
  }
  return name;
}

/// What moves, and of which matrices.
std::pair<const char*, const char*> row_name(Moved moved) {
  constexpr std::pair<const char*, const char*> names[] = {{"A", "leading dimension"},
                                                           {"B", "leading dimension"},
                                                           {"C", "leading dimension"},
                                                           {"A, B and C", "leading dimension"},
                                                           {"A, B and C", "base address"}};
  return names[static_cast<std::size_t>(moved)];
}

std::string column_name(const std::string& layout) {
  return fmt::format("A{} × B{}", layout[0] == 't' ? "ᵀ" : "", layout[1] == 't' ? "ᵀ" : "");
}

/// The one scale of all panels: rates from 0 to a round number above the largest.
struct Scale {
  double unit, most, step;  // GFLOP/s of what is shown; in what is shown

  Scale(const std::vector<Sweep>& sweeps, bool on_gpu) : unit(on_gpu ? 1e3 : 1), most(0), step(1) {
    for (const Sweep& sweep : sweeps) {
      for (const Column& column : sweep.columns) {
        for (std::size_t i = 0; i < sweep.product->entries.size(); ++i) {
          if (const auto extremes = extremes_of(column, i)) most = std::max(most, extremes->best / unit);
        }
      }
    }
    constexpr double most_steps = 4.2;
    step = std::pow(10, std::floor(std::log10(std::max(most, 1e-3))) - 1);
    for (const double factor : {2.0, 2.5, 2.0, 2.0, 2.5, 2.0}) {
      if (most / step > most_steps) step *= factor;
    }
    most *= 1.06;
  }
  double y(double rate) const { return panel_height - inset - rate / unit / most * (panel_height - 2 * inset); }
};

double x_of(i64 by) {
  return inset + static_cast<double>(by) * (panel_width - 2 * inset) / static_cast<double>(last_shift);
}

double panel_left(std::size_t column) { return left + static_cast<double>(column) * (panel_width + column_gap); }

/// Frame and grid of a panel whose upper left corner is the origin.
std::string frame_text(const Scale& scale, bool with_rates) {
  std::string text =
      fmt::format("<rect class=\"panel\" width=\"{}\" height=\"{}\" rx=\"3\"/>\n", panel_width, panel_height);
  for (i64 by = 0; by <= last_shift; ++by) {
    text += fmt::format("<path class=\"grid\" d=\"M{0:.1f} 1V{1}\"/>", x_of(by), panel_height - 1);
  }
  for (double rate = 0; rate <= scale.most; rate += scale.step) {
    const double y = scale.y(rate * scale.unit);
    text += fmt::format("<path class=\"grid\" d=\"M1 {:.1f}H{}\"/>", y, panel_width - 1);
    if (with_rates)
      text += fmt::format("<text class=\"tick\" x=\"-7\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>", y + 4, rate);
  }
  return text + '\n';
}

/// One contender's line, in pieces where points are missing or far apart, and its points.
std::string line_text(const Panel& panel, std::size_t contender, const Scale& scale) {
  std::string path, dots;
  constexpr i64 far = 3;
  i64 before = -far;  // the last point of the piece
  for (const auto& [by, outcome] : panel.points) {
    const Entry& entry = outcome->entries[contender];
    const bool there = entry.failed.empty();
    if (there) {
      const double y = scale.y(outcome->gflops(entry));
      path += fmt::format("{}{:.1f} {:.1f}", by - before < far ? 'L' : 'M', x_of(by), y);
      dots +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}, {}: {:.1f}</title></circle>",
                      x_of(by), y, contender == 0 ? 3.2 : 2.2, colour_of(contender), escaped(outcome->which.name),
                      escaped(entry.name), outcome->gflops(entry) / scale.unit);
    }
    before = there ? by : -far;
  }
  if (path.empty()) return "";
  const char* const dash = dashes[contender % std::size(dashes)];
  return fmt::format("<path class=\"line{}\" d=\"{}\" stroke=\"{}\"{}/>{}\n", contender == 0 ? " ours" : "", path,
                     colour_of(contender), *dash == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash), dots);
}

/// Names of the lines to the right of a panel, each where most of its line is, none on top of another.
std::string names_text(const Panel& panel, const Scale& scale) {
  struct Name {
    std::size_t contender;
    double y;
  };
  std::vector<Name> names;
  for (std::size_t i = 0; i < panel.points.begin()->second->entries.size(); ++i) {
    std::vector<double> rates;
    for (const auto& [by, outcome] : panel.points) {
      const Entry& entry = outcome->entries[i];
      if (entry.failed.empty()) rates.push_back(outcome->gflops(entry));
    }
    std::ranges::sort(rates);
    if (!rates.empty()) names.push_back({i, scale.y(rates[rates.size() / 2])});
  }
  std::ranges::stable_sort(names, {}, &Name::y);
  for (std::size_t i = 1; i < names.size(); ++i) names[i].y = std::max(names[i].y, names[i - 1].y + label_height);
  const double beyond = names.empty() ? 0 : std::max(0.0, names.back().y - panel_height);
  std::string text;
  for (const Name& name : names) {
    const std::string& own = panel.points.begin()->second->entries[name.contender].name;
    text += fmt::format("<text class=\"name\" x=\"{}\" y=\"{:.1f}\" style=\"fill:{}\">{}</text>\n", panel_width + 8,
                        name.y - beyond + 4, colour_of(name.contender), escaped(name_of_contender(own)));
  }
  return text;
}

/// The things that move in any column, in their order.
std::vector<Moved> rows_of(const Sweep& sweep) {
  std::vector<Moved> rows;
  for (const Moved moved : all_moved) {
    for (const Column& column : sweep.columns) {
      if (std::ranges::find(column.panels, moved, &Panel::moved) == column.panels.end()) continue;
      rows.push_back(moved);
      break;
    }
  }
  return rows;
}

double height_of(const Sweep& sweep) {
  return block_head + static_cast<double>(rows_of(sweep).size()) * (panel_height + row_gap) - row_gap + block_foot;
}

std::string heads_text(const Sweep& sweep, double y, const Scale& scale, bool on_gpu) {
  const Case& which = sweep.product->which;
  std::string text =
      fmt::format("<text class=\"product\" x=\"24\" y=\"{}\">{} × {} × {}, {}{}</text>\n", y + 14, which.m, which.n,
                  which.k, name_of(which.type), on_gpu ? "" : fmt::format(", threads: {}", sweep.product->threads));
  text += fmt::format("<text class=\"figure\" x=\"24\" y=\"{}\">worst / best point</text>\n", y + 53);
  for (std::size_t i = 0; i < sweep.columns.size(); ++i) {
    const Column& column = sweep.columns[i];
    text += fmt::format("<text class=\"head\" x=\"{}\" y=\"{}\">{}</text>", panel_left(i), y + 36,
                        column_name(column.layout));
    if (const auto ours = extremes_of(column, 0)) {
      const double worst = ours->worst / scale.unit, best = ours->best / scale.unit;
      text += fmt::format(
          "<text class=\"worst figure\" x=\"{}\" y=\"{}\">{:.{}f} / {:.{}f} = <tspan "
          "class=\"name\">{:.2f}</tspan></text>",
          panel_left(i), y + 53, worst, worst < 10 ? 2 : 0, best, best < 10 ? 2 : 0, worst / best);
    }
    text += '\n';
  }
  return text;
}

std::string block_text(const Sweep& sweep, double y, const Scale& scale, bool on_gpu) {
  std::string text = heads_text(sweep, y, scale, on_gpu);
  y += block_head;
  for (const Moved moved : rows_of(sweep)) {
    const auto [what, how] = row_name(moved);
    text += fmt::format("<text class=\"row\" x=\"24\" y=\"{}\">{}</text><text x=\"24\" y=\"{}\">{}</text>\n",
                        y + panel_height / 2 - 4, what, y + panel_height / 2 + 13, how);
    bool named = false;
    for (std::size_t i = sweep.columns.size(); i-- > 0;) {
      const auto panel = std::ranges::find(sweep.columns[i].panels, moved, &Panel::moved);
      if (panel == sweep.columns[i].panels.end()) continue;
      text += fmt::format("<g transform=\"translate({} {})\">\n{}", panel_left(i), y, frame_text(scale, i == 0));
      for (std::size_t n = sweep.product->entries.size(); n-- > 0;) text += line_text(*panel, n, scale);  // ours on top
      if (!named) text += names_text(*panel, scale);
      named = true;
      text += "</g>\n";
    }
    y += panel_height + row_gap;
  }
  y -= row_gap;
  for (std::size_t i = 0; i < sweep.columns.size(); ++i) {
    for (i64 by = 0; by <= last_shift; ++by) {
      text += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}{}</text>",
                          panel_left(i) + x_of(by), y + 15, by > 0 ? "+" : "", by);
    }
  }
  return text + '\n';
}

std::string string_of(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string sweep_picture(std::string_view record, std::string_view name) {
  const ReadRecord read = read_record(record, name);
  const std::vector<Sweep> sweeps = sweeps_of(read.outcomes);
  if (sweeps.empty()) {
    throw Error(
        ErrorCode::problem,
        fmt::format("{}: no product in it was measured at five leading dimensions or base addresses, as those of "
                    "bench/suites/layout-sweep.csv are, so there is nothing to draw",
                    name));
  }
  const auto measured = [](const Outcome& outcome) {
    return std::ranges::any_of(outcome.entries, [](const Entry& entry) { return entry.failed.empty(); });
  };
  if (std::ranges::none_of(read.outcomes, measured))
    throw Error(ErrorCode::problem,
                fmt::format("{}: no contender in it was measured, so there is nothing to draw", name));
  const Json json = Json::parse(record);
  const bool on_gpu = read.run.target == "cuda";
  const Scale scale(sweeps, on_gpu);
  std::size_t columns = 0;
  double height = top + bottom;
  for (const Sweep& sweep : sweeps) {
    columns = std::max(columns, sweep.columns.size());
    height += height_of(sweep);
  }
  const double width = std::max(panel_left(columns) - column_gap + right, 760.0);
  const std::string title = "Matrix products where rows start anywhere";
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">\n<style>{3}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" rx=\"8\" fill=\"#fbfbf9\"/>\n<text class=\"title\" x=\"24\" "
      "y=\"38\">{2}</text>\n"
      "<text x=\"24\" y=\"59\">{4} of 2·M·N·K, median{5}; {6}, {7}, commit {8}</text>\n",
      width, height, title, style, on_gpu ? "TFLOP/s" : "GFLOP/s", on_gpu ? ", cold caches" : "",
      escaped(string_of(json, "device")), escaped(read.run.date.substr(0, 10)),
      escaped(string_of(json, "commit").substr(0, 7)));
  double y = top;
  for (const Sweep& sweep : sweeps) {
    text += block_text(sweep, y, scale, on_gpu);
    y += height_of(sweep);
  }
  text += fmt::format(
      "<text x=\"24\" y=\"{}\">Across: elements that leading dimensions exceed the packed ones by, or addresses an "
      "aligned "
      "one. All panels have one scale, from 0.</text>\n"
      "<text x=\"24\" y=\"{}\">A, B and C are stored row by row; ᵀ: as the transposed matrix. Every point of every "
      "contender was verified before it was timed.</text>\n",
      y + 22, y + 41);
  return text + "</svg>\n";
}

}  // namespace tilewright::bench
