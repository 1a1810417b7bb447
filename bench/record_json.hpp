// The parts of a record as JSON, for those who write one: of a run (record.cpp), of other records (merge.cpp), of the
// plans of cases (plans_json.cpp).
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "bench/harness.hpp"
#include "bench/record.hpp"

namespace tilewright::bench {

/// To so many significant digits: a time has no more than five.
double rounded(double value, int digits = 5);
/// Everything that a record says beside its cases, and beside how long each was measured.
nlohmann::ordered_json head_json(const Run& run);
/// What a case is, and where its elements lie.
nlohmann::ordered_json extents_json(const Case& which);
void add_strides(nlohmann::ordered_json& case_json, const Case& which);
/// A contender's figures, or why it has none; ours: its way is a plan.
nlohmann::ordered_json entry_json(const Outcome& outcome, const Entry& entry, bool ours);
/// The record's `geometric_means`.
nlohmann::ordered_json means_json(std::span<const Outcome> outcomes);
/// Sets a case's `best_peer` and `ratio`, where there are both.
void add_ratio(nlohmann::ordered_json& case_json, const Outcome& outcome);
/// The file's text: a line for each case.
std::string record_text(const nlohmann::ordered_json& record);

}  // namespace tilewright::bench
