// `tilewright plans` from the outside: on this CPU, for a GPU that is assumed, and on one that a test's driver has.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cuda/pack.hpp"
#include "pack/kernels.hpp"
#include "tests/cli/command.hpp"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CommandPlans, ListsWhatThePlannerWeighs) {
  Folder folder;
  const Ran ran = folder.tilewright({"plans", "--m", "200", "--n", "300", "--k", "400", "--threads", "1"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* part : {"C[200x300] = A[200x400] * B[400x300], f16 to f16, layout nn", "on 1 thread of this CPU",
                           "predicted", "\ndefault ", "nothing is measured", "least modelled time of"})
    EXPECT_TRUE(contains(ran.out, part)) << part << " is not in\n" << ran.out;
  EXPECT_FALSE(contains(ran.out, "GFLOP/s") || contains(ran.out, "the best measured plan")) << ran.out;
  folder.shell(
      "$T plans --m 200 --n 300 --k 400 --threads 1 --json l.json && $T explain --m 200 --n 300 --k 400 "
      "--threads 1 --json > e.json");
  folder.python(R"(
plans, explained = json.load(open('l.json')), json.load(open('e.json'))
ours = [(p['plan'], p['predicted_us']) for p in plans['cases'][0]['plans']]
theirs = [(c['plan'], c['modelled_us']) for c in explained['candidates'] if 'modelled_us' in c]
assert [p for p, _ in ours] == [p for p, _ in theirs], (ours, theirs)
assert all(abs(x - y) <= 1e-3 * y for (_, x), (_, y) in zip(ours, theirs)), (ours, theirs)
)");
}

TEST(CommandPlans, MeasuresThemAndKeepsARecord) {
  Folder folder;
  const Ran ran = folder.tilewright({"plans",    "--m",       "64",        "--n", "48",      "--k",   "80",
                                     "--layout", "nt",        "--ldb",     "81",  "--dtype", "bf16",  "--out-dtype",
                                     "f32",      "--measure", "--seconds", "0",   "--json",  "r.json"});
  EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(contains(ran.out, "x the best measured plan\n") && contains(ran.out, "GFLOP/s")) << ran.out;
  folder.python(R"(
r = json.load(open('r.json'))
assert r['measured'] and r['target'] == 'cpu' and r['seconds_per_plan'] == 0 and r['device']
case, = r['cases']
assert (case['m'], case['n'], case['k'], case['layout'], case['ldb']) == (64, 48, 80, 'nt', 81), case
assert (case['types'], case['output']) == ('bf16', 'f32'), case
plans = case['plans']
assert len(plans) > 2 and sum(p['default'] for p in plans) == 1 and all(p['by_default'] for p in plans), plans
for p in plans:
    assert p['us'] > 0 and p['rounds'] >= 6 and p['us_low'] <= p['us'] <= p['us_high'] and p['worst_error'] <= 1, p
default, = [p for p in plans if p['default']]
best = min(plans, key=lambda p: p['us'])
assert case['default'] == default['plan'] and case['best'] == best['plan'], case
assert abs(case['default_over_best'] - default['us'] / best['us']) < 1e-3 and case['default_over_best'] >= 1, case
assert r['default_over_best'] == {'geometric_mean': case['default_over_best'], 'worst': case['default_over_best'],
                                  'worst_case': '64x48x80 bf16', 'cases': 1}, r
)");
}

TEST(CommandPlans, AllTopAndPlanSayWhichOnes) {
  Folder folder;
  folder.shell(
      "for o in '' '--all' '--all --top 3' '--all --plan 64x32x32'; do $T plans --m 100 --n 100 --k 100 $o "
      "--json \"$(echo r$o | tr -d ' -').json\"; done");
  folder.python(R"(
few, every, top, tile = [json.load(open(f'{n}.json'))['cases'][0]['plans'] for n in
                         ('r', 'rall', 'ralltop3', 'rallplan64x32x32')]
names = lambda plans: [p['plan'] for p in plans]
assert set(names(few)) < set(names(every)) and len(set(names(every))) == len(every)
assert names(top)[:3] == names(every)[:3] and len(top) <= 4 and any(p['default'] for p in top)
assert tile and all(n.startswith('64x32x32 ') for n in names(tile))
assert names(every) == names(sorted(every, key=lambda p: p['predicted_us']))
)");
}

