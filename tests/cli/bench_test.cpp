// `tilewright bench` from the outside. Nothing here depends on a time, nor on a peer being installed.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/command.hpp"

namespace tilewright::test {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void write_suite(const Folder& folder) {
  folder.shell(
      "printf '# tiny\\nname,group,m,n,k,layout,types,lda\\nfirst,g,8,9,10,nn,f16 bf16,11\\nsecond,h,1,5,7,nt,f32,\\n' "
      "> "
      "tiny.csv");
}

TEST(CommandBench, MeasuresAndKeepsARecord) {
  Folder folder;
  write_suite(folder);
  const Ran ran = folder.tilewright({"bench", "--target", "cpu", "--suite", "tiny.csv", "--seconds", "0", "--threads",
                                     "1,2", "--json", "record.json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  for (const char* part : {"first", "8x9x10", "second", "tilewright"})
    EXPECT_TRUE(contains(ran.out, part)) << part << " is not in\n" << ran.out;
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"record.json", "tiny.csv"}));
  folder.python(R"(
record = json.load(open('record.json'))
assert record['device'] and record['commit'] and record['method'] == 'docs/bench-method.md'
assert [(c['name'], c['types'], c['threads']) for c in record['cases']] == [
    ('first', 'f16', 1), ('first', 'f16', 2), ('first', 'bf16', 1), ('first', 'bf16', 2),
    ('second', 'f32', 1), ('second', 'f32', 2)]
for case in record['cases']:
    ours = case['contenders']['tilewright']
    assert ours['us'] > 0 and ours['gflops'] > 0 and ours['spread'] >= 0 and ours['rounds'] >= 6, ours
    assert ours['us_low'] <= ours['us'] <= ours['us_high'] and ours['confidence'] >= 0.95, ours
    assert ' mma=' in ours['plan'], ours
    assert {'name', 'group', 'm', 'n', 'k', 'layout', 'types', 'threads', 'contenders'} <= case.keys()
)");
}

TEST(CommandBench, CasesThreadsAndPlanCanBeChosen) {
  Folder folder;
  write_suite(folder);
  const Ran list = folder.tilewright({"bench", "--suite", "tiny.csv", "--list", "--case", "second"});
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_TRUE(contains(list.out, "1x5x7") && !contains(list.out, "8x9x10")) << list.out;
  const Ran pattern = folder.tilewright({"bench", "--suite", "tiny.csv", "--list", "--case", "f*,s?cond"});
  EXPECT_TRUE(contains(pattern.out, "1x5x7") && contains(pattern.out, "8x9x10")) << pattern.out << pattern.err;
  const Ran ran = folder.tilewright({"bench", "--suite", "tiny.csv", "--seconds", "0", "--case", "second", "--threads",
                                     "1", "--plan", "64x32x32 mma=portable", "--json", "record.json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  folder.python(R"(
record = json.load(open('record.json'))
assert len(record['cases']) == 1 and record['plan_asked'] == '64x32x32 mma=portable'
plan = record['cases'][0]['contenders']['tilewright']['plan']
assert plan.startswith('64x32x32 ') and plan.endswith('mma=portable'), plan
)");
}

TEST(CommandBench, VariablesThatChangePeersAreReportedAndUnset) {
  Folder folder;
  write_suite(folder);
  const Ran ran = folder.shell(
      "OPENBLAS_CORETYPE=Prescott OMP_NUM_THREADS=1 $T bench --suite tiny.csv --case second --threads 1 --seconds 0 "
      "--json 'a b.json'");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "OPENBLAS_CORETYPE=Prescott was set")) << ran.out;
  folder.python(R"(
found = json.load(open('a b.json'))['environment']['found_and_unset']
assert found == {'OMP_NUM_THREADS': '1', 'OPENBLAS_CORETYPE': 'Prescott'}, found
)");
}

