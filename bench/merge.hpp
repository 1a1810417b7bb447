// Records that are read again: joined with those of other programs, and turned into what reports are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.hpp"
#include "bench/record.hpp"

namespace tilewright::bench {

/// The first record with the contenders of the others in its cases: those of the same name, types and threads, and of
/// the same shape and layout. `names` are the files', for messages. A contender that is there already stays as it is;
/// cases that the first one lacks are left out. Ratios and means are those of the joined contenders. The record says
/// under `merged` what each part was. Throws Error problem for a text that is no record, for records of two devices and
/// for cases of one name that differ.
std::string merged_json(const std::vector<std::string>& records, const std::vector<std::string>& names);

/// What a record's text holds, as far as reports speak of it: peers without their libraries, estimates without their
/// intervals. Throws Error problem.
struct ReadRecord {
  Run run;
  std::vector<Outcome> outcomes;
};
ReadRecord read_record(std::string_view text, std::string_view name);

}  // namespace tilewright::bench
