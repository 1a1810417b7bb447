#include <tilewright/tile/check/checker.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "core/overlap.hpp"

namespace tilewright::exact {
namespace {

const char* address_of(const MatrixView& view, i64 row, i64 col) {
  const u64 elements = static_cast<u64>(row) * static_cast<u64>(view.row_stride) +
                       static_cast<u64>(col) * static_cast<u64>(view.col_stride);
  return reinterpret_cast<const char*>(reinterpret_cast<u64>(view.data) +
                                       elements * static_cast<u64>(size_of(view.type)));
}

/// Expected values read inputs by view and index; what is not in a buffer is a mistake of the caller's expectation.
Values values_of(const Ledger& ledger) {
  return [&ledger](const MatrixView& view, i64 row, i64 col) {
    const Ledger::Place place = ledger.find(address_of(view, row, col), view.type);
    return place.buffer < 0 ? Field() : ledger.initial(static_cast<std::size_t>(place.buffer), place.element);
  };
}

// Values of inputs up to this size are computed once; those of larger ones, which may have no end, when they are asked
// for.
constexpr i64 most_remembered = 1 << 20;  // bytes

/// "0, 3..5, 9"
std::string ranges(const std::vector<i64>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", sorted[i]) : fmt::format("{}..{}", sorted[i], sorted[last]);
    i = last + 1;
  }
  return text;
}

bool compares_partials(const std::vector<Expected>& all) {
  return std::any_of(all.begin(), all.end(), [](const Expected& expected) { return expected.partial != nullptr; });
}

}  // namespace

Expected product(const MatrixView& a, const MatrixView& b, const MatrixView& c) {
  Expected expected;
  expected.output = c;
  expected.k = a.cols;
  expected.partial = [a, b](const Values& in, i64 row, i64 col, i64 k_begin, i64 k_end) {
    Field sum;
    for (i64 k = k_begin; k < k_end; ++k) sum = sum + in(a, row, k) * in(b, k, col);
    return sum;
  };
  expected.value = [partial = expected.partial, k = a.cols](const Values& in, i64 row, i64 col) {
    return partial(in, row, col, 0, k);
  };
  expected.k_range = [k = a.cols](i64, i64) { return std::pair<i64, i64>{0, k}; };
  expected.factors = [a, b](i64 row, i64 col, i64 k) { return std::pair{Factor{a, row, k}, Factor{b, k, col}}; };
  return expected;
}

Expected split_parts(const MatrixView& a, const MatrixView& b, const MatrixView& planes, i64 parts, i64 bk) {
  Expected expected;
  expected.output = planes;
  expected.k = a.cols;
  const i64 m = a.rows;
  const i64 each = cdiv(cdiv(a.cols, bk), parts) * bk;
  expected.k_range = [m, each, k = a.cols](i64 row, i64) {
    const i64 part = row / m;
    return std::pair{std::min(part * each, k), std::min((part + 1) * each, k)};
  };
  expected.partial = [a, b, m](const Values& in, i64 row, i64 col, i64 k_begin, i64 k_end) {
    Field sum;
    for (i64 k = k_begin; k < k_end; ++k) sum = sum + in(a, row % m, k) * in(b, k, col);
    return sum;
  };
  expected.value = [partial = expected.partial, range = expected.k_range](const Values& in, i64 row, i64 col) {
    const auto [begin, end] = range(row, col);
    return partial(in, row, col, begin, end);
  };
  expected.factors = [a, b, m](i64 row, i64 col, i64 k) { return std::pair{Factor{a, row % m, k}, Factor{b, k, col}}; };
  return expected;
}

bool Report::has(FaultKind kind) const {
  return std::any_of(faults.begin(), faults.end(), [kind](const Fault& fault) { return fault.kind == kind; });
}

std::string Report::text() const {
  if (passed()) {
    return fmt::format("passed: {} programs, {} loads, {} stores, {} outputs, {} partial sums exact", programs, loads,
                       stores, outputs, partial_sums);
  }
  std::string text;
  for (const Fault& fault : faults) {
    text += fmt::format("{}{}\n", fault.message,
                        fault.count > 1 ? fmt::format(" (and {} more of this kind)", fault.count - 1) : "");
  }
  text.pop_back();
  return text;
}

