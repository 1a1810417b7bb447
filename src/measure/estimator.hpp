// What repeated measurements of one thing say: a centre, a spread, and how well the centre is known.
//
// The centre is the median, because disturbances of a timing are one-sided and large. Its interval comes from order
// statistics: the true median lies between the k-th smallest and the k-th largest of n independent samples with a
// probability that depends on n and k alone, whatever their distribution. docs/bench-method.md derives it.
#pragma once

#include <span>

#include <tilewright/tile/element.hpp>

namespace tilewright::measure {

struct Estimate {
  i64 count = 0;
  double median = 0;
  double spread = 0;      // half of the interquartile range, as a fraction of the median
  double low = 0;         // the median's interval
  double high = 0;        //
  double confidence = 0;  // the probability that the interval covers the median: at least 0.95 from 6 samples on
  double drift = 0;       // median of the later half over median of the earlier half, minus 1
};

/// Estimates from samples in the order in which they were taken, all above zero. Throws std::invalid_argument if there
/// is none.
Estimate estimate(std::span<const double> samples);

/// The value that the fraction `part` of the samples does not exceed, interpolated between neighbours; 0 <= part <= 1.
/// Throws std::invalid_argument if there is no sample.
double quantile(std::span<const double> samples, double part);

/// exp(mean(log)); 1 of nothing, which changes no product.
double geometric_mean(std::span<const double> ratios);

}  // namespace tilewright::measure
