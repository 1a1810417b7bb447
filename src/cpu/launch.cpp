// Programs over threads. OpenMP's dynamic schedule hands a program to whichever thread is free, so that short programs
// at the edges of a grid do not leave a thread idle; nothing here depends on which thread runs which program.
//
// Two callers get one thread, their own: one that is inside of a parallel region already, whose team has the
// processors, and a child process forked after a parallel region, in which libgomp's threads do not exist and would be
// waited for for ever.

#include <tilewright/tile/cpu/launch.hpp>

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "core/float_environment.hpp"

namespace tilewright::cpu {
namespace {

std::atomic<bool> forked = false;

/// Whether this process may start a team: not if it was forked from one that has called this before.
bool may_start_team() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  return registered == 0 && !forked && omp_in_parallel() == 0;
}

}  // namespace

void for_each_program(i64 count, i64 threads, void (*run)(void* context, i64 number), void* context) {
  if (threads <= 1 || count <= 1 || !may_start_team()) {
    const core::FloatEnvironment environment;
    for (i64 number = 0; number < count; ++number) run(context, number);
    return;
  }
  std::exception_ptr failure;
  std::atomic_flag failed;
  const int team = static_cast<int>(std::min({threads, count, most_threads}));
#pragma omp parallel num_threads(team)
  {
    const core::FloatEnvironment environment;
#pragma omp for schedule(dynamic, 1)
    for (i64 number = 0; number < count; ++number) {
      try {
        if (!failed.test()) run(context, number);
      } catch (...) {
        if (!failed.test_and_set()) failure = std::current_exception();  // an exception may not leave a parallel region
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tilewright::cpu
