// Programs over threads: one team of threads for the process, started when it is first wanted.
//
// The caller is a member of its own team. It offers the work and begins at once; the others join when they have woken,
// everybody takes the next program that nobody has, and the caller waits only for members that have begun one. A thread
// that wakes late, or not at all, costs nothing but its help: a small product on many threads is no slower than on one.
// (A parallel region of OpenMP waits at its end for every member, woken or not: measured on a virtual machine of two
// processors, several milliseconds for a product that takes twenty microseconds.)
//
// Three callers work alone, on their own thread: one that is itself a program or in a parallel region of OpenMP, whose
// team has the processors; and one that calls while another's work is going on. A forked child starts a team of its own.
#include <tilewright/tile/cpu/launch.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <mutex>
#include <thread>

#include "core/float_environment.hpp"

// Null unless the program that this library is linked into has an OpenMP runtime.
extern "C" __attribute__((weak)) int omp_in_parallel(void);

namespace tilewright::cpu {
namespace {

// How long a thread looks for work, or for the last member, before it sleeps: about a millisecond. One that sleeps takes
// so long to wake that it would miss the programs of a short product, sleep again, and miss those of the next.
constexpr int looks = 30000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Looks for a while whether the value has become another than `old`.
bool changes_soon(const std::atomic<int>& value, int old) {
  for (int look = 0; look < looks; ++look) {
    if (value.load(std::memory_order_relaxed) != old) return true;
    pause();
  }
  return false;
}

thread_local bool in_a_program = false;

/// One call of for_each_program.
class Work {
 public:
  Work(i64 count, void (*run)(void*, i64), void* context) : count_(count), run_(run), context_(context) {}

  /// Runs programs until none is left.
  void take_part() {
    const core::FloatEnvironment environment;
    in_a_program = true;
    for (i64 number = next_++; number < count_; number = next_++) {
      try {
        run_(context_, number);
      } catch (...) {
        next_ = count_;
        if (!failed_.test_and_set()) failure_ = std::current_exception();
      }
    }
    in_a_program = false;
  }
  /// Once all members are through.
  void rethrow_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const i64 count_;
  void (*const run_)(void*, i64);
  void* const context_;
  std::atomic<i64> next_ = 0;
  std::atomic_flag failed_;
  std::exception_ptr failure_;
};

/// A thread of the team other than the caller. It has a bell of its own, so that work for two threads wakes no third.
///
/// Linux may wake a thread on the processor of the one that wakes it while another is idle: if it last ran there, among
/// two or three processors; wherever it ran, if the kernel fills processors one by one, as some do in virtual machines,
/// and the caller's was little used of late. The two would share it until the kernel balances its load, 4 to 36 ms
/// later. So a caller that finds a member asleep forbids it its own processor until it wakes.
class Member {
 public:
  /// `processors`: those of the caller that starts it, which a new thread inherits.
  explicit Member(const cpu_set_t& processors) : allowed_(processors) {}

  /// By the member itself, before it serves.
  void begin() { thread_ = gettid(); }
  /// By the member itself: returns when the bell has been rung since it was rung `heard` times; how often it was.
  int listen(int heard) {
    if (!changes_soon(bell_, heard)) {
      asleep_ = true;
      bell_.wait(heard);
      asleep_ = false;
      const std::lock_guard lock(processors_);
      if (kept_off_) sched_setaffinity(0, sizeof allowed_, &allowed_);
      kept_off_ = false;
    }
    return bell_;
  }
  /// By the caller: the member may run where the caller may, which may have changed, and is rung for.
  void call(int processor, const cpu_set_t& processors) {
    if (const pid_t thread = thread_; thread != 0) {
      const std::lock_guard lock(processors_);
      const bool moved = !CPU_EQUAL(&allowed_, &processors);
      cpu_set_t wanted = allowed_ = processors;
      kept_off_ = asleep_ && CPU_COUNT(&wanted) > 1;
      if (kept_off_) CPU_CLR(static_cast<unsigned>(processor), &wanted);
      if (moved || kept_off_) sched_setaffinity(thread, sizeof wanted, &wanted);
    }
    ++bell_;
    bell_.notify_one();
  }

