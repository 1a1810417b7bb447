// What a run leaves: the record's form, its file, and the table.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <tilewright/error.hpp>
#include "bench/record.hpp"
#include "tests/bench/fake_peer.hpp"

namespace tilewright::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Measured {
  Run run, part;
  std::vector<Outcome> outcomes;
};

/// Two cases, one of them behind; a peer that is right, one that is wrong, one that is missing.
Measured measured() {
  FakePeer ours("tilewright");
  auto quick = std::make_unique<FakePeer>("quick"), wrong = std::make_unique<FakePeer>("wrong");
  ours.add("a plan", 50);
  quick->add("first", 60).add("second", 40);
  wrong->add("cheating", 1, [](const Job&) {});
  Measured result;
  result.run = {"suites/x.csv", "2025-01-02T03:04:05Z", "", 0, {{"OPENBLAS_CORETYPE", "Prescott"}}, "Tilewright 1", {}};
  Peer* const peers[] = {quick.get(), wrong.get()};
  result.outcomes =
      run_suite(parse_suite("name,group,m,n,k,layout,types,lda\nx,g,20,30,40,nn,f16,41\ny,h,7,8,9,nt,bf16,\n", "x.csv"),
                ours, peers, invented_options());
  result.part.whole = false;
  result.run.peers.push_back({"quick", std::move(quick), "", {{"QUICK_MODE", "1"}}});
  result.run.peers.push_back({"wrong", std::move(wrong), "", {}});
  result.run.peers.push_back({"absent", nullptr, "libabsent.so: no such file", {}});
  return result;
}

TEST(Record, HasItsForm) {
  const Measured one = measured();
  const Json json = Json::parse(record_json(one.run, one.outcomes));
  EXPECT_FALSE(json.at("device").get<std::string>().empty());
  EXPECT_FALSE(json.at("commit").get<std::string>().empty());
  EXPECT_EQ(json.at("method"), "docs/bench-method.md");
  EXPECT_EQ(json.at("date"), "2025-01-02T03:04:05Z");
  EXPECT_EQ(json.at("suite"), "x.csv");
  EXPECT_EQ(json.at("environment").at("found_and_unset").at("OPENBLAS_CORETYPE"), "Prescott");
  EXPECT_EQ(json.at("environment").at("set").at("QUICK_MODE"), "1");
  EXPECT_EQ(json.at("libraries").at("quick").at("version"), "quick 1.0");
  EXPECT_EQ(json.at("libraries").at("absent").at("missing"), "libabsent.so: no such file");
  EXPECT_TRUE(json.at("machine").contains("processor"));
  EXPECT_TRUE(json.contains("compiler"));

  ASSERT_EQ(json.at("cases").size(), 2u);
  const Json& first = json["cases"][0];
  const std::pair<const char*, Json> fields[] = {
      {"name", "x"},         {"group", "g"},   {"m", 20},      {"n", 30},   {"k", 40},
      {"layout", "nn"},      {"types", "f16"}, {"threads", 1}, {"lda", 41}, {"ratio", 0.8},
      {"best_peer", "quick"}};
  for (const auto& [key, value] : fields) EXPECT_EQ(first.at(key), value) << key;
  const Json& contenders = first.at("contenders");
  EXPECT_EQ(contenders.begin().key(), "tilewright");
  EXPECT_EQ(contenders.at("tilewright").at("us"), 50.0);
  EXPECT_EQ(contenders["tilewright"].at("spread"), 0.0);
  EXPECT_EQ(contenders["tilewright"].at("plan"), "a plan");
  EXPECT_EQ(contenders["tilewright"].at("gflops"), 0.96);
  EXPECT_EQ(contenders.at("quick").at("way"), "second");
  EXPECT_EQ(contenders["quick"].at("trials").size(), 2u);
  EXPECT_NE(contenders.at("wrong").at("failed").get<std::string>().find("not written"), std::string::npos);
  EXPECT_FALSE(contenders["wrong"].contains("us"));
  EXPECT_EQ(json.at("geometric_means").back().at("group"), "all");
  EXPECT_FALSE(json.contains("whole"));
  EXPECT_EQ(Json::parse(record_json(one.part, std::span(one.outcomes).first(1))).at("whole"), false);
}

TEST(Record, TableFitsAndNamesWhatIsBehind) {
  const Measured one = measured();
  const std::string text = report_text(one.run, one.outcomes);
  for (const char* part : {"quick      quick 1.0", "absent     left out: libabsent.so: no such file",
                           "told QUICK_MODE=1", "OPENBLAS_CORETYPE=Prescott was set", "20x30x40", "geometric mean",
                           "all", "behind the best peer:", "0.80  x f16 on 1: quick, second", "wrong has no time"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  const std::string alone = report_text({}, {});
  EXPECT_EQ(alone.find("geometric"), std::string::npos);
}

TEST(Record, TableHasAtMost120Columns) {
  Measured one = measured();
  for (Outcome& outcome : one.outcomes) {
    outcome.entries.resize(4, outcome.entries[1]);  // this library and three peers
    outcome.entries[3].name = "openblas";
    outcome.which.m = outcome.which.n = outcome.which.k = 4096;
  }
  std::istringstream lines(report_text({}, one.outcomes));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("has no time") != std::string::npos) continue;
    std::size_t columns = 0;
    for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u ? 1 : 0;
    EXPECT_LE(columns, 120u) << line;
  }
}

TEST(Record, ColumnsStandBelowTheirNamesWhateverTheCasesAreCalled) {
  Measured one = measured();
  one.outcomes[0].which.name = "a-name-of-more-than-fifteen-letters";
  std::istringstream lines(report_text({}, one.outcomes));
  std::size_t shape = 0, seen = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("case ")) shape = line.find("shape");
    if (const std::size_t at = line.find("20x30x40"); at != std::string::npos) {
      EXPECT_EQ(at, shape) << line;
      ++seen;
    }
  }
  EXPECT_GE(seen, 1u);
}

TEST(Record, FileAppearsWholeOrNotAtAll) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("record-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto content = [&](const char* name) {
    std::ifstream file(folder / name);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  check_record_path(folder / "a.json");
  write_record(folder / "a.json", "first\n");
  write_record(folder / "a.json", "second\n");
  EXPECT_EQ(content("a.json"), "second\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_THROW(check_record_path(folder / "none" / "a.json"), Error);
  EXPECT_THROW(check_record_path(folder), Error);
  EXPECT_THROW(check_record_path(folder / "a.json", {folder / "." / "a.json"}), Error) << "what the run reads";
  EXPECT_THROW(check_record_path(folder / "b.json", {folder / "b.json"}), Error) << "two files, neither there yet";
  check_record_path(folder / "b.json", {folder / "a.json"});
  EXPECT_THROW(write_record(folder / "none" / "a.json", "x"), Error);
  EXPECT_THROW(write_record(folder, "x"), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  // A link stays one, and what it leads to is written.
  std::filesystem::create_symlink("a.json", folder / "link");
  write_record(folder / "link", "third\n");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(content("a.json"), "third\n");
  EXPECT_THROW(check_record_path(folder / "link", {folder / "a.json"}), Error);
  std::filesystem::remove_all(folder);
}

TEST(Record, SuiteIsListed) {
  const std::string text =
      suite_text(parse_suite("name,group,m,n,k,layout,types\nx,g,20,30,40,nt,f16 bf16\n", "x.csv"));
  EXPECT_NE(text.find("20x30x40"), std::string::npos);
  EXPECT_NE(text.find("bf16"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::bench
