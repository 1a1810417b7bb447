// See rounds.hpp. Read measure_rounds() first.
#include "measure/rounds.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tilewright::measure {
namespace {

constexpr i64 most_calls = i64{1} << 24;  // of a batch, for a contender that seems to take no time at all

/// How a contender's turns go.
struct Turn {
  i64 calls = 1;       // of a batch
  i64 warm_calls = 0;  // before it
  double call_us = 0;  // one call, roughly
};

/// How many calls take so long together.
i64 calls_for(double us, double call_us) {
  const double calls = call_us > 0 ? std::ceil(us / call_us) : static_cast<double>(most_calls);
  return static_cast<i64>(std::min(calls, static_cast<double>(most_calls)));
}

/// Doubles the batch until it is long enough. The first calls decide nothing: they may set things up, and threads that
/// have slept may take milliseconds to come.
Turn calibrate(const Contender& contender, const RoundsOptions& options) {
  constexpr double worth_repeating_us = 50e3;
  if (contender.before) contender.before();
  double us = contender.timed(1);
  for (int call = 0; call < 4 && us < worth_repeating_us; ++call) us = std::min(us, contender.timed(1));
  i64 calls = 1;
  while (us < options.sample_us && calls < most_calls) {
    calls *= 2;
    us = contender.timed(calls);
  }
  const double call_us = us / static_cast<double>(calls);
  return {std::clamp<i64>(calls_for(options.sample_us, call_us), 1, calls),
          call_us < options.warm_us ? calls_for(options.warm_us, call_us) : 0, call_us};
}

double sample_us(const Contender& contender, const Turn& turn, const RoundsOptions& options) {
  if (options.settle) options.settle();
  if (contender.before) contender.before();
  if (turn.warm_calls > 0) contender.timed(turn.warm_calls);
  return contender.timed(turn.calls) / static_cast<double>(turn.calls);
}

}  // namespace

std::function<double(i64)> host_timed(std::function<void()> call) {
  return [call = std::move(call)](i64 calls) {
    const auto start = std::chrono::steady_clock::now();
    for (i64 i = 0; i < calls; ++i) call();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  };
}

std::vector<Series> measure_rounds(std::span<const Contender> contenders, const RoundsOptions& options) {
  std::vector<Turn> turns;
  std::vector<Series> series(contenders.size());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (options.settle) options.settle();
    turns.push_back(calibrate(contenders[i], options));
    series[i].calls = turns[i].calls;
  }
  const auto start = std::chrono::steady_clock::now();
  for (i64 round = 0; round < options.most_rounds; ++round) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (round >= options.least_rounds && seconds >= options.seconds) break;
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % contenders.size();
      series[i].us.push_back(sample_us(contenders[i], turns[i], options));
    }
    if (options.progress) {
      const double by_time = seconds / std::max(options.seconds, 1e-9);
      const double by_count = static_cast<double>(round + 1) / static_cast<double>(options.least_rounds);
      options.progress(std::min({1.0, by_time, by_count}));
    }
  }
  return series;
}

double quick_us(const Contender& contender, const RoundsOptions& options) {
  if (options.settle) options.settle();
  const Turn turn = calibrate(contender, options);
  double least = turn.call_us;
  if (turn.call_us * static_cast<double>(turn.calls) > 1e5) return least;
  for (int sample = 0; sample < 3; ++sample)
    least = std::min(least, contender.timed(turn.calls) / static_cast<double>(turn.calls));
  return least;
}

}  // namespace tilewright::measure
