// A peer that needs no library: its ways are functions, and their times are invented.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tilewright/gemm.hpp>
#include "bench/harness.hpp"
#include "bench/peer.hpp"

namespace tilewright::bench {

/// Microseconds that the way that ran last is to have taken; what invented_clock returns.
inline double invented_us = 0;

inline std::function<double(i64)> invented_clock(std::function<void()> run) {
  return [run = std::move(run)](i64 calls) {
    run();
    return invented_us * static_cast<double>(calls);
  };
}

class FakePeer : public Peer {
 public:
  using Work = std::function<void(const Job&)>;
  explicit FakePeer(std::string name) : name_(std::move(name)) {}

  FakePeer& add(const std::string& way, double us, Work work) {
    ways_.push_back({way, us, std::move(work)});
    return *this;
  }
  /// A way that is right.
  FakePeer& add(const std::string& way, double us) {
    return add(way, us, [](const Job& job) { gemm_into(job.a, job.b, job.c); });
  }

  std::string name() const override { return name_; }
  std::string version() const override { return name_ + " 1.0"; }
  std::string file() const override { return "lib" + name_ + ".so"; }
  std::vector<Way> ways(const Job& job) override {
    std::vector<Way> ways;
    for (const Known& known : ways_) {
      ways.push_back({known.name, [this] { ++prepared; },
                      [known, job] {
                        known.work(job);
                        invented_us = known.us;
                      }});
    }
    return ways;
  }

  int prepared = 0;

 private:
  struct Known {
    std::string name;
    double us;
    Work work;
  };
  std::string name_;
  std::vector<Known> ways_;
};

/// Few rounds, invented times.
inline HarnessOptions invented_options() {
  HarnessOptions options;
  options.rounds.seconds = 0;
  options.timed = invented_clock;
  return options;
}

}  // namespace tilewright::bench
