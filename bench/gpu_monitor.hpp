// What a GPU's clocks, power and temperature are while it is measured, read through NVIDIA's management library (NVML)
// where that is there. Nothing is ever set.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/library.hpp"

namespace tilewright::bench {

class GpuMonitor {
 public:
  explicit GpuMonitor(int ordinal);

  /// "580.159.04", or "unknown".
  const std::string& driver_version() const { return driver_version_; }
  /// In watts; 0 where it is not known.
  double power_limit() const { return power_limit_; }
  /// Reads all now, but not sooner after the last time than 20 ms: reading takes time, in which the device idles.
  void sample();
  /// The medians since this was asked last, by their keys in the record: sm_mhz, memory_mhz, watts, celsius, and
  /// power_capped, the part of the samples in which the power limit held the clock down. Nothing without NVML.
  std::vector<std::pair<std::string, double>> conditions();

 private:
  struct Functions {
    int (*clock)(void* device, int which, unsigned* mhz);
    int (*power)(void* device, unsigned* milliwatts);
    int (*temperature)(void* device, int sensor, unsigned* celsius);
    int (*reasons)(void* device, unsigned long long* bits);
  };
  void open(int ordinal);

  std::string driver_version_ = "unknown";
  double power_limit_ = 0;
  Functions functions_{};
  void* device_ = nullptr;  // null: there is no NVML
  std::chrono::steady_clock::time_point last_{};
  std::vector<double> sm_mhz_, memory_mhz_, watts_, celsius_, capped_;
};

}  // namespace tilewright::bench
