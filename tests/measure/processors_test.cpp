// Before a turn: who is waited for, and what counts as full speed. No test here depends on how long anything takes.
#include "measure/processors.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tilewright::measure {
namespace {

constexpr double very_long_us = 6e7;

TEST(WaitUntilIdle, WaitsForAThreadThatSpins) {
  std::atomic<bool> spins = false, over = false;
  std::jthread other([&] {
    spins = true;
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
         std::chrono::steady_clock::now() < end;)
      continue;
    spins = false;
    over.wait(false);
  });
  while (!spins) std::this_thread::yield();
  wait_until_idle(very_long_us);
  EXPECT_FALSE(spins);
  over = true;
  over.notify_one();
}

TEST(WaitUntilIdle, DoesNotWaitForThreadsThatSleepNorForItself) {
  std::atomic<bool> over = false;
  std::jthread other([&] { over.wait(false); });
  const auto start = std::chrono::steady_clock::now();
  wait_until_idle(very_long_us);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::duration<double>(very_long_us * 1e-6));
  over = true;
  over.notify_one();
}

TEST(WaitUntilIdle, GivesUp) {
  std::atomic<bool> over = false;
  std::jthread other([&] {
    while (!over) continue;
  });
  wait_until_idle(1000);
  over = true;
}

TEST(FullSpeed, TakesTwoGoodWindowsInSuccession) {
  FullSpeed speed;
  const std::vector<double> good = {100, 98}, half = {51, 50}, one_late = {99, 20};
  EXPECT_FALSE(speed.reached(good));
  EXPECT_FALSE(speed.reached(one_late));
  EXPECT_FALSE(speed.reached(good));
  EXPECT_TRUE(speed.reached(good));
  for (int window = 0; window < 3; ++window) EXPECT_FALSE(speed.reached(half)) << "two threads of one core";
}

TEST(FullSpeed, RemembersTheFastestThatASingleProcessorWas) {
  FullSpeed speed;
  speed.reached(std::vector<double>{100});
  for (int window = 0; window < 3; ++window) EXPECT_FALSE(speed.reached(std::vector<double>{52, 52}));
  EXPECT_FALSE(speed.reached(std::vector<double>{80, 76}));
  EXPECT_TRUE(speed.reached(std::vector<double>{80, 76}));
}

TEST(Processors, GiveUpAndAreNeverMoreThanThereAre) {
  Processors processors;
  processors.come_to_speed(1 << 20, 1000);
}

}  // namespace
}  // namespace tilewright::measure
