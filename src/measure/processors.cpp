// See processors.hpp.
#include "measure/processors.hpp"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "measure/peak.hpp"

namespace tilewright::measure {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Whether a thread of this process, other than the caller, runs or could. Its state says so at once; while it runs, the
/// processor time of the process grows by ticks of some milliseconds.
bool another_runs() {
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
  if (!tasks) return false;
  const std::string own = std::to_string(gettid());
  while (const dirent* const task = readdir(tasks.get())) {
    if (task->d_name[0] == '.' || task->d_name == own) continue;
    std::ifstream file(std::string("/proc/self/task/") + task->d_name + "/stat");
    std::string line;
    std::getline(file, line);  // number (name) state ...
    const std::size_t name_end = line.rfind(')');
    if (name_end != std::string::npos && line.compare(name_end, 3, ") R") == 0) return true;
  }
  return false;
}

/// The processors that the caller may use, its own first.
std::vector<int> processors_at_hand() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> found = {std::max(sched_getcpu(), 0)};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (cpu != found[0] && CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) found.push_back(cpu);
  }
  return found;
}

void stay_on(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(processor), &one);
  sched_setaffinity(0, sizeof one, &one);
}

}  // namespace

void wait_until_idle(double most_us) {
  const double end = now_us() + most_us;
  for (int quiet = 0; quiet < 2 && now_us() < end;) quiet = another_runs() ? 0 : quiet + 1;
}

bool FullSpeed::reached(std::span<const double> rates) {
  constexpr double full = 0.75;
  const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
  fastest_ = std::max(fastest_, *fastest);
  in_succession_ = *slowest >= full * fastest_ ? in_succession_ + 1 : 0;
  return in_succession_ >= 2;
}

Processors::Processors() {
  constexpr double long_enough_us = 1e4;
  const double end = now_us() + long_enough_us;
  while (now_us() < end) come_to_speed(1, 0);
}

bool Processors::come_to_speed(i64 threads, double most_us) {
  constexpr double window_us = 1000;
  const Unit unit = units_at_hand().back();
  std::vector<int> processors = processors_at_hand();
  if (threads < std::ssize(processors)) processors.resize(static_cast<std::size_t>(std::max<i64>(threads, 1)));
  struct alignas(64) Count {
    std::atomic<i64> loops = 0;
  };
  std::vector<Count> done(processors.size());
  std::atomic<bool> over = false;
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < processors.size(); ++i) {
    others.emplace_back([&, i] {
      stay_on(processors[i]);
      for (; !over; ++done[i].loops) run_loop(unit);
    });
  }
  std::vector<double> rates(processors.size());
  std::vector<i64> before(processors.size());
  bool reached = false;
  for (const double end = now_us() + most_us;;) {
    for (std::size_t i = 0; i < done.size(); ++i) before[i] = done[i].loops;
    const double start = now_us();
    while (now_us() < start + window_us) {
      run_loop(unit);
      ++done[0].loops;
    }
    const double us = now_us() - start;
    for (std::size_t i = 0; i < done.size(); ++i) rates[i] = static_cast<double>(done[i].loops - before[i]) / us;
    reached = speed_.reached(rates);
    if (reached || now_us() >= end) break;
  }
  over = true;
  return reached;
}

}  // namespace tilewright::measure
