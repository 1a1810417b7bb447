// See load.hpp. The first line of /proc/stat counts the ticks that all processors spent in user, nice, system, idle,
// iowait, irq, softirq and steal.
#include "measure/load.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace tilewright::measure {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Seconds that all processors together were busy, or taken away by the hypervisor; 0 if unknown.
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  file >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  if (!file) return 0;
  return (user + nice + system + irq + softirq + steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

OtherLoad::OtherLoad()
    : started_(seconds_of(CLOCK_MONOTONIC)), busy_(busy_seconds()), own_(seconds_of(CLOCK_PROCESS_CPUTIME_ID)) {}

double OtherLoad::processors() const {
  const double seconds = seconds_of(CLOCK_MONOTONIC) - started_;
  const double others = busy_seconds() - busy_ - (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - own_);
  return seconds > 0 ? std::max(0.0, others / seconds) : 0;
}

}  // namespace tilewright::measure
