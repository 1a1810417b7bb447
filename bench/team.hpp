// Threads for what is ours in a peer's way: converting operands, and calling a peer from several threads.
//
// Not OpenMP's: an idle thread of an OpenMP pool spins for milliseconds and would take a core from the peer's own
// threads. These sleep.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <tilewright/tile/element.hpp>

namespace tilewright::bench {

class Team {
 public:
  /// The caller and `threads` - 1 others.
  explicit Team(i64 threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  i64 size() const { return static_cast<i64>(others_.size()) + 1; }
  /// Calls work(member) once on each thread, 0 being the caller's, and waits for all. work must not throw.
  void run(const std::function<void(i64)>& work);

 private:
  void serve(i64 member);

  const std::function<void(i64)>* work_ = nullptr;  // null: the end
  std::atomic<unsigned> number_ = 0;                // of the run
  std::atomic<i64> working_ = 0;                    // others that have not finished it
  std::vector<std::thread> others_;
};

}  // namespace tilewright::bench
