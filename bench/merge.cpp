// See merge.hpp.
#include "bench/merge.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tilewright/error.hpp>
#include "bench/record_json.hpp"
#include "core/shown.hpp"

namespace tilewright::bench {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(std::string_view name, std::string_view reason) {
  throw Error(ErrorCode::problem, fmt::format("{}: {}", name, reason));
}

/// What is shown of a record goes to terminals and pages.
void check_printable(const Json& json, std::string_view name) {
  const auto check = [&](const std::string& text) {
    if (core::printable(text) != text) refuse(name, fmt::format("'{}' in it is not printable", core::shown(text)));
  };
  if (json.is_string()) check(json.get<std::string>());
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) check(key);
  }
  if (json.is_structured()) {
    for (const Json& value : json) check_printable(value, name);
  }
}

Json parsed(std::string_view text, std::string_view name) {
  constexpr int most_levels = 32;
  const Json::parser_callback_t few_levels = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > most_levels)
      refuse(name, fmt::format("it is JSON of more than {} levels, which no record has", most_levels));
    return true;
  };
  Json record = Json::parse(text, few_levels, false);
  if (record.is_discarded()) refuse(name, "it is not JSON");
  check_printable(record, name);
  if (!record.is_object() || !record.contains("cases") || !record["cases"].is_array() || !record.contains("device"))
    refuse(name, "it is not a record of bench: it has no device or no cases");
  for (const Json& one : record["cases"]) {
    for (const char* const key : {"name", "group", "m", "n", "k", "layout", "types", "contenders"}) {
      if (!one.is_object() || !one.contains(key)) refuse(name, fmt::format("one of its cases has no {}", key));
    }
    constexpr i64 most_extent = i64{1} << 40;
    for (const char* const key : {"m", "n", "k"}) {
      const Json& extent = one[key];
      if (!extent.is_number_integer() || extent < 1 || extent > most_extent)
        refuse(name, fmt::format("{} of its case {} is {}, and no extent", key, one["name"].dump(), extent.dump()));
    }
    constexpr i64 most_elements = i64{1} << 31;
    for (const auto& [key, least] :
         {std::pair{"lda", 1}, {"ldb", 1}, {"ldc", 1}, {"offset", 0}, {"step", 1}, {"stepb", 1}, {"threads", 1}}) {
      if (!one.contains(key)) continue;
      const Json& given = one[key];
      if (!given.is_number_integer() || given < least || given > most_elements)
        refuse(name, fmt::format("{} of its case {} is {}; a record has whole numbers from {} to {}", key,
                                 one["name"].dump(), given.dump(), least, most_elements));
    }
    const auto check = [&](const char* key, std::initializer_list<const char*> known) {
      if (std::ranges::find(known, one[key]) == known.end())
        refuse(name,
               fmt::format("{} of its case {} is {}, which no case has", key, one["name"].dump(), one[key].dump()));
    };
    check("layout", {"nn", "nt", "tn", "tt"});
    check("types", {"f16", "bf16", "f32"});
  }
  return record;
}

bool same(const Json& x, const Json& y, std::initializer_list<const char*> keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const char* key) { return x.value(key, Json()) == y.value(key, Json()); });
}

/// The case of the same name, types and threads, or null.
const Json* counterpart(const Json& record, const Json& wanted) {
  for (const Json& one : record["cases"]) {
    if (same(one, wanted, {"name", "types"}) && one.value("threads", 1) == wanted.value("threads", 1)) return &one;
  }
  return nullptr;
}

/// Adds the contenders of `from` that `to` lacks.
void add_contenders(Json& to, const Json& from) {
  for (const auto& [name, contender] : from["contenders"].items()) {
    if (!to["contenders"].contains(name)) to["contenders"][name] = contender;
  }
}

/// What one part was: everything but its cases and means.
Json head_of(const Json& record, std::string_view name) {
  Json head = {{"file", name}};
  for (const auto& [key, value] : record.items()) {
    if (key != "cases" && key != "geometric_means" && key != "merged") head[key] = value;
  }
  return head;
}

double number(const Json& json, const char* key, double otherwise = 0) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : otherwise;
}

Entry entry_of(const std::string& name, const Json& json) {
  Entry entry;
  entry.name = name;
  entry.failed = json.value("failed", "");
  entry.way = json.value("plan", json.value("way", ""));
  entry.us.median = number(json, "us");
  entry.us.spread = number(json, "spread");
  constexpr double least = 1e-4, most = 1e12;  // us that a call may take
  if (entry.failed.empty() && !(entry.us.median >= least && entry.us.median <= most))
    entry.failed = "the record has no time";
  for (const char* const aspect : {"warm", "stream", "allocating", "host"}) {
    const double us = number(json, fmt::format("{}_us", aspect).c_str());
    if (us > 0) {
      measure::Estimate estimate;
      estimate.median = us;
      estimate.spread = number(json, fmt::format("{}_spread", aspect).c_str());
      entry.aspects.emplace_back(aspect, estimate);
    }
  }
  return entry;
}