TEST(CommandPlans, ASuiteGetsALineForEachCaseAndTheMeans) {
  Folder folder;
  folder.shell(
      "printf 'name,group,m,n,k,layout,types\\nfirst,g,8,9,10,nn,f16 bf16\\nother,h,33,5,7,nt,f32\\n' > s.csv");
  const Ran listed = folder.tilewright({"plans", "--suite", "s.csv"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_TRUE(contains(listed.out, "33x5x7") && contains(listed.out, "predicted")) << listed.out;
  const Ran ran = folder.tilewright({"plans", "--suite", "s.csv", "--measure", "--seconds", "0", "--json", "r.json"});
  EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_TRUE(contains(ran.out, "x the best measured plan: geometric mean of 3 cases\nworst ")) << ran.out;
  const Ran one = folder.tilewright({"plans", "--suite", "s.csv", "--case", "other", "--measure", "--seconds", "0"});
  EXPECT_TRUE(contains(one.out, "C[33x5] = A[33x7] * B[7x5], f32 to f32, layout nt")) << one.out;
  folder.python(R"(
import math
r = json.load(open('r.json'))
assert [(c['name'], c['types']) for c in r['cases']] == [('first', 'f16'), ('first', 'bf16'), ('other', 'f32')]
behind = [c['default_over_best'] for c in r['cases']]
mean = math.exp(sum(map(math.log, behind)) / 3)
assert abs(r['default_over_best']['geometric_mean'] - mean) < 1e-3 and r['default_over_best']['worst'] == max(behind)
assert 'whole' not in r and r['suite'] == 's.csv'
)");
}

TEST(CommandPlans, RefusesWrongUse) {
  Folder folder;
  folder.shell("printf 'name,group,m,n,k,layout,types\\nfirst,g,8,9,10,nn,f16\\n' > s.csv");
  const auto refused = [&](const std::string& arguments, const std::string& part) {
    const Ran ran = folder.shell("$T plans " + arguments);
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_EQ(ran.out, "") << arguments;
    EXPECT_TRUE(contains(ran.err, part)) << part << " is not in " << ran.err;
  };
  const std::string problem = "--m 8 --n 9 --k 10 ";
  refused("--m 8 --n 9", "--k is missing: the problem needs --m, --n and --k, or --suite FILE.csv");
  refused(problem + "--lda 9", "--lda is 9, but a stored row holds K = 10 elements");
  refused(problem + "--suite s.csv", "--suite states its problems; leave --m out");
  refused("--suite s.csv --dtype f32", "leave --dtype out");
  refused("--suite s.csv --case frist", "did you mean first?");
  refused("--suite none.csv", "none.csv");
  refused(problem + "--case first", "--case names cases of a suite");
  refused(problem + "--seconds 1", "--seconds is of measurements: give --measure as well");
  refused(problem + "--measure --seconds -1", "--seconds is '-1'");
  refused("--m 8 --n 9 --k 0 --measure", "--k is 0: there is nothing to measure");
  refused(problem + "--top 0", "--top is 0: it must be at least 1");
  refused(problem + "--target cuda --threads 2", "--threads speaks of the target cpu");
  refused(problem + "--target cuda --cache c", "--cache is where compiled kernels are kept");
  refused(problem + "--plan 7x7x7", "the tile 7x7x7 is not compiled in");
  refused(problem + "--json none/r.json", "none");
}

class PlansOfAGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<cuda::PackEntry> entries;
    for (const auto& kernel : pack::default_kernels()) {
      entries.push_back({"g", kernel.unit, kernel.architecture, {}});
      entries.back().cubin.image.assign({'x', '\0'});
    }
    std::ofstream(folder.path() / "fake.pack", std::ios::binary) << cuda::pack_bytes(std::move(entries));
    // In the place of NVRTC a library that is none: whatever the machine has, nothing can be compiled.
    fs::create_directory(folder.path() / "lib");
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      fs::copy(driver() / "libcuda.so.1", folder.path() / "lib" / name);
  }
  static fs::path driver() {
    return fs::path(TILEWRIGHT_COMMAND).parent_path().parent_path() / "tests" / "fake_driver" / "lib";
  }
  /// The command with a device that multiplies as `product` says: right, or all but one element right.
  Ran on_gpu(const std::string& product, const std::string& arguments) const {
    return folder.shell("FAKE_PRODUCT=" + product +
                        " TILEWRIGHT_PACK=fake.pack LD_LIBRARY_PATH=\"$PWD/lib:" + driver().string() +
                        "\" $T plans --target cuda --cache cache --measure --seconds 0 " + arguments);
  }

  Folder folder;
};

