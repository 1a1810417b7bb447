// The GPU as a place to measure on: sets of operands that calls take in turns, and clocks that time calls by the
// device's events.
//
// A graph of many calls is captured once and replayed: a launch then costs the host nothing that shows. Each call takes
// the next of so many sets of operands that they are together larger than twice the L2: none finds there what it reads.
// docs/bench-method.md is the method; start at Gpu.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "bench/gpu_calls.hpp"
#include "bench/harness.hpp"
#include "bench/suite.hpp"
#include "cuda/memory.hpp"

namespace tilewright::bench {

/// Where each call of a way gets its operands. A way asks next() once a call and enqueues on stream().
class Turns {
 public:
  Turns(int device, cuda::Stream stream, Job first, i64 sets, const i64 (&set_bytes)[3]);

  int device() const { return device_; }
  cuda::Stream stream() const { return stream_; }
  i64 sets() const { return sets_; }
  /// The views of the next call.
  Job next();
  /// From now on next() begins at the first set again and takes so many in turns. allocating: C is memory that the
  /// stream allocates for one call; give_back() ends its life.
  void begin(i64 sets, bool allocating = false);
  void give_back();

 private:
  int device_;
  cuda::Stream stream_;
  Job first_;
  i64 sets_, in_turn_, at_ = 0;
  i64 set_bytes_[3];  // from one set to the next, of a, b and c
  bool allocating_ = false;
  cuda::Address allocated_ = 0;
};

/// How calls are made and timed.
enum class Manner : unsigned char {
  cold,        // a graph, sets in turns
  warm,        // a graph, one set
  stream,      // enqueued one by one, sets in turns
  allocating,  // the same, C allocated and freed on the stream by each call
  host,        // the same as stream, and what the host takes to enqueue a call is the time
};

/// A device, its stream, and what it can do at most.
class Gpu {
 public:
  /// Throws Error target, driver.
  explicit Gpu(int ordinal = 0);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const cuda::DeviceDescription& description() const { return cuda::describe(ordinal_); }
  /// A case's operands. timed() is about the ones made last.
  std::unique_ptr<Operands> operands(const Case& which);
  /// HarnessOptions::timed for a manner.
  Timed timed(Manner manner);

  /// GFLOP/s of the tensor cores (of the FP32 units for f32) at the highest clock; 0 where it is not known.
  Peak peak(DType type) const;
  /// GB/s, read and written, of a large copy on the device: measured once, now.
  double copy_gbytes_per_second();

 private:
  int ordinal_;
  cuda::CurrentDevice current_;
  cuda::Stream stream_ = nullptr;
  Turns* turns_ = nullptr;
};

/// How many sets of so many bytes hold at least twice the L2: at least 2.
i64 sets_for(double set_bytes, i64 l2_bytes);

}  // namespace tilewright::bench
