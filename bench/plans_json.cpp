// The record of plans as JSON; see plans.hpp.
#include <nlohmann/json.hpp>

#include "bench/plans.hpp"
#include "bench/record_json.hpp"

namespace tilewright::bench {
namespace {

using Json = nlohmann::ordered_json;

Json plan_json(const PlanTable& table, std::size_t at) {
  const plan::ListedPlan& listed = table.list.plans[at];
  Json json = {{"plan", to_string(listed.plan)},
               {"default", listed.plan == table.list.chosen},
               {"by_default", listed.by_default},
               {"predicted_us", rounded(listed.microseconds)}};
  if (table.measured.empty()) return json;
  const MeasuredPlan& one = table.measured[at];
  if (!one.compiled) {
    json["not_compiled"] = one.entry.failed;
  } else {
    json.update(entry_json(table.outcome, one.entry, true));
  }
  return json;
}

Json table_json(const PlanTable& table, bool on_gpu) {
  Json json = extents_json(table.which);
  json["output"] = name_of(table.which.output());
  json["threads"] = table.threads;
  add_strides(json, table.which);
  json["default"] = to_string(table.list.chosen);
  json["why"] = table.list.reason;
  if (const auto best = table.best()) json["best"] = to_string(table.list.plans[*best].plan);
  if (const auto behind = table.behind()) json["default_over_best"] = rounded(*behind);
  if (!table.measured.empty()) {
    json[on_gpu ? "peak_gflops" : "peak_gflops_per_core"] = rounded(table.outcome.peak_gflops);
    json["peak_unit"] = table.outcome.peak_unit;
    json["other_load"] = rounded(table.outcome.other_load, 2);
    json["seconds"] = rounded(table.outcome.seconds, 3);
    for (const auto& [name, value] : table.outcome.conditions) json[name] = rounded(value, 4);
  }
  json["plans"] = Json::array();
  for (std::size_t i = 0; i < table.list.plans.size(); ++i) json["plans"].push_back(plan_json(table, i));
  json["rejected"] = Json::array();
  for (const Candidate& candidate : table.list.rejected)
    json["rejected"].push_back({{"plan", to_string(candidate.plan)}, {"why", candidate.rejected}});
  return json;
}

}  // namespace

std::string plans_json(const PlansRun& run, std::span<const PlanTable> tables) {
  Json record = head_json(run.run);
  if (!run.device.empty()) record["device"] = run.device;
  record["measured"] = run.measured;
  if (run.measured) {
    record["seconds_per_plan"] = run.run.seconds;
    const BehindMean mean = behind_mean(tables);
    if (mean.cases > 0) {
      record["default_over_best"] = {{"geometric_mean", rounded(mean.geometric_mean)},
                                     {"worst", rounded(mean.worst)},
                                     {"worst_case", mean.worst_case},
                                     {"cases", mean.cases}};
    }
  }
  record["cases"] = Json::array();
  for (const PlanTable& table : tables) record["cases"].push_back(table_json(table, run.run.target == "cuda"));
  return record_text(record);
}

}  // namespace tilewright::bench