TEST_F(PlansOfAGpu, AreListedWithoutOne) {
  const Ran ran = folder.shell("CUDA_VISIBLE_DEVICES= $T plans --m 4096 --n 4096 --k 4096 --target cuda");
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* part : {"on an NVIDIA H200, assumed because no GPU is here", "a=tma b=tma", "\ndefault "})
    EXPECT_TRUE(contains(ran.out, part)) << part << " is not in\n" << ran.out;
  const Ran measured = folder.shell("CUDA_VISIBLE_DEVICES= $T plans --m 8 --n 8 --k 8 --target cuda --measure");
  EXPECT_EQ(measured.status, 2);
  EXPECT_EQ(measured.out, "");
  EXPECT_TRUE(contains(measured.err, "the target cuda is unavailable: ")) << measured.err;
}

TEST_F(PlansOfAGpu, AreVerifiedAndMeasuredThere) {
  const Ran ran = on_gpu("right", "--m 64 --n 130 --k 32 --layout nt --json r.json");
  EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_TRUE(contains(ran.out, "on a test's device") && contains(ran.out, "TFLOP/s")) << ran.out;
  // The driver's clock: 5 us and 1 us for each KiB of shared memory, which all have different amounts of.
  folder.python(R"(
r = json.load(open('r.json'))
assert r['device'] == "a test's device" and r['gpu']['multiprocessors'] == 132 and r['target'] == 'cuda'
case, = r['cases']
for p in case['plans']:
    assert p['us'] > 5 and p['spread'] < 1e-3, p
    assert not any(key in p for key in ('warm_us', 'stream_us', 'failed', 'not_compiled')), p
times = [p['us'] for p in case['plans']]
default, = [p['us'] for p in case['plans'] if p['default']]
assert len(times) > 3 and len(set(times)) > 2, times
assert abs(case['default_over_best'] - default / min(times)) < 1e-3, case
assert case['peak_gflops'] > 0 and 'peak_gflops_per_core' not in case
)");
}

TEST_F(PlansOfAGpu, AWrongProductIsShownAndFailsTheCommand) {
  const Ran ran = on_gpu("wrong", "--m 64 --n 64 --k 32 --json r.json");
  EXPECT_EQ(ran.status, 1) << ran.err << ran.out;
  EXPECT_TRUE(contains(ran.out, "failed, see below") && contains(ran.out, "wrong: C[0,0] is ")) << ran.out;
  EXPECT_FALSE(contains(ran.out, "the best measured plan")) << ran.out;
  folder.python("assert all('wrong: C[0,0]' in p['failed'] for p in json.load(open('r.json'))['cases'][0]['plans'])");
}

TEST_F(PlansOfAGpu, WithoutACompilerOthersThanThePackedAreListedAndNotMeasured) {
  const Ran ran = on_gpu("right", "--m 64 --n 64 --k 32 --all --top 4 --json r.json");
  EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_TRUE(contains(ran.out, "not compiled here: the kernel is not compiled yet")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "default 1.00x the best measured plan")) << ran.out;
  folder.python(R"(
plans = json.load(open('r.json'))['cases'][0]['plans']
missing = [p for p in plans if 'not_compiled' in p]
assert missing and all('us' not in p and 'failed' not in p and not p['by_default'] for p in missing), plans
assert all('us' in p for p in plans if p['by_default']), plans
)");
}

TEST_F(PlansOfAGpu, OfASuiteTheMeansAreTold) {
  folder.shell("printf 'name,group,m,n,k,layout,types\\nfirst,g,64,64,32,nn,f16\\nodd,h,33,65,31,nt,f16\\n' > s.csv");
  const Ran ran = on_gpu("right", "--suite s.csv --json r.json");
  EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_TRUE(contains(ran.out, "x the best measured plan: geometric mean of 2 cases\nworst ")) << ran.out;
  folder.python("assert len(json.load(open('r.json'))['cases']) == 2");
}

}  // namespace
}  // namespace tilewright::test
