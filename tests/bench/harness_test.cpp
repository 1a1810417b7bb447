// The harness with peers and times of the tests' own: what is verified, what is chosen, what is counted.
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tilewright/error.hpp>
#include "tests/bench/fake_peer.hpp"

namespace tilewright::bench {
namespace {

std::vector<Case> cases(const std::string& lines) {
  return parse_suite("name,group,m,n,k,layout,types\n" + lines, "x.csv");
}

TEST(Harness, ChoosesEachPeersBestWayAndComparesWithTheBestPeer) {
  FakePeer ours("tilewright"), slow("slow"), quick("quick");
  ours.add("a plan", 50);
  slow.add("the only way", 300);
  quick.add("detour", 150).add("short cut", 100).add("long way", 400);
  Peer* const peers[] = {&slow, &quick};
  HarnessOptions options = invented_options();
  options.threads = {1, 2};
  const std::vector<Outcome> outcomes = run_suite(cases("x,g,20,30,40,nn,f16\n"), ours, peers, options);
  ASSERT_EQ(outcomes.size(), 2u);
  for (const Outcome& outcome : outcomes) {
    ASSERT_EQ(outcome.entries.size(), 3u);
    EXPECT_EQ(outcome.entries[0].way, "a plan");
    EXPECT_DOUBLE_EQ(outcome.entries[0].us.median, 50);
    EXPECT_GE(outcome.entries[0].us.count, 6);
    EXPECT_LE(outcome.entries[0].worst_error, 1);
    EXPECT_TRUE(outcome.entries[1].trials.empty());
    EXPECT_EQ(outcome.entries[2].way, "short cut");
    ASSERT_EQ(outcome.entries[2].trials.size(), 3u);
    EXPECT_DOUBLE_EQ(outcome.entries[2].trials[2].us, 400);
    EXPECT_EQ(outcome.best_peer()->name, "quick");
    EXPECT_DOUBLE_EQ(outcome.ratio().value(), 2);
    EXPECT_DOUBLE_EQ(outcome.gflops(outcome.entries[0]), 2.0 * 20 * 30 * 40 / 50 * 1e-3);
    EXPECT_GT(outcome.peak_gflops, 0);
  }
  EXPECT_EQ(outcomes[0].threads, 1);
  EXPECT_EQ(outcomes[1].threads, 2);
  EXPECT_GE(quick.prepared, 2 * 6);
}

TEST(Harness, AWrongProductIsFoundAndNeverTimed) {
  FakePeer ours("tilewright"), wrong("wrong"), half("half");
  ours.add("a plan", 50);
  const auto one_element_off = [](const Job& job) {
    gemm_into(job.a, job.b, job.c);
    static_cast<f16*>(job.c.data)[3 * 30 + 5] = to_f16(1000);
  };
  const auto one_element_missing = [](const Job& job) {
    const f16 before = static_cast<f16*>(job.c.data)[7];
    gemm_into(job.a, job.b, job.c);
    static_cast<f16*>(job.c.data)[7] = before;
  };
  wrong.add("cheating", 1, one_element_off);
  half.add("forgetful", 1, one_element_missing).add("honest", 100);
  Peer* const peers[] = {&wrong, &half};
  const std::vector<Outcome> outcomes = run_suite(cases("x,g,20,30,40,nn,f16\n"), ours, peers, invented_options());
  const Outcome& outcome = outcomes.at(0);
  EXPECT_NE(outcome.entries[1].failed.find("cheating: wrong: C[3,5]"), std::string::npos) << outcome.entries[1].failed;
  EXPECT_EQ(outcome.entries[1].us.count, 0);
  EXPECT_EQ(outcome.entries[2].way, "honest");
  EXPECT_EQ(outcome.entries[2].failed, "");
  EXPECT_NE(outcome.entries[2].trials[0].failed.find("1 elements of C were not written"), std::string::npos)
      << outcome.entries[2].trials[0].failed;
  EXPECT_DOUBLE_EQ(outcome.ratio().value(), 2);
}

TEST(Harness, AWayThatThrowsIsNamedAndTheOthersGoOn) {
  FakePeer ours("tilewright"), failing("failing");
  ours.add("a plan", 50);
  failing.add("broken", 1, [](const Job&) { throw std::runtime_error("status 15"); }).add("honest", 100);
  Peer* const peers[] = {&failing};
  const Outcome outcome = run_suite(cases("x,g,20,30,40,nn,f16\n"), ours, peers, invented_options()).at(0);
  EXPECT_EQ(outcome.entries[1].way, "honest");
  EXPECT_EQ(outcome.entries[1].trials.at(0).failed, "status 15");
}

TEST(Harness, AspectsAreTimedByTheirOwnClocks) {
  FakePeer ours("tilewright"), quick("quick"), idle("idle");
  ours.add("a plan", 50);
  quick.add("short cut", 40);
  HarnessOptions options = invented_options();
  const auto halved = [](std::function<void()> run) -> std::function<double(i64)> {
    return [timed = invented_clock(std::move(run))](i64 calls) { return timed(calls) / 2; };
  };
  options.aspects = {{"warm", halved}, {"again", invented_clock}};
  Peer* const peers[] = {&idle, &quick};
  const Outcome outcome = run_suite(cases("x,g,20,30,40,nn,f16\n"), ours, peers, options).at(0);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    const Entry& entry = outcome.entries[i];
    ASSERT_EQ(entry.aspects.size(), 2u);
    EXPECT_EQ(entry.aspects[0].first, "warm");
    EXPECT_DOUBLE_EQ(entry.aspects[0].second.median, entry.us.median / 2);
    EXPECT_DOUBLE_EQ(entry.aspects[1].second.median, entry.us.median);
  }
  EXPECT_TRUE(outcome.entries[1].aspects.empty());
}

TEST(Harness, RooflineIsOfOperationsOrOfBytes) {
  Outcome one;
  one.which = cases("x,g,100,100,100,nn,f16\n").at(0);
  one.peak_gflops = 1000;
  EXPECT_DOUBLE_EQ(one.roofline_us(), 2.0);  // 2e6 operations
  one.memory_gbytes = 10;
  EXPECT_DOUBLE_EQ(one.roofline_us(), 6.0);  // 6e4 bytes
  one.threads = 4;
  one.memory_gbytes = 1000;
  EXPECT_DOUBLE_EQ(one.roofline_us(), 0.5);
  one.peak_gflops = 0;
  EXPECT_DOUBLE_EQ(one.roofline_us(), 0.06);
}

TEST(Harness, AProductThatWasLeftByAnotherDoesNotCount) {
  FakePeer ours("tilewright"), idle("idle");
  ours.add("a plan", 50);
  idle.add("nothing", 1, [](const Job&) {});
  Peer* const peers[] = {&idle};
  const Outcome outcome = run_suite(cases("x,g,20,30,40,nn,f16\n"), ours, peers, invented_options()).at(0);
  EXPECT_NE(outcome.entries[1].failed.find("600 elements of C were not written"), std::string::npos);
  EXPECT_FALSE(outcome.ratio().has_value());
}

TEST(Harness, WithoutPeersThereIsNoRatio) {
  const std::unique_ptr<Peer> ours = this_library(parse_plan("64x32x32"));
  const Outcome outcome = run_suite(cases("x,g,20,30,40,tt,bf16\n"), *ours, {}, invented_options()).at(0);
  EXPECT_EQ(outcome.entries.at(0).failed, "");
  EXPECT_TRUE(outcome.entries[0].way.starts_with("64x32x32 ")) << outcome.entries[0].way;
  EXPECT_FALSE(outcome.ratio().has_value());
  EXPECT_TRUE(group_means(std::vector{outcome}).empty());
}

TEST(Harness, OfSeveralPlansTheFastestCountsAndOneThatIsRefusedFails) {
  const std::unique_ptr<Peer> ours = this_library(
      {{"64x32x32", parse_plan("64x32x32")}, {"7x7x7", parse_plan("7x7x7")}, {"64x64x64", parse_plan("64x64x64")}});
  const Entry entry = run_suite(cases("x,g,20,30,40,nn,f16\n"), *ours, {}, invented_options()).at(0).entries.at(0);
  EXPECT_EQ(entry.failed, "");
  ASSERT_EQ(entry.trials.size(), 3u);
  EXPECT_TRUE(entry.trials[0].way.starts_with("64x32x32 w1")) << entry.trials[0].way;
  EXPECT_EQ(entry.trials[1].way, "7x7x7");
  EXPECT_NE(entry.trials[1].failed.find("7x7x7"), std::string::npos) << entry.trials[1].failed;
  EXPECT_EQ(entry.trials[2].failed, "");
  const std::unique_ptr<Peer> one = this_library(parse_plan("7x7x7"));
  EXPECT_THROW(run_suite(cases("x,g,20,30,40,nn,f16\n"), *one, {}, invented_options()), Error);
}

TEST(Harness, MeansAreGeometricOfGroupTypeAndThreads) {
  const auto outcome = [](const std::string& group, DType type, i64 threads, double ratio) {
    Outcome one;
    one.which.group = group;
    one.which.type = type;
    one.threads = threads;
    one.entries.resize(2);
    one.entries[0].us.median = 10;
    one.entries[1].us.median = 10 * ratio;
    return one;
  };
  const std::vector<Outcome> outcomes = {outcome("g", DType::f16, 1, 2), outcome("g", DType::f16, 1, 8),
                                         outcome("g", DType::bf16, 1, 3), outcome("h", DType::f16, 1, 0.5)};
  const std::vector<GroupMean> means = group_means(outcomes);
  ASSERT_EQ(means.size(), 5u);
  EXPECT_EQ(means[0].group, "g");
  EXPECT_DOUBLE_EQ(means[0].ratio, 4);
  EXPECT_EQ(means[0].cases, 2);
  EXPECT_DOUBLE_EQ(means[1].ratio, 3);
  EXPECT_DOUBLE_EQ(means[2].ratio, 0.5);
  ASSERT_EQ(means[0].against.size(), 1u);
  EXPECT_DOUBLE_EQ(means[0].against[0].ratio, 4);
  EXPECT_EQ(means[0].against[0].cases, 2);
  EXPECT_EQ(means[3].group, "all");
  EXPECT_DOUBLE_EQ(means[3].ratio, 2);
  EXPECT_EQ(means[3].cases, 3);
}

TEST(Harness, ProcessorsSettleBeforeEveryTurnAndTurnsBelowSpeedAreCounted) {
  FakePeer ours("tilewright"), peer("peer");
  ours.add("a plan", 50);
  peer.add("a way", 100);
  Peer* const peers[] = {&peer};
  HarnessOptions options = invented_options();
  options.threads = {3};
  options.rounds.seconds = 0;
  options.rounds.least_rounds = options.rounds.most_rounds = 7;
  i64 asked = 0;
  options.settle = [&](i64 threads) {
    EXPECT_EQ(threads, 3);
    return ++asked % 2 == 0;
  };
  const Outcome outcome = run_suite(cases("x,g,2,3,4,nn,f16\n"), ours, peers, options).at(0);
  EXPECT_GE(asked, 2 * (1 + 7));  // to calibrate, and the rounds
  EXPECT_DOUBLE_EQ(outcome.below_speed, 0.5);
}

TEST(Harness, ProgressRunsFromNothingToAll) {
  FakePeer ours("tilewright");
  ours.add("a plan", 50);
  HarnessOptions options = invented_options();
  std::vector<double> fractions;
  std::vector<std::size_t> measured;
  options.measured = [&](std::span<const Outcome> so_far) { measured.push_back(so_far.size()); };
  options.progress = [&](double fraction) { fractions.push_back(fraction); };
  run_suite(cases("x,g,2,3,4,nn,f16 bf16\n"), ours, {}, options);
  ASSERT_FALSE(fractions.empty());
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_DOUBLE_EQ(fractions.back(), 1);
  EXPECT_EQ(measured, (std::vector<std::size_t>{1, 2}));
}

}  // namespace
}  // namespace tilewright::bench
