// Sweeps: which cases are one, the figure of each transposition, and the picture, held against an XML reader that is
// not the project's.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <tilewright/error.hpp>
#include "bench/merge.hpp"
#include "bench/record.hpp"
#include "bench/sweep.hpp"
#include "bench/sweep_panels.hpp"

namespace tilewright::bench {
namespace {

std::vector<Case> committed() {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/bench/suites/layout-sweep.csv");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return parse_suite(text, "layout-sweep.csv");
}

/// A case of so many GFLOP/s by each contender; 0: it has no time.
Outcome outcome_of(const Case& which, std::initializer_list<std::pair<const char*, double>> rates) {
  Outcome outcome{which, 1, {}, 0, {}};
  for (const auto& [name, rate] : rates) {
    Entry entry;
    entry.name = name;
    if (rate > 0) {
      entry.us.median = which.flops() / rate * 1e-3;
    } else {
      entry.failed = "no operand needs padding";
    }
    outcome.entries.push_back(entry);
  }
  return outcome;
}

bool packed(const Case& one) { return one.lda % 8 == 0 && one.ldb % 8 == 0 && one.ldc % 8 == 0 && one.offset % 8 == 0; }

/// As if rates were: ours half as fast where A is odd in nn, a third of the best at one address in tt.
std::vector<Outcome> invented() {
  std::vector<Outcome> outcomes;
  for (const Case& one : committed()) {
    const bool slow = one.name == "ls4096_tt_base3", half = one.layout() == "nn" && one.lda % 2 == 1;
    outcomes.push_back(outcome_of(one, {{"tilewright", slow   ? 200e3
                                                       : half ? 300e3
                                                              : 600e3},
                                        {"cublaslt", packed(one) ? 610e3 : 140e3},
                                        {"pad", packed(one) ? 0 : 500e3}}));
  }
  return outcomes;
}

std::string record_of(std::span<const Outcome> outcomes) {
  Run run;
  run.suite = "layout-sweep.csv";
  run.target = "cuda";
  run.date = "2026-01-02T03:04:05Z";
  run.gpu = GpuFacts{{}, "580.1", 13000, "NVRTC 13.0", 700, 100};
  run.gpu->description.name = "Test <GPU>";
  return record_json(run, outcomes);
}

TEST(Sweep, TheCommittedSuiteIsOneAndOthersAreNone) {
  EXPECT_EQ(committed().size(), 180u);
  EXPECT_TRUE(holds_sweep(committed()));
  for (const char* const suite : {"gpu.csv", "cpu.csv"}) {
    std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR "/bench/suites/") + suite);
    EXPECT_FALSE(holds_sweep(parse_suite(std::string((std::istreambuf_iterator<char>(file)), {}), suite))) << suite;
  }
}

TEST(Sweep, TheCommittedSuiteMovesWhatItsNamesSay) {
  const std::vector<Outcome> outcomes = invented();
  const std::vector<Sweep> sweeps = sweeps_of(outcomes);
  ASSERT_EQ(sweeps.size(), 2u);
  constexpr const char* names[] = {"a", "b", "c", "abc", "base"};
  for (const Sweep& sweep : sweeps) {
    const bool square = sweep.product->which.m == 4096;
    EXPECT_EQ(sweep.columns.size(), 4u);
    for (const Column& column : sweep.columns) {
      EXPECT_EQ(column.panels.size(), square ? 5u : 1u);
      for (const Panel& panel : column.panels) {
        EXPECT_EQ(panel.points.size(), !square ? 5u : panel.moved == Moved::base ? 8u : 9u);
        for (const auto& [by, outcome] : panel.points) {
          const std::string moved = names[static_cast<std::size_t>(panel.moved)];
          EXPECT_EQ(outcome->which.name, (square ? "ls4096_" : "ls2048_") + column.layout + "_" +
                                             (by == 0 ? "packed" : moved + std::to_string(by)));
          EXPECT_EQ(outcome->which.group, by == 0 ? "packed" : moved == "base" ? "base" : "ld_" + moved);
        }
      }
    }
  }
}

TEST(Sweep, TheFigureIsTheWorstPointOverTheBest) {
  const std::vector<Outcome> outcomes = invented();
  const std::string text = sweep_text(outcomes);
  for (const char* const part :
       {"4096x4096x4096 nn f16 on 1               0.50       0.23       1.00  ls4096_nn_a1\n",
        "4096x4096x4096 nt f16 on 1               1.00       0.23       1.00  ls4096_nt_packed\n",
        "4096x4096x4096 tt f16 on 1               0.33       0.23       1.00  ls4096_tt_base3\n",
        "2048x8192x2048 nn f16 on 1               0.50", "tilewright   cublaslt        pad  our worst\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  const ReadRecord read = read_record(record_of(outcomes), "x.json");
  EXPECT_NE(report_text(read.run, read.outcomes).find(text), std::string::npos);
  EXPECT_EQ(sweep_text({}), "");
  EXPECT_EQ(sweep_text(std::span(outcomes).first(4)), "");
}

TEST(Sweep, ThePictureIsWellFormedAndHoldsEveryLine) {
  const std::string picture = sweep_picture(record_of(invented()), "x.json");
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("sweep-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "sweep.svg") << picture;
  std::ofstream(folder / "check.py") << R"(import sys, xml.etree.ElementTree as tree
text = open(sys.argv[1], encoding='utf-8').read()
root = tree.fromstring(text)
def count(name):
    return sum(name in e.get('class', '').split() for e in root.iter())
panels = 4 * 5 + 4
assert count('panel') == panels and count('ours') == panels and count('line') == 3 * panels
circles = sum(e.tag.endswith('circle') for e in root.iter())
ours, padded = 4 * (4 * 9 + 8) + 4 * 5, 4 * (4 * 7 + 7) + 4 * 3
assert circles == 2 * ours + padded, circles
assert count('worst') == 8 and '0.33' in text and '>0.50<' in text
for name in ('Tilewright', 'cuBLASLt', 'padding copies'):
    assert text.count('>' + name + '<') == 6, name
assert 'Test &lt;GPU&gt;' in text and '2026-01-02' in text
assert not any(e.tag.split('}')[-1] in ('script', 'image', 'foreignObject') for e in root.iter())
assert text.count('http') == 1 and 'nan' not in text and 'inf' not in text.replace('info', '')
width, height = (float(x) for x in root.get('viewBox').split()[2:])
assert 600 < width < 1100 and 600 < height < 1300, (width, height)
)";
  const std::string command = fmt::format("{} -B '{}' '{}'", TILEWRIGHT_PYTHON, (folder / "check.py").string(),
                                          (folder / "sweep.svg").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove_all(folder);
}

TEST(Sweep, ThePictureRefusesWhatHoldsNone) {
  const auto refusal = [](const std::string& record) {
    try {
      sweep_picture(record, "x.json");
      return std::string("drawn");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::problem);
      return std::string(error.what());
    }
  };
  const std::vector<Outcome> outcomes = invented();
  EXPECT_NE(refusal(record_of(std::span(outcomes).first(4))).find("x.json: no product in it was measured at five"),
            std::string::npos);
  EXPECT_NE(refusal(record_of({})).find("nothing to draw"), std::string::npos);
  std::vector<Outcome> unmeasured = invented();
  for (Outcome& outcome : unmeasured) outcome.entries.clear();
  EXPECT_NE(refusal(record_of(unmeasured)).find("no contender in it was measured"), std::string::npos);
  EXPECT_EQ(refusal("{"), "x.json: it is not JSON");
}

}  // namespace
}  // namespace tilewright::bench