TEST(CommandBench, RefusesWrongUse) {
  Folder folder;
  write_suite(folder);
  folder.shell("printf 'name,group,m,n,k,layout,types\\nx,g,1,2,q,nn,f16\\n' > bad.csv");
  const auto refused = [&](std::vector<std::string> arguments, const std::string& part) {
    arguments.insert(arguments.begin(), "bench");
    const Ran ran = folder.tilewright(arguments);
    EXPECT_EQ(ran.status, 2) << part;
    EXPECT_EQ(ran.out, "") << part;
    EXPECT_TRUE(contains(ran.err, part)) << part << " is not in " << ran.err;
  };
  refused({}, "--suite");
  refused({"--suite", "none.csv"}, "none.csv");
  refused({"--suite", "bad.csv"}, "bad.csv, line 2: k is 'q'");
  refused({"--suite", "tiny.csv", "--target", "gpu"}, "--target is 'gpu'");
  refused({"--suite", "tiny.csv", "--against", "openblas,mkl"}, "'mkl': the peers are openblas, onednn, blis");
  refused({"--suite", "tiny.csv", "--against", "blis,blis"}, "blis twice");
  refused({"--suite", "tiny.csv", "--threads", "1,0"}, "--threads is 0");
  refused({"--suite", "tiny.csv", "--threads", "1,1025"}, "--threads is 1025: it must be at most 1024");
  refused({"--suite", "tiny.csv", "--threads", "2,2"}, "2 twice");
  refused({"--suite", "tiny.csv", "--threads", "1,"}, "--threads has an empty part");
  refused({"--suite", "tiny.csv", "--case", "frist"}, "did you mean first?");
  refused({"--suite", "tiny.csv", "--case", "f*,x*"}, "the suite has no case 'x*'");
  refused({"--suite", "tiny.csv", "--sweep", "x.svg"}, "--sweep draws a product at five or more leading dimensions");
  refused({"--suite", "tiny.csv", "--seconds", "-1"}, "--seconds is '-1'");
  refused({"--suite", "tiny.csv", "--plan", "64x32"}, "64x32");
  refused({"--suite", "tiny.csv", "--plan", "64x32x32|64x32"}, "64x32");
  refused({"--suite", "tiny.csv", "--json", "none/record.json"}, "none");
  refused({"--suite", "tiny.csv", "--html", "none/page.html"}, "none");
  refused({"--suite", "tiny.csv", "--target", "cuda", "--threads", "1"}, "--threads speaks of the target cpu");
  refused({"--suite", "tiny.csv", "--target", "cuda", "--against", "blis"}, "the peers are cublas, cublaslt, pad");
  refused({"--suite", "tiny.csv", "--against", "cublas"}, "'cublas': the peers are openblas, onednn, blis");
  refused({"--suite", "tiny.csv", "--cache", "here"}, "--cache is where compiled kernels are kept");
  refused({"--suite", "tiny.csv", "--host"}, "--host measures calls that a GPU carries out");
  refused({"--suite", "tiny.csv", "--cold"}, "--cold measures the first call on a GPU");
  refused({"--suite", "tiny.csv", "--target", "cuda", "--cold", "--html", "x.html"},
          "--cold measures first calls alone");
  refused({"--merge", "none.json"}, "none.json");
  refused({"--merge", "tiny.csv"}, "tiny.csv: it is not JSON");
  refused({"--merge", "a.json", "b.json", "--suite", "tiny.csv"}, "--merge measures nothing; leave --suite out");
  refused({"--merge"}, "--merge needs a value");
  refused({"--merge", "tiny.csv", "--html", "./tiny.csv"}, "which this run needs as well");
  std::filesystem::create_directory(folder.path() / "real");
  std::filesystem::create_symlink("real", folder.path() / "linked");
  refused({"--suite", "tiny.csv", "--json", "real/new", "--html", "linked/new"}, "it is real/new");
  std::ofstream(folder.path() / "typed.json")
      << R"({"device": "d", "cases": [{"name": "a", "group": "g", "m": "three", "n": 1,
    "k": 1, "layout": "nn", "types": "f16", "threads": 1, "contenders": {}}]})";
  refused({"--merge", "typed.json"}, "typed.json: m of its case \"a\" is \"three\", and no extent");
  const auto record = [&](const std::string& cases) {
    std::ofstream(folder.path() / "r.json") << R"({"device": "d", "cases": [)" << cases << "]}";
  };
  const std::string rest = R"("group": "g", "m": 1, "n": 1, "layout": "nn", "types": "f16", "contenders": {})";
  record(R"({"name": "a", "k": 0, )" + rest + "}");
  refused({"--merge", "r.json"}, "k of its case \"a\" is 0");
  const auto strange = [&](const std::string& layout, const std::string& types) {
    record(R"({"name": "a", "group": "g", "m": 1, "n": 1, "k": 1, "contenders": {}, "layout": ")" + layout +
           R"(", "types": ")" + types + "\"}");
  };
  strange("xy", "f16");
  refused({"--merge", "r.json"}, "layout of its case \"a\" is \"xy\", which no case has");
  record(R"({"name": "a", "k": 1, "stepb": 0, )" + rest + "}");
  refused({"--merge", "r.json"}, "stepb of its case \"a\" is 0; a record has whole numbers from 1");
  record(R"({"name": "a", "k": 1, "threads": 1.5, )" + rest + "}");
  refused({"--merge", "r.json"}, "threads of its case \"a\" is 1.5");
  strange("nn", "f17");
  refused({"--merge", "r.json"}, "types of its case \"a\" is \"f17\", which no case has");
  record(R"({"name": "\u001b[31m", "k": 1, )" + rest + "}");
  refused({"--merge", "r.json"}, "is not printable");
  record(std::string(1000, '[') + std::string(1000, ']'));
  refused({"--merge", "r.json"}, "more than 32 levels");
  folder.shell("mkfifo pipe");
  refused({"--merge", "pipe"}, "it is a named pipe and not a regular file");
  refused({"--suite", "pipe"}, "it is a named pipe and not a regular file");
}

