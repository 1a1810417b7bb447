// The processors before a turn: free of the last contender's threads, and at full speed together.
//
// Idle threads of a pool spin for milliseconds on processors that the next contender needs. And the hypervisor of a
// virtual machine may run two processors that have slept on the two threads of one core: each then has half of its
// speed, until it moves one some ten milliseconds later. Whoever takes a turn meanwhile finds that two threads are no
// faster than one. docs/bench-method.md has figures.
#pragma once

#include <functional>
#include <span>

#include <tilewright/tile/element.hpp>

namespace tilewright::measure {

/// Waits until no other thread of this process runs, at most `most_us`. The caller stays busy meanwhile: a processor
/// that sleeps may be moved, and Linux may put a thread that wakes beside a caller that has slept.
void wait_until_idle(double most_us);

/// Whether all processors are at full speed, by what each did in a short while.
class FullSpeed {
 public:
  /// rates: of each processor, in any unit. True if twice in succession none was below three quarters of the fastest
  /// that ever was: a core that is shared gives a half.
  bool reached(std::span<const double> rates);

 private:
  double fastest_ = 0;
  int in_succession_ = 0;
};

/// Brings processors to full speed by keeping them busy.
class Processors {
 public:
  /// Looks how fast a single one is.
  Processors();
  /// So many of those that the caller may use, its own among them; all that it may use if that is fewer. False if they
  /// are not at full speed after `most_us`.
  bool come_to_speed(i64 threads, double most_us);

 private:
  FullSpeed speed_;
};

}  // namespace tilewright::measure
