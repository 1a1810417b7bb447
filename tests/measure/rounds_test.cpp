// Rounds with invented times: who is called when, and how often. No test here depends on how long anything takes.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "measure/load.hpp"
#include "measure/peak.hpp"
#include "measure/rounds.hpp"

namespace tilewright::measure {
namespace {

/// A contender that takes `us` a call and writes its turns down.
Contender invented(const std::string& name, double us, std::string& log) {
  return {name, [name, &log] { log += name; }, [us](i64 calls) { return us * static_cast<double>(calls); }};
}

RoundsOptions few(i64 rounds) {
  RoundsOptions options;
  options.seconds = 0;
  options.least_rounds = options.most_rounds = rounds;
  return options;
}

TEST(Rounds, ContendersTakeTurnsAndEachIsFirstEquallyOften) {
  std::string log;
  const std::vector<Contender> contenders = {invented("a", 1, log), invented("b", 2, log), invented("c", 3, log)};
  const std::vector<Series> series = measure_rounds(contenders, few(3));
  EXPECT_EQ(log,
            "abc"
            "abc"
            "bca"
            "cab");  // once each to calibrate, then the rounds
  ASSERT_EQ(series.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(series[i].us, std::vector<double>(3, static_cast<double>(i + 1)));
}

TEST(Rounds, BatchesAreLongEnoughForTheClock) {
  std::string log;
  const std::vector<Contender> contenders = {invented("short", 0.5, log), invented("odd", 7, log),
                                             invented("long", 1000, log)};
  RoundsOptions options = few(1);
  options.sample_us = 200;
  const std::vector<Series> series = measure_rounds(contenders, options);
  EXPECT_EQ(series[0].calls, 400);
  EXPECT_EQ(series[1].calls, 29);
  EXPECT_EQ(series[2].calls, 1);
}

TEST(Rounds, ShortCallsAreMadeWarmAndLongOnesAreNot) {
  for (const bool is_long : {false, true}) {
    std::vector<i64> batches;
    const double us = is_long ? 1e4 : 50;
    const std::vector<Contender> one = {{"x", {}, [&, us](i64 calls) {
                                           batches.push_back(calls);
                                           return us * static_cast<double>(calls);
                                         }}};
    measure_rounds(one, few(1));
    const std::vector<i64> expected =
        is_long ? std::vector<i64>{1, 1, 1, 1, 1, 1} : std::vector<i64>{1, 1, 1, 1, 1, 2, 4, 100, 4};
    EXPECT_EQ(batches, expected);
  }
}

TEST(Rounds, AContenderThatTakesNoTimeEndsNevertheless) {
  const std::vector<Contender> one = {{"nothing", {}, [](i64) { return 0.0; }}};
  const std::vector<Series> series = measure_rounds(one, few(2));
  EXPECT_EQ(series[0].us, std::vector<double>(2, 0.0));
}

TEST(Rounds, LeastAndMostRoundsCount) {
  std::string log;
  const std::vector<Contender> one = {invented("a", 1000, log)};
  RoundsOptions options;
  options.seconds = 0;
  EXPECT_EQ(measure_rounds(one, options)[0].us.size(), 6u);
  options.seconds = 3600;
  options.most_rounds = 9;
  EXPECT_EQ(measure_rounds(one, options)[0].us.size(), 9u);
}

TEST(Rounds, SettlesBetweenTurnsAndTellsProgress) {
  std::string log;
  std::vector<double> fractions;
  RoundsOptions options = few(2);
  options.settle = [&] { log += "."; };
  options.progress = [&](double fraction) { fractions.push_back(fraction); };
  measure_rounds(std::vector<Contender>{invented("a", 300, log), invented("b", 300, log)}, options);
  EXPECT_EQ(log,
            ".a.b"
            ".a.b"
            ".b.a");
  EXPECT_EQ(fractions, (std::vector<double>{0.5, 1.0}));
}

TEST(Rounds, FailuresOfContendersPassThrough) {
  const std::vector<Contender> one = {{"x", {}, [](i64) -> double { throw std::string("broken"); }}};
  EXPECT_THROW(measure_rounds(one, few(1)), std::string);
}

TEST(Rounds, HostTimedCallsSoOften) {
  i64 calls = 0;
  const auto timed = host_timed([&] { ++calls; });
  EXPECT_GE(timed(5), 0);
  EXPECT_EQ(calls, 5);
}

TEST(Peak, EveryUnitAtHandHasARate) {
  const std::vector<Unit> units = units_at_hand();
  ASSERT_FALSE(units.empty());
  EXPECT_EQ(units.front(), Unit::portable);
  for (const Unit unit : units) EXPECT_GT(peak_gflops(unit, 1), 0) << name_of(unit);
}

TEST(OtherLoad, IsAShareOfTheMachine) {
  const OtherLoad load;
  EXPECT_GE(load.processors(), 0);
}

}  // namespace
}  // namespace tilewright::measure
