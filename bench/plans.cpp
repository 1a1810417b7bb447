// See plans.hpp.
#include "bench/plans.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include "bench/peer.hpp"

namespace tilewright::bench {
namespace {

/// This library under one plan. Remembers whether it failed because no kernel could be made.
class PlanContender : public Peer {
 public:
  PlanContender(const std::string& text, i64 workspace_bytes)
      : text_(text), library_(this_library(std::vector<AskedPlan>{{text, parse_plan(text), workspace_bytes}})) {}

  std::string name() const override { return text_; }
  std::string version() const override { return library_->version(); }
  std::string file() const override { return ""; }
  std::vector<Way> ways(const Job& job) override {
    std::vector<Way> ways = library_->ways(job);
    for (Way& way : ways) {
      way.run = [this, run = std::move(way.run)] {
        try {
          run();
        } catch (const Error& error) {
          if (error.code() != ErrorCode::kernel && error.code() != ErrorCode::target) throw;
          not_compiled_ = error.what();
          throw;
        }
      };
    }
    return ways;
  }

  /// Why there is no kernel; empty if there is one.
  const std::string& not_compiled() const { return not_compiled_; }

 private:
  std::string text_, not_compiled_;
  std::unique_ptr<Peer> library_;
};

}  // namespace

std::optional<std::size_t> PlanTable::best() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!measured[i].has_time()) continue;
    if (!best || measured[i].entry.us.median < measured[*best].entry.us.median) best = i;
  }
  return best;
}

std::optional<double> PlanTable::behind() const {
  if (measured.empty() || !measured[list.chosen_at()].has_time()) return std::nullopt;
  return measured[list.chosen_at()].entry.us.median / measured[*best()].entry.us.median;
}

bool PlanTable::right() const { return behind().has_value() && std::ranges::none_of(measured, &MeasuredPlan::wrong); }

void measure_plans(PlanTable& table, const HarnessOptions& options, double seconds) {
  std::vector<std::unique_ptr<PlanContender>> contenders;
  std::vector<Peer*> others;
  for (const plan::ListedPlan& one : table.list.plans) {
    contenders.push_back(std::make_unique<PlanContender>(to_string(one.plan), table.workspace_bytes));
    if (contenders.size() > 1) others.push_back(contenders.back().get());
  }
  HarnessOptions here = options;
  here.threads = {table.threads};
  here.rounds.seconds = seconds * static_cast<double>(contenders.size());
  table.outcome = std::move(run_suite(std::span(&table.which, 1), *contenders[0], others, here).at(0));
  table.measured.clear();
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    MeasuredPlan one{std::move(table.outcome.entries[i]), contenders[i]->not_compiled().empty()};
    if (!one.compiled) one.entry.failed = contenders[i]->not_compiled();
    table.measured.push_back(std::move(one));
  }
  table.outcome.entries.clear();
}

BehindMean behind_mean(std::span<const PlanTable> tables) {
  BehindMean mean;
  double logarithms = 0;
  for (const PlanTable& table : tables) {
    const auto behind = table.behind();
    if (!behind) continue;
    ++mean.cases;
    logarithms += std::log(*behind);
    if (mean.worst_case.empty() || *behind > mean.worst) {
      mean.worst = *behind;
      mean.worst_case = fmt::format("{} {}", table.which.name, name_of(table.which.type));
    }
  }
  if (mean.cases > 0) mean.geometric_mean = std::exp(logarithms / static_cast<double>(mean.cases));
  return mean;
}

}  // namespace tilewright::bench