Outcome outcome_of(const Json& json, const std::vector<std::string>& contenders, double memory_gbytes) {
  Outcome outcome;
  Case& which = outcome.which;
  which.name = json["name"];
  which.group = json["group"];
  which.m = json["m"], which.n = json["n"], which.k = json["k"];
  which.a_transposed = json["layout"].get<std::string>().starts_with('t');
  which.b_transposed = json["layout"].get<std::string>().ends_with('t');
  which.type = parse_dtype(json["types"].get<std::string>()).value();
  which.step = json.value("step", i64{1});
  which.stepb = json.value("stepb", which.step);
  which.offset = json.value("offset", i64{0});
  which.lda = json.value("lda", which.packed_lda());
  which.ldb = json.value("ldb", which.packed_ldb());
  which.ldc = json.value("ldc", which.packed_ldc());
  outcome.threads = json.value("threads", 1);
  outcome.peak_gflops = number(json, "peak_gflops", number(json, "peak_gflops_per_core"));
  outcome.peak_unit = json.value("peak_unit", "");
  outcome.other_load = number(json, "other_load");
  outcome.below_speed = number(json, "below_speed");
  outcome.memory_gbytes = memory_gbytes;
  for (const std::string& name : contenders) {
    const auto found = json["contenders"].find(name);
    outcome.entries.push_back(found != json["contenders"].end()
                                  ? entry_of(name, *found)
                                  : Entry{name, "", "it did not take part", {}, 0, 0, {}, {}});
  }
  return outcome;
}

/// All contenders of a record, this library first.
std::vector<std::string> contenders_of(const Json& record) {
  std::vector<std::string> names = {"tilewright"};
  for (const Json& one : record["cases"]) {
    for (const auto& [name, contender] : one["contenders"].items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

ReadRecord read(const Json& record) {
  ReadRecord result;
  result.run.target = record.value("target", "cpu");
  result.run.suite = record.value("suite", "");
  result.run.date = record.value("date", "");
  result.run.plan = record.value("plan_asked", "");
  result.run.seconds = number(record, "seconds_per_case");
  const Json gpu = record.value("gpu", Json::object());
  const std::vector<std::string> names = contenders_of(record);
  for (const Json& one : record["cases"])
    result.outcomes.push_back(outcome_of(one, names, number(gpu, "copy_gbytes_per_second")));
  return result;
}

}  // namespace

ReadRecord read_record(std::string_view text, std::string_view name) {
  try {
    return read(parsed(text, name));
  } catch (const Json::exception& error) {
    refuse(name, error.what());
  }
}

std::string merged_json(const std::vector<std::string>& records, const std::vector<std::string>& names) {
  std::size_t at = 0;
  try {
    Json joined = parsed(records.at(0), names.at(0));
    Json parts = Json::array({head_of(joined, names[0])});
    for (at = 1; at < records.size(); ++at) {
      const Json other = parsed(records[at], names[at]);
      if (other["device"] != joined["device"])
        refuse(names[at], fmt::format("it was measured on {}, but {} on {}: times of two devices cannot be compared",
                                      other["device"].dump(), names[0], joined["device"].dump()));
      for (Json& one : joined["cases"]) {
        const Json* const found = counterpart(other, one);
        if (found == nullptr) continue;
        const auto of_b = [](const Json& which) { return which.value("stepb", which.value("step", Json())); };
        if (!same(*found, one, {"m", "n", "k", "layout", "lda", "ldb", "ldc", "offset", "step"}) ||
            of_b(*found) != of_b(one))
          refuse(names[at], fmt::format("its case {} is not that of {}", one["name"].dump(), names[0]));
        add_contenders(one, *found);
      }
      const Json libraries = other.value("libraries", Json::object());
      for (const auto& [name, library] : libraries.items()) {
        if (!joined["libraries"].contains(name)) joined["libraries"][name] = library;
      }
      parts.push_back(head_of(other, names[at]));
    }
    joined["merged"] = parts;
    const std::vector<Outcome> outcomes = read(joined).outcomes;
    for (std::size_t i = 0; i < outcomes.size(); ++i) add_ratio(joined["cases"][i], outcomes[i]);
    joined["geometric_means"] = means_json(outcomes);
    return record_text(joined);
  } catch (const Json::exception& error) {
    refuse(at < names.size() ? names[at] : names.front(), error.what());  // behind the last: what all make together
  }
}

}  // namespace tilewright::bench
