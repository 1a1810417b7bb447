// Programs over threads: each runs once, whoever calls, in a parallel region, after a fork, and when one fails.
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include <tilewright/gemm.hpp>
#include <tilewright/tile/cpu/launch.hpp>

namespace {

using namespace tilewright;

/// How often each program ran.
struct Counts {
  std::vector<std::atomic<int>> runs;
  explicit Counts(std::size_t count) : runs(count) {}
  static void run(void* context, i64 number) {
    ++static_cast<Counts*>(context)->runs[static_cast<std::size_t>(number)];
  }
  bool each_once() const {
    for (const auto& count : runs) {
      if (count != 1) return false;
    }
    return true;
  }
};

/// A product large enough for several threads, and whether it is right: ones give K.
bool multiplies(i64 threads) {
  constexpr i64 m = 300, n = 300, k = 70;
  Matrix a(m, k, DType::f16), b(k, n, DType::f16);
  for (i64 i = 0; i < m * k; ++i) a.elements<f16>()[i] = to_f16(1.0f);
  for (i64 i = 0; i < k * n; ++i) b.elements<f16>()[i] = to_f16(1.0f);
  GemmOptions options;
  options.threads = threads;
  options.plan.tile = TileShape{64, 64, 64};
  const Matrix c = gemm(a, b, options);
  for (i64 i = 0; i < m * n; ++i) {
    if (to_float(c.elements<f16>()[i]) != static_cast<float>(k)) return false;
  }
  return true;
}

TEST(Launch, runs_every_program_once_on_any_number_of_threads) {
  for (const i64 threads : {0, 1, 2, 3, 64}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{1000}}) {
      Counts counts(count);
      cpu::for_each_program(static_cast<i64>(count), threads, Counts::run, &counts);
      EXPECT_TRUE(counts.each_once()) << threads << " threads, " << count << " programs";
    }
  }
}

TEST(Launch, throws_the_first_exception_here) {
  for (const i64 threads : {1, 4}) {
    const auto fail = [](void*, i64 number) {
      if (number == 17) throw std::runtime_error("program 17");
    };
    EXPECT_THROW(cpu::for_each_program(100, threads, fail, nullptr), std::runtime_error);
  }
}

TEST(Launch, a_call_inside_of_a_parallel_region_starts_no_team_of_its_own) {
  omp_set_max_active_levels(2);  // nested teams allowed: it is ours to start none
  std::atomic<int> wrong = 0, teams = 0;
  const auto level = [](void* context, i64) { *static_cast<std::atomic<int>*>(context) += omp_get_level() > 1; };
#pragma omp parallel num_threads(4)
  {
    cpu::for_each_program(8, 4, level, &teams);
    wrong += multiplies(4) ? 0 : 1;
  }
  omp_set_max_active_levels(1);
  EXPECT_EQ(teams, 0);
  EXPECT_EQ(wrong, 0);
}

/// A matrix whose sums round and whose products are below FP32's normal numbers.
Matrix small_numbers() {
  constexpr i64 n = 200;
  Matrix a(n, n, DType::f32);
  for (i64 i = 0; i < n * n; ++i) a.elements<float>()[i] = (0.1f + static_cast<float>(i % 97) * 0.01f) * 1e-20f;
  return a;
}

/// The bits of its square, on some threads.
std::vector<u16> product_bits(const Matrix& a, i64 threads) {
  GemmOptions options;
  options.threads = threads;
  options.plan.tile = TileShape{32, 32, 32};
  const Matrix c = gemm(a, a, options);
  const u16* const bits = static_cast<const u16*>(static_cast<const void*>(c.elements<float>()));
  return {bits, bits + 2 * c.rows() * c.cols()};
}

TEST(Launch, the_callers_floating_point_environment_changes_nothing_now_or_later) {
  const Matrix a = small_numbers();
  const std::vector<u16> expected = product_bits(a, 1);
  for (const int mode : {FE_UPWARD, FE_TOWARDZERO, FE_DOWNWARD}) {
    std::fesetround(mode);
    const std::vector<u16> one = product_bits(a, 1), four = product_bits(a, 4);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(after, mode);
    EXPECT_EQ(one, expected);
    EXPECT_EQ(four, expected);
    EXPECT_EQ(product_bits(a, 4), expected);  // threads that the call above may have started
  }
#if defined(__SSE2__)
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush results to zero, take subnormals for zero
  const std::vector<u16> one = product_bits(a, 1), four = product_bits(a, 4);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & 0x8040u, 0x8040u);
  EXPECT_EQ(one, expected);
  EXPECT_EQ(four, expected);
#endif
}

TEST(Launch, more_threads_than_anyone_has_are_refused_or_not_started) {
  GemmOptions options;
  options.threads = 100000;
  const Matrix a(8, 8, DType::f16);
  EXPECT_THROW(gemm(a, a, options), Error);
  Counts counts(2000);
  cpu::for_each_program(2000, INT64_MAX, Counts::run, &counts);
  EXPECT_TRUE(counts.each_once());
}

TEST(Launch, TH_4_a_child_forked_after_a_parallel_region_multiplies) {
  ASSERT_TRUE(multiplies(2));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(multiplies(2) ? 0 : 1);
  int status = -1;
  for (int tenths = 0; tenths < 300; ++tenths) {  // a hang must not hang the tests
    if (waitpid(child, &status, WNOHANG) == child) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (status == -1) kill(child, SIGKILL);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(multiplies(2));  // the parent still has its team
}

/// Multiplies when it is destroyed.
struct AtTheEnd {
  ~AtTheEnd() {
    if (!multiplies(3)) _exit(1);
  }
};

TEST(Launch, a_static_object_multiplies_in_its_destructor) {
  const pid_t child = fork();
  if (child == 0) {
    static const AtTheEnd first;  // made before anything that a product makes for this thread and this process
    std::thread([] {
      static thread_local const AtTheEnd own;
      if (!multiplies(2)) _exit(2);
    }).join();
    if (!multiplies(2)) _exit(3);
    std::exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Launch, threads_of_the_team_run_where_their_caller_may) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  for (const cpu_set_t* const processors : {&one, &before}) {
    ASSERT_EQ(sched_setaffinity(0, sizeof *processors, processors), 0);
    std::atomic<int> elsewhere = 0;
    struct Context {
      const cpu_set_t* processors;
      std::atomic<int>* elsewhere;
    } context{processors, &elsewhere};
    const auto look = [](void* memory, i64) {
      const Context& asked = *static_cast<Context*>(memory);
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
      while (std::chrono::steady_clock::now() < until) continue;  // the others get their share of the programs
      cpu_set_t mine;
      if (sched_getaffinity(0, sizeof mine, &mine) == 0 && !CPU_EQUAL(&mine, asked.processors)) ++*asked.elsewhere;
    };
    cpu::for_each_program(4, 4, look, &context);  // whoever has not begun yet when it is called is told the next time
    elsewhere = 0;
    cpu::for_each_program(40, 4, look, &context);
    EXPECT_EQ(elsewhere, 0);
  }
}

TEST(Launch, threads_of_the_caller_multiply_at_the_same_time) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&wrong] {
      for (int repeat = 0; repeat < 5; ++repeat) wrong += multiplies(2) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
