// Rounds: several things timed in turns, so that whatever changes on the machine meanwhile meets all of them alike.
//
// A round takes one sample of each contender; a sample is a batch of calls, long enough for the clock. The first of a
// round is another one each time. Nothing here knows a clock: a contender times its own batches, on the host with
// host_timed() or on a device with that device's events, and tests invent times. docs/bench-method.md is the method.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tilewright/tile/element.hpp>

namespace tilewright::measure {

struct Contender {
  std::string name;
  std::function<void()> before;      // not timed; called before each of its turns. May be empty
  std::function<double(i64)> timed;  // makes so many calls and returns the microseconds they took together
};

/// A function of the host as Contender::timed.
std::function<double(i64)> host_timed(std::function<void()> call);

struct RoundsOptions {
  double seconds = 2;            // rounds are added until they took this long together ...
  i64 least_rounds = 6;          // ... but at least so many: from 6 on the median's interval is sure to 95 %
  i64 most_rounds = 101;         // ... and at most so many
  double sample_us = 200;        // a batch takes at least this long
  double warm_us = 5e3;          // calls shorter than this are made for so long before each sample; a longer one needs none
  std::function<void()> settle;  // called between turns, not timed. May be empty
  std::function<void(double)> progress;  // called now and then with the fraction done. May be empty
};

struct Series {
  i64 calls = 0;           // of a batch
  std::vector<double> us;  // per call, one a round
};

/// One series for each contender. What the contenders throw passes through.
std::vector<Series> measure_rounds(std::span<const Contender> contenders, const RoundsOptions& options);

/// Microseconds of one call, roughly: the least of a few batches. For a choice between alternatives before the rounds.
double quick_us(const Contender& contender, const RoundsOptions& options);

}  // namespace tilewright::measure
