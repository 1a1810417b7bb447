// The estimator on synthetic noise: samples whose true median is known. No test here looks at a clock.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "measure/estimator.hpp"

namespace tilewright::measure {
namespace {

using Generator = std::mt19937_64;

/// Trials of `count` samples each, how many of them have the truth in their interval, and what they claim.
struct Coverage {
  double covered = 0, claimed = 0;
};
Coverage coverage(i64 count, double truth, const std::function<double(Generator&, i64)>& sample) {
  constexpr int trials = 20000;
  Generator generator(1);
  Coverage result;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples;
    for (i64 i = 0; i < count; ++i) samples.push_back(sample(generator, i));
    const Estimate found = estimate(samples);
    result.covered += found.low <= truth && truth <= found.high ? 1.0 / trials : 0;
    result.claimed = found.confidence;
  }
  return result;
}

/// Four standard deviations of a share of 20,000 trials near 0.95.
constexpr double slack = 4 * 0.22 / 141.4;

TEST(Estimator, IntervalCoversTheMedianAtTheStatedRate) {
  const auto lognormal = [](Generator& g, i64) { return 100 * std::exp(std::normal_distribution(0.0, 0.2)(g)); };
  for (const i64 count : {3, 6, 7, 11, 25, 50, 101}) {
    const Coverage found = coverage(count, 100, lognormal);
    EXPECT_NEAR(found.covered, found.claimed, slack) << count;
    if (count >= 6) {
      EXPECT_GE(found.claimed, 0.95) << count;
    }
  }
}

TEST(Estimator, IntervalHoldsUnderOutliers) {
  // One sample in five is disturbed and takes up to fifty times as long. A time of 100 or less is then half of all:
  // 0.8 * P(undisturbed <= t) = 0.5, for t at the 0.625 quantile of the undisturbed ones.
  const auto disturbed = [](Generator& g, i64) {
    const double time = std::uniform_real_distribution(90.0, 106.0)(g);  // 100 is its 0.625 quantile
    return std::bernoulli_distribution(0.2)(g) ? time * std::uniform_real_distribution(2.0, 50.0)(g) : time;
  };
  for (const i64 count : {6, 25, 101}) {
    const Coverage found = coverage(count, 100, disturbed);
    EXPECT_NEAR(found.covered, found.claimed, slack) << count;
  }
  Generator generator(2);
  std::vector<double> samples;
  for (i64 i = 0; i < 101; ++i) samples.push_back(disturbed(generator, i));
  EXPECT_NEAR(estimate(samples).median, 100, 4);
  EXPECT_GT(std::accumulate(samples.begin(), samples.end(), 0.0) / 101, 200) << "the mean, which is not used";
}

TEST(Estimator, IntervalHoldsForTwoModes) {
  // Two speeds, as a core's two frequencies give them, 60 to 40: the median is the 5/6 quantile of the faster mode.
  const auto two_speeds = [](Generator& g, i64) {
    return std::bernoulli_distribution(0.6)(g) ? std::uniform_real_distribution(90.0, 102.0)(g)
                                               : std::uniform_real_distribution(140.0, 160.0)(g);
  };
  for (const i64 count : {6, 25, 101}) {
    const Coverage found = coverage(count, 100, two_speeds);
    EXPECT_NEAR(found.covered, found.claimed, slack) << count;
  }
}

TEST(Estimator, IntervalHoldsUnderDriftAndDriftIsStated) {
  // The machine becomes slower by 20 % from the first sample to the last. The median over the run is that of the
  // middle.
  constexpr i64 count = 51;
  const auto drifting = [](Generator& g, i64 i) {
    const double pace = 0.9 + 0.2 * static_cast<double>(i) / (count - 1);
    return 100 * pace * (1 + std::normal_distribution(0.0, 0.02)(g));
  };
  const Coverage found = coverage(count, 100, drifting);
  EXPECT_GE(found.covered, found.claimed - slack);
  Generator generator(3);
  std::vector<double> samples;
  for (i64 i = 0; i < count; ++i) samples.push_back(drifting(generator, i));
  EXPECT_NEAR(estimate(samples).drift, 0.105, 0.03);
  std::reverse(samples.begin(), samples.end());
  EXPECT_NEAR(estimate(samples).drift, -0.095, 0.03);
}

TEST(Estimator, RatioOfInterleavedContendersIsFreeOfDrift) {
  Generator generator(4);
  std::vector<double> ours, theirs;
  for (i64 round = 0; round < 101; ++round) {  // both meet the same machine, which slows down by half
    const double pace = 1 + 0.5 * static_cast<double>(round) / 100;
    ours.push_back(100 * pace * (1 + std::normal_distribution(0.0, 0.01)(generator)));
    theirs.push_back(120 * pace * (1 + std::normal_distribution(0.0, 0.01)(generator)));
  }
  EXPECT_NEAR(estimate(theirs).median / estimate(ours).median, 1.2, 0.02);
}

TEST(Estimator, FiguresByHand) {
  const Estimate five = estimate(std::vector<double>{50, 10, 40, 20, 30});
  EXPECT_EQ(five.count, 5);
  EXPECT_DOUBLE_EQ(five.median, 30);
  EXPECT_DOUBLE_EQ(five.spread, (40.0 - 20) / 2 / 30);
  EXPECT_DOUBLE_EQ(five.low, 10);
  EXPECT_DOUBLE_EQ(five.high, 50);
  EXPECT_NEAR(five.confidence, 1 - 2.0 / 32, 1e-12);
  EXPECT_DOUBLE_EQ(five.drift, 25.0 / 30 - 1);  // of 20, 30 over 50, 10

  const Estimate four = estimate(std::vector<double>{4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(four.median, 2.5);
  const Estimate one = estimate(std::vector<double>{7});
  EXPECT_DOUBLE_EQ(one.median, 7);
  EXPECT_DOUBLE_EQ(one.confidence, 0);
  EXPECT_DOUBLE_EQ(one.drift, 0);

  std::vector<double> ten(10);
  std::iota(ten.begin(), ten.end(), 1.0);
  const Estimate found = estimate(ten);  // of 10 coins at most 1 head: 11 / 1024 on a side
  EXPECT_DOUBLE_EQ(found.low, 2);
  EXPECT_DOUBLE_EQ(found.high, 9);
  EXPECT_NEAR(found.confidence, 1 - 22.0 / 1024, 1e-12);
}

TEST(Estimator, QuantilesAndMeans) {
  const std::vector<double> values = {3, 1, 2};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 3);
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{2, 8}), 4);
  EXPECT_DOUBLE_EQ(geometric_mean({}), 1);
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
  EXPECT_THROW(estimate({}), std::invalid_argument);
}

}  // namespace
}  // namespace tilewright::measure
