// The parts of a record as JSON, for those who write one: of a run (record.cpp) or of other records (merge.cpp).
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "bench/harness.hpp"

namespace tilewright::bench {

/// The record's `geometric_means`.
nlohmann::ordered_json means_json(std::span<const Outcome> outcomes);
/// Sets a case's `best_peer` and `ratio`, where there are both.
void add_ratio(nlohmann::ordered_json& case_json, const Outcome& outcome);
/// The file's text: a line for each case.
std::string record_text(const nlohmann::ordered_json& record);

}  // namespace tilewright::bench
