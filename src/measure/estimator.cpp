// See estimator.hpp.
#include "measure/estimator.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace tilewright::measure {
namespace {

constexpr double asked_confidence = 0.95;

std::vector<double> sorted(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("there are no samples to estimate from");
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

double quantile_of_sorted(const std::vector<double>& values, double part) {
  const double position = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (position - static_cast<double>(below));
}

/// Of n fair coins, the probability of exactly k heads.
double coin_probability(double n, double k) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
}

}  // namespace

double quantile(std::span<const double> samples, double part) { return quantile_of_sorted(sorted(samples), part); }

Estimate estimate(std::span<const double> samples) {
  const std::vector<double> values = sorted(samples);
  const std::size_t n = values.size();
  Estimate result;
  result.count = static_cast<i64>(n);
  result.median = quantile_of_sorted(values, 0.5);
  result.spread = (quantile_of_sorted(values, 0.75) - quantile_of_sorted(values, 0.25)) / 2 / result.median;

  // Each sample lies below the true median with probability 1/2, so the interval from the k-th smallest to the k-th
  // largest misses it on one side if fewer than k of n coins show heads. The narrowest interval that is sure enough.
  std::size_t k = 1;
  double missed = 2 * coin_probability(static_cast<double>(n), 0);
  while (2 * (k + 1) <= n) {
    const double wider = missed + 2 * coin_probability(static_cast<double>(n), static_cast<double>(k));
    if (1 - wider < asked_confidence) break;
    missed = wider;
    ++k;
  }
  result.low = values[k - 1];
  result.high = values[n - k];
  result.confidence = std::max(0.0, 1 - missed);

  if (n >= 2) result.drift = quantile(samples.subspan(n - n / 2), 0.5) / quantile(samples.first(n / 2), 0.5) - 1;
  return result;
}

double geometric_mean(std::span<const double> ratios) {
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return ratios.empty() ? 1 : std::exp(sum / static_cast<double>(ratios.size()));
}

}  // namespace tilewright::measure
