// Records that are read again: joined, and made into a page. Both are held against JSON and XML readers that are not
// the project's.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <tilewright/error.hpp>
#include "bench/html.hpp"
#include "bench/merge.hpp"
#include "bench/record.hpp"
#include "tests/bench/fake_peer.hpp"

namespace tilewright::bench {
namespace {

using Json = nlohmann::ordered_json;

/// A record as of a GPU: two cases, this library and one peer, aspects and conditions.
std::string gpu_record(const std::string& peer_name = "cublas", double peer_us = 40) {
  FakePeer ours("tilewright"), peer(peer_name), none("pad");
  ours.add("16x64x64 <plan> & \"more\"", 50);
  peer.add("a way", peer_us);
  HarnessOptions options = invented_options();
  options.aspects = {{"warm", invented_clock}};
  options.peak = [](DType) { return Peak{1000, "tensor cores at 1 MHz"}; };
  options.memory_gbytes = 100;
  options.conditions = [] { return std::vector<std::pair<std::string, double>>{{"sm_mhz", 1980}}; };
  Peer* const peers[] = {&peer, &none};
  Run run;
  run.suite = "gpu.csv";
  run.target = "cuda";
  run.gpu = GpuFacts{{}, "580.1", 13000, "NVRTC 13.0", 700, 100};
  run.gpu->description.name = "Test <GPU>";
  return record_json(run, run_suite(parse_suite("name,group,m,n,k,layout,types\nx,g,20,30,40,nn,f16\n"
                                                "y,h,7,8,9,nt,bf16\n",
                                                "gpu.csv"),
                                    ours, peers, options));
}

/// The same measurement by a program that has no contender of this library.
std::string foreign_record(const std::string& peer, double us) {
  Json record = Json::parse(gpu_record(peer, us));
  for (Json& one : record["cases"]) {
    for (const char* const name : {"tilewright", "pad"}) one["contenders"].erase(name);
    for (const char* const key : {"ratio", "best_peer"}) one.erase(key);
  }
  record["geometric_means"] = Json::array();
  record["libraries"] = {{peer, {{"version", peer + " 7"}}}};
  return record.dump();
}

TEST(GpuRecord, HasItsForm) {
  const Json json = Json::parse(gpu_record());
  EXPECT_EQ(json.at("device"), "Test <GPU>");
  EXPECT_EQ(json.at("target"), "cuda");
  EXPECT_EQ(json.at("gpu").at("driver"), "580.1");
  EXPECT_EQ(json.at("gpu").at("cuda"), "13.0");
  EXPECT_EQ(json.at("gpu").at("copy_gbytes_per_second"), 100);
  const Json& first = json.at("cases").at(0);
  EXPECT_EQ(first.at("peak_gflops"), 1000);
  EXPECT_FALSE(first.contains("peak_gflops_per_core"));
  EXPECT_EQ(first.at("sm_mhz"), 1980);
  EXPECT_EQ(first.at("bytes"), 2 * (20 * 40 + 40 * 30 + 20 * 30));
  EXPECT_EQ(first.at("roofline_us"), 0.052);  // bytes: 5200 / 100 GB/s; operations would be 0.048
  EXPECT_EQ(first.at("contenders").at("tilewright").at("warm_us"), 50.0);
  EXPECT_EQ(first["contenders"].at("cublas").at("warm_us"), 40.0);
  EXPECT_EQ(first["contenders"].at("pad").at("failed"), "it has no way to do this");
  EXPECT_EQ(json.at("geometric_means").back().at("against").at("cublas"), 0.8);
}

TEST(GpuRecord, TableSpeaksOfTheRooflineAndFits) {
  ReadRecord read = read_record(gpu_record(), "x.json");
  const std::string text = report_text(read.run, read.outcomes);
  for (const char* part : {"TFLOP/s", "roof", "pad has no time: it has no way to do this", "also y bf16 on 1", "warm"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  for (Outcome& outcome : read.outcomes) outcome.entries.resize(8, outcome.entries[1]);
  const std::string wide_text = report_text(read.run, read.outcomes);
  for (std::size_t begin = 0; begin < wide_text.size();) {
    const std::size_t end = std::min(wide_text.find('\n', begin), wide_text.size());
    EXPECT_LE(end - begin, 120u) << wide_text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(GpuRecord, HoldsFirstCalls) {
  Outcome outcome;
  outcome.which = parse_suite("name,group,m,n,k,layout,types\nx,g,20,30,40,nn,f16\n", "x.csv").at(0);
  outcome.first_calls = {{"tilewright", "empty", {200, 0.5, 30, 0.02}, ""}, {"cublas", "", {}, "it is not there"}};
  const std::vector<Outcome> outcomes = {outcome};
  const Json json = Json::parse(record_json({}, outcomes));
  const Json& calls = json.at("cases").at(0).at("first_calls");
  EXPECT_EQ(calls.at(0).at("cache"), "empty");
  EXPECT_EQ(calls[0].at("first_ms"), 30.0);
  EXPECT_EQ(calls[1].at("failed"), "it is not there");
  EXPECT_FALSE(calls[1].contains("cache"));
  const std::string text = first_calls_text(outcomes);
  for (const char* part : {"tilewright   empty", "30.00", "it is not there"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(Merge, JoinsContendersAndCountsAnew) {
  const std::string joined = merged_json({gpu_record(), foreign_record("triton", 25)}, {"a.json", "b.json"});
  const Json json = Json::parse(joined);
  const Json& first = json.at("cases").at(0);
  EXPECT_EQ(first.at("contenders").size(), 4u);
  EXPECT_EQ(first["contenders"].at("triton").at("us"), 25.0);
  EXPECT_EQ(first.at("best_peer"), "triton");
  EXPECT_EQ(json.at("libraries").at("triton").at("version"), "triton 7");
  EXPECT_TRUE(json.at("libraries").contains("tilewright"));
  EXPECT_EQ(first.at("ratio"), 0.5);
  EXPECT_EQ(json.at("geometric_means").back().at("ratio"), 0.5);
  EXPECT_EQ(json["geometric_means"].back().at("against").at("cublas"), 0.8);
  ASSERT_EQ(json.at("merged").size(), 2u);
  EXPECT_EQ(json["merged"][1].at("file"), "b.json");
  EXPECT_TRUE(json["merged"][1].contains("libraries"));
  EXPECT_FALSE(json["merged"][1].contains("cases"));
  const ReadRecord read = read_record(joined, "joined");
  ASSERT_EQ(read.outcomes.size(), 2u);
  EXPECT_EQ(read.outcomes[0].entries.size(), 4u);
  EXPECT_DOUBLE_EQ(read.outcomes[0].entries[0].us.median, 50);
  EXPECT_DOUBLE_EQ(read.outcomes[0].roofline_us(), 0.052);
}

TEST(Merge, WhatIsThereStaysAndWhatIsMissingIsSaid) {
  Json other = Json::parse(foreign_record("cublas", 1));
  other["cases"].erase(1);
  other["cases"][0]["contenders"]["late"] = other["cases"][0]["contenders"]["cublas"];
  const ReadRecord read = read_record(merged_json({gpu_record(), other.dump()}, {"a", "b"}), "joined");
  EXPECT_DOUBLE_EQ(read.outcomes[0].entries[1].us.median, 40);  // cublas of the first record
  ASSERT_EQ(read.outcomes[1].entries.size(), 4u);
  EXPECT_EQ(read.outcomes[1].entries[3].failed, "it did not take part");
}

TEST(Merge, RefusesWhatCannotBeCompared) {
  const auto refusal = [](const std::string& text) {
    try {
      merged_json({gpu_record(), text}, {"a.json", "b.json"});
      return std::string("accepted");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::problem);
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal("{"), "b.json: it is not JSON");
  EXPECT_NE(refusal("[1]").find("b.json: it is not a record"), std::string::npos);
  EXPECT_NE(refusal(R"({"device": "x", "cases": [{"name": "x"}]})").find("has no group"), std::string::npos);
  Json other = Json::parse(foreign_record("triton", 25));
  other["device"] = "another";
  EXPECT_NE(refusal(other.dump()).find("it was measured on \"another\""), std::string::npos);
  other["device"] = "Test <GPU>";
  other["cases"][0]["k"] = 41;
  EXPECT_NE(refusal(other.dump()).find("its case \"x\" is not that of a.json"), std::string::npos);
  other["cases"][0]["k"] = "forty";
  EXPECT_NE(refusal(other.dump()).find("b.json: "), std::string::npos);
}

/// Whether an XML reader takes the page, and finds so many elements of a class.
void expect_elements(const std::string& page, const std::string& checks) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("page-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "page.html") << page;
  std::ofstream(folder / "check.py") << "import sys, xml.etree.ElementTree as tree\n"
                                        "text = open(sys.argv[1], encoding='utf-8').read()\n"
                                        "head = '<!doctype html>\\n'\n"
                                        "assert text.startswith(head)\n"
                                        "root = tree.fromstring(text[len(head):])\n"
                                        "def count(name):\n"
                                        "    return sum(name in e.get('class', '').split() for e in root.iter())\n"
                                     << checks;
  const std::string command = std::string(TILEWRIGHT_PYTHON) + " -B '" + (folder / "check.py").string() + "' '" +
                              (folder / "page.html").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove_all(folder);
}

TEST(Page, IsWellFormedAndNeedsNothingElse) {
  const std::string page = html_page(gpu_record(), "x.json");
  expect_elements(page,
                  "assert count('card') == 2 and count('bar') == 6 and count('ours') == 2\n"
                  "assert count('dot') == 4 and count('roof') == 1 and count('badge') == 2\n"
                  "assert not any(e.tag in ('script', 'link', 'img') for e in root.iter())\n"
                  "assert 'http' not in text and '<GPU>' not in text and 'Test &lt;GPU&gt;' in text\n");
}

TEST(Page, OfACpusRecordAndOfNoPeersAtAll) {
  FakePeer ours("tilewright");
  ours.add("a plan", 50);
  tilewright::bench::Run run;
  run.suite = "cpu.csv";
  HarnessOptions options = invented_options();
  options.threads = {1, 2};
  const auto outcomes =
      run_suite(parse_suite("name,group,m,n,k,layout,types\nx,g,2,3,4,nn,f16\n", "cpu.csv"), ours, {}, options);
  expect_elements(html_page(record_json(run, outcomes), "x.json"),
                  "assert count('card') == 2 and count('badge') == 0 and count('roof') == 0\n"
                  "assert 'GFLOP/s' in text and 'TFLOP/s' not in text\n");
  expect_elements(html_page(record_json(run, {}), "x.json"), "assert count('card') == 0\n");
}

}  // namespace
}  // namespace tilewright::bench