void check_partials(Run& run, const std::vector<Snapshot>& snapshots, int accumulator, int row, int col,
                    const void* address, DType type, const Site& site) {
  if (run.expected == nullptr) return;
  for (std::size_t e = 0; e < run.expected->size(); ++e) {
    const Expected& expected = (*run.expected)[e];
    if (!expected.partial || expected.output.type != type) continue;
    const i64 offset =
        (static_cast<const char*>(address) - static_cast<const char*>(expected.output.data)) / size_of(type);
    const Logical at = locate(expected.output, offset);
    if (!at.found) continue;
    const Values in = values_of(run.ledger);
    Field sum;
    i64 reached = -1;
    i64 step = 0;
    for (const Snapshot& snapshot : snapshots) {
      if (snapshot.accumulator != accumulator) continue;
      if (reached < 0) reached = snapshot.k_begin;
      const i64 end = std::min(snapshot.k_end, expected.k);
      sum = sum + expected.partial(in, at.row, at.col, reached, end);
      run.partial_sums += 1;
      if (!(snapshot.at(row, col) == sum)) {
        run.ledger.fault(
            FaultKind::wrong_partial_sum,
            fmt::format(
                "program {}, after K step {}: the accumulator at tile position ({}, {}), which becomes element "
                "({}, {}) of the output, does not hold exactly the products of k = {}..{} (a kernel that sums in "
                "another order leaves Expected::partial empty)",
                site.program, step, site.row, site.col, at.row, at.col, snapshot.k_begin, end - 1));
        return;
      }
      reached = std::max(reached, end);
      ++step;
    }
  }
}

Checker::Checker(std::vector<Buffer> buffers, std::vector<Expected> expected, Options options)
    : buffers_(std::move(buffers)),
      expected_(std::move(expected)),
      options_(options),
      ledger_(buffers_, [this](std::size_t buffer, i64 element) { return initial_value(buffer, element); }),
      run_{ledger_, compares_partials(expected_) ? &expected_ : nullptr, 0} {
  initial_.resize(buffers_.size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].role != Role::input || buffers_[i].bytes > most_remembered) continue;
    initial_[i].reserve(static_cast<std::size_t>(buffers_[i].bytes / 2));
    for (i64 element = 0; element < buffers_[i].bytes / 2; ++element) initial_[i].push_back(random_value(i, element));
  }
  for (const Buffer& out : buffers_) {
    if (out.role == Role::input) continue;
    for (const Buffer& in : buffers_) {
      if (in.role != Role::input) continue;
      const auto whole = [](const Buffer& buffer) {
        return buffer.views.empty() ? std::vector<MatrixView>{{buffer.base, DType::f16, 1, buffer.bytes / 2, 0, 1}}
                                    : buffer.views;
      };
      for (const MatrixView& x : whole(out)) {
        for (const MatrixView& y : whole(in)) {
          if (core::overlap(x, y)) {
            ledger_.fault(FaultKind::output_overlaps_input,
                          fmt::format("{} ({}) and {} ({})", out.name, to_string(x), in.name, to_string(y)));
          }
        }
      }
    }
  }
}

Field Checker::initial_value(std::size_t buffer, i64 element) const {
  const std::vector<Field>& known = initial_[buffer];
  if (static_cast<std::size_t>(element) < known.size()) return known[static_cast<std::size_t>(element)];
  return random_value(buffer, element);
}

Field Checker::random_value(std::size_t buffer, i64 element) const {
  return Field::random(mix(options_.seed ^ mix(buffer + 1)) + static_cast<u64>(element));
}

void Checker::run(std::function<i64(Run&)> launch) {
  report_.programs += launch(run_);
  launches_.push_back(std::move(launch));
}

Report Checker::finish() {
  for (const Expected& expected : expected_) compare(expected);
  report_.faults = ledger_.faults();
  report_.loads = ledger_.loads();
  report_.stores = ledger_.stores();
  report_.partial_sums = run_.partial_sums;
  return report_;
}

void Checker::compare(const Expected& expected) {
  const Values in = values_of(ledger_);
  FaultKind wrong_kind = FaultKind::wrong_value;
  if (expected.output.cols == 0) return;  // of any number of rows
  bool probed = false;                    // the first wrong element tells the most
  for (i64 row = 0; row < expected.output.rows; ++row) {
    for (i64 col = 0; col < expected.output.cols; ++col) {
      const Ledger::Place place = ledger_.find(address_of(expected.output, row, col), expected.output.type);
      report_.outputs += 1;
      const auto buffer = static_cast<std::size_t>(place.buffer);
      const Ledger::Written* cell = place.buffer < 0 ? nullptr : ledger_.written(buffer, place.element);
      if (cell == nullptr) {
        ledger_.fault(FaultKind::never_written,
                      fmt::format("element ({}, {}) of {}", row, col,
                                  place.buffer < 0 ? "an output outside of its buffer" : buffers_[buffer].name));
        continue;
      }
      if (cell->value == expected.value(in, row, col)) continue;
      if (probed) {
        ledger_.fault(wrong_kind, "");
        continue;
      }
      probed = true;
      const Uses uses = probe(expected, row, col);
      wrong_kind = uses.counts.empty() ? FaultKind::wrong_value : FaultKind::wrong_k_count;
      ledger_.fault(wrong_kind,
                    fmt::format("element ({}, {}) of {}, written by program {}: {}", row, col, buffers_[buffer].name,
                                cell->program, uses.counts.empty() ? uses.unknown : uses.counts));
    }
  }
}