 private:
  std::atomic<int> bell_ = 0;
  std::atomic<pid_t> thread_ = 0;  // 0 until it serves
  std::atomic<bool> asleep_ = false;
  std::mutex processors_;  // guards the rest
  cpu_set_t allowed_;
  bool kept_off_ = false;  // allowed_ is to be set again
};

class Team {
 public:
  /// Runs the work on at most so many threads. False if another caller's work is going on.
  bool run(Work& work, i64 threads) {
    const std::unique_lock only_caller(busy_, std::try_to_lock);
    if (!only_caller) return false;
    cpu_set_t processors;
    CPU_ZERO(&processors);
    sched_getaffinity(0, sizeof processors, &processors);
    start_threads(threads - 1, processors);
    work_ = &work;
    seats_ = threads - 1;
    const int here = sched_getcpu();
    i64 called = 0;
    for (Member& member : members_) {
      if (++called == threads) break;
      member.call(here, processors);
    }
    work.take_part();
    seats_ = 0;  // who joins from here on finds no seat and does not look at the work
    for (int left = present_; left != 0; left = present_) {
      if (!changes_soon(present_, left)) present_.wait(left);
    }
    return true;
  }

 private:
  void start_threads(i64 wanted, const cpu_set_t& processors) {
    if (std::ssize(members_) >= wanted) return;
    stay_loaded();
    sigset_t all, before;
    sigfillset(&all);  // signals are for the caller's own threads, but for those that a thread causes itself
    for (const int own : {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (std::ssize(members_) < wanted && start_thread(processors)) continue;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  /// False if the system gives no more threads, or memory: fewer do the work.
  bool start_thread(const cpu_set_t& processors) {
    std::list<Member> one;
    try {
      one.emplace_back(processors);
      std::thread(&Team::serve, this, &one.front()).detach();
    } catch (const std::exception&) {
      return false;
    }
    members_.splice(members_.end(), one);
    return true;
  }

  void serve(Member* member) {
    member->begin();
    for (int heard = 0;;) {
      heard = member->listen(heard);
      ++present_;  // before it looks for a seat: the caller first takes the seats away, then waits for who is present
      if (seats_-- > 0) work_->take_part();
      if (--present_ == 0) present_.notify_one();
    }
  }

  std::mutex busy_;  // held for the length of a work
  std::list<Member> members_;
  Work* work_ = nullptr;
  std::atomic<i64> seats_ = 0;    // members that may still join the work
  std::atomic<int> present_ = 0;  // members that have joined, or are looking for a seat
};

/// Never destroyed: its threads run until the process ends.
std::atomic<Team*> team = nullptr;

Team& the_team() {
  static const int registered [[maybe_unused]] =
      pthread_atfork(nullptr, nullptr, [] { team = new Team; });  // the child has none of the threads
  if (team == nullptr) {
    Team* none = nullptr;
    Team* const first = new Team;
    if (!team.compare_exchange_strong(none, first)) delete first;
  }
  return *team;
}

bool in_a_parallel_region() { return in_a_program || (omp_in_parallel != nullptr && omp_in_parallel() != 0); }

}  // namespace

void for_each_program(i64 count, i64 threads, void (*run)(void* context, i64 number), void* context) {
  Work work(count, run, context);
  const i64 members = std::min({threads, count, most_threads});
  if (members <= 1 || in_a_parallel_region() || !the_team().run(work, members)) {
    const bool nested = in_a_program;
    work.take_part();
    in_a_program = nested;
  }
  work.rethrow_failure();
}

void stay_loaded() {
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&stay_loaded), &here) != 0) {
    dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace tilewright::cpu
