// Reports about a K that is shared by several programs.
#include <atomic>
#include <thread>

#include "tests/reports/memory.hpp"

namespace {

using namespace reports;

/// Partial sums were rounded to the output type: 4097 became 4096, and 1 became 0.
TEST(Reports, SK_1_partial_sums_stay_in_fp32) {
  constexpr i64 m = 16, n = 16, k = 8192;
  Memory a(Type::f16, m * k, 1.0), b(Type::f16, k * n, 1.0);
  for (i64 i = 0; i < m; ++i) {
    a.set(i * k, 2.0);
    for (i64 j = k / 2; j < k; ++j) a.set(i * k + j, -1.0);
  }
  for (PlanRequest request : harness::all_programs()) {
    request.split = Split{SplitKind::split_k, 2};
    for (const Type out : {Type::f16, Type::f32})
      Result(a.cells(m, k, k), b.cells(k, n, n), out, request).expect_all(1.0);
  }
}

/// A split whose parts were added as they finished gave other bits in other runs. A hundred runs alone, a hundred
/// beside another busy thread.
TEST(Reports, SK_2_a_split_gives_the_same_bits_in_every_run) {
  constexpr i64 m = 16, n = 16, k = 65536;
  oracle::Random random(1);
  Memory a(Type::f16, m * k, 0.0), b(Type::f16, k * n, 0.0);
  for (i64 at = 0; at < m * k; ++at) a.set(at, random.symmetric());
  for (i64 at = 0; at < k * n; ++at) b.set(at, random.symmetric());
  PlanRequest request;
  request.split = Split{SplitKind::split_k, 8};
  const auto first = Result(a.cells(m, k, k), b.cells(k, n, n), Type::f32, request).bits();
  std::atomic<bool> done = false;
  std::thread load;
  for (int run = 0; run < 200; ++run) {
    if (run == 100) {
      load = std::thread([&done] {
        while (!done) std::this_thread::yield();
      });
    }
    EXPECT_EQ(Result(a.cells(m, k, k), b.cells(k, n, n), Type::f32, request, run % 4).bits(), first) << "run " << run;
  }
  done = true;
  load.join();
}

/// Two streams of calls shared one buffer of counters and hung. On a CPU: two threads that call at the same time.
TEST(Reports, SK_3_two_threads_of_split_calls) {
  constexpr i64 m = 64, n = 64, k = 8192;
  oracle::Random random(1);
  Memory a(Type::f16, m * k, 0.0), b(Type::f16, k * n, 0.0);
  for (i64 at = 0; at < m * k; ++at) a.set(at, random.symmetric());
  for (i64 at = 0; at < k * n; ++at) b.set(at, random.symmetric());
  PlanRequest request;
  request.split = Split{SplitKind::split_k, 4};
  const auto serial = Result(a.cells(m, k, k), b.cells(k, n, n), Type::f32, request).bits();
  std::array<i64, 2> different{};
  std::vector<std::thread> callers;
  for (i64& count : different) {
    callers.emplace_back([&] {
      for (int call = 0; call < 100; ++call)
        count += Result(a.cells(m, k, k), b.cells(k, n, n), Type::f32, request).bits() != serial;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different[0], 0);
  EXPECT_EQ(different[1], 0);
}

}  // namespace