/// Every launch again with inputs of which the wrong element's factors carry digits: a sum then shows how often each
/// was used. Never empty of words.
Checker::Uses Checker::probe(const Expected& expected, i64 row, i64 col) {
  if (!expected.factors || !expected.k_range) {
    return {"", "no K index is named, because Expected::factors does not say what it sums"};
  }
  const Uses a = count_uses(expected, row, col, true);
  const Uses b = count_uses(expected, row, col, false);
  if (!a.unknown.empty() || !b.unknown.empty()) {
    return {"", fmt::format("no K index is named, because {}", a.unknown.empty() ? b.unknown : a.unknown)};
  }
  if (a.counts.empty() && b.counts.empty()) {
    return {"",
            "it sums each K index once, so the fault is in which elements meet, or in what is done besides the sum"};
  }
  if (a.counts == b.counts) return a;
  const auto or_once = [](const Uses& uses) { return uses.counts.empty() ? "each K index once" : uses.counts; };
  return {fmt::format("in a: {}; in b: {}", or_once(a), or_once(b)), ""};
}

Checker::Uses Checker::count_uses(const Expected& expected, i64 row, i64 col, bool of_a) {
  const auto [begin, end] = expected.k_range(row, col);
  constexpr i64 digits = 15;  // of 4 bits: counts up to 15, 15 K indices a run
  const Ledger::Place out = ledger_.find(address_of(expected.output, row, col), expected.output.type);
  std::vector<i64> missing, twice, more;
  Field without;  // what is there without any of the factors: an addend, or a stray read
  for (i64 first = begin; first < end; first += digits) {
    const i64 last = std::min(first + digits, end);
    std::vector<std::pair<Ledger::Place, Field>> hot;
    std::ptrdiff_t operand = -1;
    for (i64 k = first; k < last; ++k) {
      const auto factors = expected.factors(row, col, k);
      const Factor& factor = of_a ? factors.first : factors.second;
      const Ledger::Place place = ledger_.find(address_of(factor.view, factor.row, factor.col), factor.view.type);
      operand = place.buffer;
      hot.push_back({place, Field::of(i64{1} << (4 * (k - first)))});
    }
    const auto other = expected.factors(row, col, first);
    const Factor& partner = of_a ? other.second : other.first;
    const std::ptrdiff_t ones =
        ledger_.find(address_of(partner.view, partner.row, partner.col), partner.view.type).buffer;
    if (operand < 0 || ones < 0) return {"", "a factor that Expected::factors names lies in no buffer"};
    if (operand == ones) return {"", "both factors lie in one buffer, where their digits would meet"};
    const auto sum_with = [&](i64 times) {
      Ledger probe_ledger(
          buffers_,
          [&](std::size_t buffer, i64 element) {
            if (static_cast<std::ptrdiff_t>(buffer) == ones) return Field::of(1);
            if (static_cast<std::ptrdiff_t>(buffer) != operand) return Field();
            for (const auto& [place, value] : hot) {
              if (place.element == element) return value * Field::of(times);
            }
            return Field();
          },
          false);
      Run probe_run{probe_ledger, nullptr, 0, true};
      for (const auto& launch : launches_) launch(probe_run);
      const Ledger::Written* cell = probe_ledger.written(static_cast<std::size_t>(out.buffer), out.element);
      return cell == nullptr ? Field() : cell->value;
    };
    if (first == begin) without = sum_with(0);
    const Field sum = sum_with(1) - without;
    if (first == begin && !(sum_with(2) - without == sum + sum)) {
      return {"", "the output is not linear in the sum, even where named functions are left out"};
    }
    for (i64 k = first; k < last; ++k) {
      const u64 count = (sum.value() >> (4 * (k - first))) & 15;
      if (count == 0) missing.push_back(k);
      if (count == 2) twice.push_back(k);
      if (count > 2) more.push_back(k);
    }
  }
  std::string text;
  const auto say = [&text](const std::vector<i64>& which, const char* what) {
    if (which.empty()) return;
    if (!text.empty()) text += ", ";
    text += fmt::format("k = {} {}", ranges(which), what);
  };
  say(missing, "missing");
  say(twice, "counted twice");
  say(more, "counted more than twice");
  return {text, ""};
}

}  // namespace tilewright::exact
