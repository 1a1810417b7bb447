// How many threads the command says it ran, and that it says why they are not as many as were asked for.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command.hpp"

namespace tilewright::test {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CommandThreads, SaysHowManyThreadsRanAndWhyNotMore) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((256, 256), 'f2')); np.save('tiny.npy', np.ones((4, 4), 'f2'))");
  const auto on = [&](const std::string& file, const std::string& options) {
    const Ran ran = folder.shell("$T gemm " + file + " " + file + " --target cpu --plan 64x64x64 " + options);
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::string words = ran.out;  // lines are broken where they are full
    for (std::size_t at = 0; (at = words.find("\n           ", at)) != std::string::npos;) words.replace(at, 12, " ");
    return words;
  };
  const std::string many = on("a.npy", "--threads 1000");
  EXPECT_TRUE(contains(many,
                       "cpu, 16 threads, 0 bytes of workspace 1,000 threads were asked for; there are no more "
                       "programs than these"))
      << many;
  const std::string two = on("a.npy", "--threads 2");
  EXPECT_TRUE(contains(two, "cpu, 2 threads,")) << two;
  EXPECT_FALSE(contains(two, "asked for")) << two;
  const std::string tiny = on("tiny.npy", "--threads 3");
  EXPECT_TRUE(contains(tiny, "cpu, 1 thread, 0 bytes of workspace 3 threads were asked for")) << tiny;
  const Ran one = folder.shell(
      "taskset -c \"$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')\" $T gemm a.npy a.npy "
      "--target cpu --threads 2");
  EXPECT_TRUE(contains(one.out, "This process may use 1 processor, which the threads share")) << one.out << one.err;
  folder.shell("$T gemm a.npy a.npy --target cpu --plan 64x64x64 --threads 1000 --json > out.json");
  folder.python("o = json.load(open('out.json')); assert o['threads'] == 16 and o['threads_asked'] == 1000, o");
}

}  // namespace
}  // namespace tilewright::test
