// See html.hpp; html_page() at the end is the page from top to bottom, bench/html_style.hpp its looks.
#include "bench/html.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/html_style.hpp"
#include "bench/markup.hpp"
#include "bench/merge.hpp"

namespace tilewright::bench {
namespace {

using Json = nlohmann::ordered_json;

/// A page's data: what the record says, and how its rates are shown.
struct Page {
  Json record;
  ReadRecord read;
  bool on_gpu;

  const char* unit() const { return on_gpu ? "TFLOP/s" : "GFLOP/s"; }
  double rate(const Outcome& outcome, double us) const { return outcome.which.flops() / us * (on_gpu ? 1e-6 : 1e-3); }
};

/// "741.9", "0.38".
std::string shown(double value) {
  return fmt::format("{:.{}f}", value, value < 1 ? 3 : value < 10 ? 2 : value < 1000 ? 1 : 0);
}

std::string ratio_class(double ratio) { return ratio >= 1 ? "ahead" : "behind"; }

void add_fact(std::string& text, std::string_view what, std::string_view value) {
  if (!value.empty()) text += fmt::format("<span>{} <b>{}</b></span>\n", what, escaped(value));
}

std::string facts_text(const Page& page) {
  const Json& record = page.record;
  const auto text_of = [&](const Json& from, const char* key) {
    const auto found = from.find(key);
    return found == from.end() ? std::string() : found->is_string() ? found->get<std::string>() : found->dump();
  };
  std::string text = "<div class=\"facts\">\n";
  add_fact(text, "on", text_of(record, "device"));
  if (const auto gpu = record.find("gpu"); gpu != record.end() && gpu->is_object()) {
    add_fact(text, "driver", text_of(*gpu, "driver"));
    add_fact(text, "CUDA", text_of(*gpu, "cuda"));
    add_fact(text, "copy GB/s", text_of(*gpu, "copy_gbytes_per_second"));
  }
  add_fact(text, "suite", text_of(record, "suite"));
  add_fact(text, "date", text_of(record, "date"));
  add_fact(text, "commit", text_of(record, "commit").substr(0, 12));
  add_fact(text, "plan asked for", text_of(record, "plan_asked"));
  if (const auto libraries = record.find("libraries"); libraries != record.end() && libraries->is_object()) {
    for (const auto& [name, library] : libraries->items()) {
      const std::string missing = text_of(library, "missing");
      add_fact(text, name, missing.empty() ? text_of(library, "version") : "missing");
    }
  }
  return text + "</div>\n";
}

/// The contenders in their order, each with its colour.
std::string legend_text(const Page& page) {
  std::string text = "<div class=\"legend\">\n";
  if (page.read.outcomes.empty()) return "";
  const std::vector<Entry>& entries = page.read.outcomes[0].entries;
  for (std::size_t i = 0; i < entries.size(); ++i)
    text += fmt::format("<span style=\"--c:var(--c{})\">{}</span>\n", i % 7, escaped(entries[i].name));
  return text + "</div>\n";
}

std::string means_text(const Page& page) {
  const std::vector<GroupMean> means = group_means(page.read.outcomes);
  if (means.empty()) return "";
  const std::vector<Entry>& entries = page.read.outcomes[0].entries;
  std::string text =
      "<h2>Against each peer</h2>\n<p>Geometric means of the peer's time over ours: above 1 we are faster. "
      "A case counts where both have a time.</p>\n<div class=\"scroll\"><table>\n<tr><th>group</th><th>cases</th>"
      "<th>best peer</th>";
  for (std::size_t i = 1; i < entries.size(); ++i) text += fmt::format("<th>{}</th>", escaped(entries[i].name));
  text += "</tr>\n";
  const bool several_types = std::any_of(means.begin(), means.end(), [&](const GroupMean& mean) {
    return mean.type != means[0].type || mean.threads != means[0].threads;
  });
  const auto cell = [](double ratio) { return fmt::format("<td class=\"{}\">{:.2f}</td>", ratio_class(ratio), ratio); };
  for (const GroupMean& mean : means) {
    std::string name = escaped(mean.group);
    if (several_types) name += fmt::format(", {} on {}", name_of(mean.type), mean.threads);
    text += fmt::format("<tr{}><td>{}</td><td>{}</td>{}", mean.group == "all" ? " class=\"all\"" : "", name, mean.cases,
                        cell(mean.ratio));
    for (std::size_t i = 1; i < entries.size(); ++i) {
      const auto found = std::find_if(mean.against.begin(), mean.against.end(),
                                      [&](const GroupMean::Against& one) { return one.name == entries[i].name; });
      text += found == mean.against.end() ? "<td></td>" : cell(found->ratio);
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

/// A plot with two logarithmic axes.
class LogPlot {
 public:
  LogPlot(double x_low, double x_high, double y_low, double y_high)
      : x_low_(std::log10(x_low)),
        x_high_(std::log10(x_high)),
        y_low_(std::log10(y_low)),
        y_high_(std::log10(y_high)) {}

  double x(double value) const {
    return left + (std::log10(value) - x_low_) / (x_high_ - x_low_) * (width - left - right);
  }
  double y(double value) const {
    return height - bottom - (std::log10(value) - y_low_) / (y_high_ - y_low_) * (height - top - bottom);
  }
  std::string axes(std::string_view x_name, std::string_view y_name) const {
    std::string text;
    for (double power = std::ceil(x_low_); power <= x_high_; ++power) {
      const double at = x(std::pow(10, power));
      text += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
          "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
          at, top, height - bottom, height - bottom + 18, std::pow(10, power));
    }
    for (double power = std::ceil(y_low_); power <= y_high_; ++power) {
      const double at = y(std::pow(10, power));
      text += fmt::format(
          "<line class=\"grid\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" x1=\"{1}\" x2=\"{2}\"/>"
          "<text y=\"{3:.1f}\" x=\"{4}\" text-anchor=\"end\">{5:g}</text>\n",
          at, left, width - right, at + 4, left - 8, std::pow(10, power));
    }
    return text + fmt::format(
                      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
                      "<text x=\"{}\" y=\"14\">{}</text>\n",
                      width - right, height - 6, x_name, left - 40, y_name);
  }
  static constexpr int width = 980, height = 430;

 private:
  static constexpr int left = 60, right = 20, top = 28, bottom = 44;
  double x_low_, x_high_, y_low_, y_high_;
};

std::string roofline_text(const Page& page) {
  const std::vector<Outcome>& outcomes = page.read.outcomes;
  const auto intensity = [](const Outcome& outcome) { return outcome.which.flops() / outcome.which.bytes(); };
  double low = 1e300, high = 0, least = 1e300, peak = 0, memory = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.peak_gflops <= 0 || outcome.memory_gbytes <= 0) continue;
    low = std::min(low, intensity(outcome));
    high = std::max(high, intensity(outcome));
    peak = std::max(peak, outcome.peak_gflops * static_cast<double>(outcome.threads));
    memory = outcome.memory_gbytes;
    for (const Entry& entry : outcome.entries) {
      if (entry.failed.empty()) least = std::min(least, page.rate(outcome, entry.us.median));
    }
  }
  if (peak <= 0 || least > 1e299) return "";
  const double scale = page.on_gpu ? 1e-3 : 1, ridge = peak / memory;
  const LogPlot plot(std::min(low, ridge) / 2, std::max(high, ridge) * 2, least / 2, peak * scale * 1.6);
  std::string text = fmt::format(
      "<h2>Roofline</h2>\n<p>Each case at its operations for each byte of A, B and C. The line is what the device "
      "allows: "
      "{} GB/s, measured by a copy, and {} {} of {}.</p>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"roofline\">\n",
      shown(memory), shown(peak * scale), page.unit(), escaped(outcomes[0].peak_unit), LogPlot::width, LogPlot::height);
  text += plot.axes("operations a byte", page.unit());
  const double first = std::max(least / 2 / (memory * scale), std::min(low, ridge) / 2);
  text += fmt::format("<polyline class=\"roof\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\"/>\n",
                      plot.x(first), plot.y(first * memory * scale), plot.x(ridge), plot.y(peak * scale),
                      plot.x(std::max(high, ridge) * 2), plot.y(peak * scale));
  for (const Outcome& outcome : outcomes) {
    for (std::size_t i = outcome.entries.size(); i-- > 0;) {  // ours last, on top
      const Entry& entry = outcome.entries[i];
      if (!entry.failed.empty()) continue;
      const double rate = page.rate(outcome, entry.us.median);
      text += fmt::format(
          "<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" style=\"fill:var(--c{})\">"
          "<title>{}, {}: {} {}</title></circle>\n",
          plot.x(intensity(outcome)), plot.y(rate), i == 0 ? 6 : 4, i % 7, escaped(outcome.which.name),
          escaped(entry.name), shown(rate), page.unit());
    }
  }
  return text + "</svg>\n";
}

/// A case's full width: the roofline, or the fastest contender where that is not known or is passed.
double full_rate(const Page& page, const Outcome& outcome) {
  double most = outcome.roofline_us() > 0 ? page.rate(outcome, outcome.roofline_us()) : 0;
  for (const Entry& entry : outcome.entries) {
    if (entry.failed.empty()) most = std::max(most, page.rate(outcome, entry.us.median));
  }
  return most;
}

std::string bar_text(const Page& page, const Outcome& outcome, std::size_t i, double full) {
  const Entry& entry = outcome.entries[i];
  std::string text = fmt::format(
      "<div class=\"bar{}\" style=\"--c:var(--c{})\" title=\"{}\"><span class=\"who\">{}</span>", i == 0 ? " ours" : "",
      i % 7, escaped(entry.failed.empty() ? entry.way : entry.failed), escaped(entry.name));
  if (!entry.failed.empty())
    return text +
           fmt::format("<span class=\"none\">{}</span><span class=\"num\"></span></div>\n", escaped(entry.failed));
  const double rate = page.rate(outcome, entry.us.median), percent = 100 * rate / full;
  const double half = percent * std::min(entry.us.spread, 1.0);
  return text + fmt::format(
                    "<span class=\"track\"><i style=\"width:{:.2f}%\"></i>"
                    "<u style=\"left:{:.2f}%;width:{:.2f}%\"></u></span><span class=\"num\">{}</span></div>\n",
                    percent, std::max(0.0, percent - half), 2 * half, shown(rate));
}

std::string card_text(const Page& page, const Outcome& outcome) {
  const Case& which = outcome.which;
  std::string text = fmt::format("<article class=\"card\"><header><h3>{}</h3>", escaped(which.name));
  if (const auto ratio = outcome.ratio())
    text += fmt::format("<span class=\"badge {}\" title=\"time of the best peer over ours\">{:.2f}×</span>",
                        ratio_class(*ratio), *ratio);
  text += fmt::format("</header><div class=\"what mono\">{} × {} × {} {} {}", which.m, which.n, which.k, which.layout(),
                      name_of(which.type));
  if (!page.on_gpu) text += fmt::format(" on {}", outcome.threads);
  if (outcome.roofline_us() > 0)
    text += fmt::format(" · roof {} {}", shown(page.rate(outcome, outcome.roofline_us())), page.unit());
  text += "</div>\n";
  const double full = full_rate(page, outcome);
  for (std::size_t i = 0; i < outcome.entries.size(); ++i) text += bar_text(page, outcome, i, full);
  return text + "</article>\n";
}

std::string cards_text(const Page& page) {
  std::vector<std::string> groups;
  for (const Outcome& outcome : page.read.outcomes) {
    if (std::find(groups.begin(), groups.end(), outcome.which.group) == groups.end())
      groups.push_back(outcome.which.group);
  }
  std::string text = fmt::format(
      "<h2>Cases</h2>\n<p>{} of 2·M·N·K. A bar's full width is the roofline of the case; the thin line is half of the "
      "interquartile range to either side of the median. The badge is the time of the best peer over ours.</p>\n",
      page.unit());
  text += legend_text(page);
  for (const std::string& group : groups) {
    text += fmt::format("<h2>{}</h2>\n<div class=\"cards\">\n", escaped(group));
    for (const Outcome& outcome : page.read.outcomes) {
      if (outcome.which.group == group) text += card_text(page, outcome);
    }
    text += "</div>\n";
  }
  return text;
}

std::string details_text(const Page& page) {
  const std::vector<Outcome>& outcomes = page.read.outcomes;
  std::vector<std::string> aspects;
  for (const Outcome& outcome : outcomes) {
    for (const Entry& entry : outcome.entries) {
      for (const auto& [name, us] : entry.aspects) {
        if (std::find(aspects.begin(), aspects.end(), name) == aspects.end()) aspects.push_back(name);
      }
    }
  }
  std::string text = fmt::format(
      "<details><summary>All figures</summary>\n<div class=\"scroll\"><table>\n<tr><th>case</th><th>contender</th>"
      "<th>µs</th><th>± %</th><th>{}</th><th>GB/s</th>",
      page.unit());
  for (const std::string& name : aspects) text += fmt::format("<th>{} µs</th>", escaped(name));
  text += "<th style=\"text-align:left\">way</th></tr>\n";
  for (const Outcome& outcome : outcomes) {
    for (const Entry& entry : outcome.entries) {
      text += fmt::format("<tr><td>{}</td><td>{}</td>", escaped(outcome.which.name), escaped(entry.name));
      if (!entry.failed.empty()) {
        text += fmt::format("<td colspan=\"{}\"></td><td class=\"way\">{}</td></tr>\n", 4 + aspects.size(),
                            escaped(entry.failed));
        continue;
      }
      const double us = entry.us.median;
      text += fmt::format("<td>{}</td><td>{:.1f}</td><td>{}</td><td>{}</td>", shown(us), 100 * entry.us.spread,
                          shown(page.rate(outcome, us)), shown(outcome.which.bytes() / us * 1e-3));
      for (const std::string& name : aspects) {
        const auto found = std::find_if(entry.aspects.begin(), entry.aspects.end(),
                                        [&](const auto& one) { return one.first == name; });
        text += found == entry.aspects.end() ? "<td></td>" : fmt::format("<td>{}</td>", shown(found->second.median));
      }
      text += fmt::format("<td class=\"way\">{}</td></tr>\n", escaped(entry.way));
    }
  }
  return text + "</table></div></details>\n";
}

}  // namespace

std::string html_page(std::string_view record, std::string_view name) {
  Page page{Json(), read_record(record, name), false};
  page.record = Json::parse(record);
  page.on_gpu = page.read.run.target == "cuda";
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>Tilewright bench</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<h1>Tilewright beside its peers</h1>\n",
      page_style);
  text += facts_text(page) + means_text(page) + roofline_text(page) + cards_text(page) + details_text(page);
  return text + "</body>\n</html>\n";
}

}  // namespace tilewright::bench