TEST(CommandBench, ASweepIsDrawn) {
  Folder folder;
  folder.python(R"(
lines = ['name,group,m,n,k,layout,types,lda']
lines += [f'a{by},g,4,5,6,nn,f16,{6 + by}' for by in range(9)]
open('sweep.csv', 'w').write('\n'.join(lines))
)");
  const Ran ran = folder.tilewright({"bench", "--suite", "sweep.csv", "--seconds", "0", "--threads", "1", "--json",
                                     "record.json", "--sweep", "sweep.svg"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "worst point / best point") && contains(ran.out, "4x5x6 nn f16 on 1")) << ran.out;
  const Ran again = folder.tilewright({"bench", "--merge", "record.json", "--sweep", "again.svg"});
  EXPECT_EQ(again.status, 0) << again.err;
  folder.python(
      "assert open('sweep.svg').read() == open('again.svg').read() and 'Tilewright' in open('sweep.svg').read()");
  folder.shell("sed -i 's/\"lda\":[0-9]*/\"lda\":6/' record.json");
  const Ran none = folder.tilewright({"bench", "--merge", "record.json", "--sweep", "none.svg"});
  EXPECT_EQ(none.status, 2) << none.out;
  EXPECT_TRUE(contains(none.err, "nothing to draw")) << none.err;
}

TEST(CommandBench, RecordsAreJoinedAndShownAsAPage) {
  Folder folder;
  write_suite(folder);
  const Ran ran = folder.tilewright({"bench", "--suite", "tiny.csv", "--seconds", "0", "--threads", "1", "--json",
                                     "record.json", "--html", "page.html"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  folder.python(R"(
record = json.load(open('record.json'))
for case in record['cases']:
    ours = case['contenders']
    case['contenders'] = {'other': {'us': ours['tilewright']['us'] * 2, 'spread': 0.01, 'gflops': 1, 'way': 'its own'}}
json.dump(record, open('other.json', 'w'))
)");
  const Ran merged = folder.tilewright(
      {"bench", "--merge", "record.json", "other.json", "--json", "joined.json", "--html", "joined.html"});
  EXPECT_EQ(merged.status, 0) << merged.err;
  EXPECT_TRUE(contains(merged.out, "geometric mean") && contains(merged.out, "other")) << merged.out;
  folder.python(R"(
joined = json.load(open('joined.json'))
assert all(abs(c['ratio'] - 2) < 1e-3 and c['best_peer'] == 'other' for c in joined['cases']), joined
assert [part['file'] for part in joined['merged']] == ['record.json', 'other.json']
for name, bars in (('page.html', 3), ('joined.html', 6)):
    text = open(name).read()
    assert text.count('class="who"') == bars and '<script' not in text and '://' not in text, name
)");
}

}  // namespace
}  // namespace tilewright::test
