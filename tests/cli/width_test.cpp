// What the command prints is read in terminals of 80 columns: no line of it is longer, whatever the figures are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/command.hpp"

namespace tilewright::test {
namespace {

void expect_narrow(const Folder& folder, const std::vector<std::string>& arguments) {
  const Ran ran = folder.tilewright(arguments);
  std::string shown;
  for (const std::string& argument : arguments) shown += " " + argument;
  EXPECT_EQ(ran.status, 0) << shown << "\n" << ran.err;
  EXPECT_FALSE(ran.out.empty()) << shown;
  EXPECT_EQ(ragged_lines(ran.out), "") << shown;
}

TEST(CommandWidth, Explain) {
  const Folder folder;
  const std::vector<std::vector<std::string>> problems = {
      {"--m", "130", "--n", "70", "--k", "65", "--plan", "64x32x32"},
      {"--m", "4096", "--n", "50257", "--k", "768", "--layout", "nt"},
      {"--m", "1000000000", "--n", "1000000000", "--k", "1000000000"},
      {"--m", "1000000000", "--n", "1000000000", "--k", "1000000000", "--plan", "64x32x32", "--layout", "tt"},
      {"--m", "3", "--n", "1000000000", "--k", "0"},
      {"--m", "64", "--n", "64", "--k", "1000000", "--workspace", "1M", "--plan", "split=split_k(16)"},
      {"--m", "0", "--n", "5", "--k", "5"}};
  const std::vector<std::vector<std::string>> looks = {
      {}, {"--program", "0"}, {"--program", "0", "--step", "0"}, {"--element", "2,63"}, {"--target", "cuda"}};
  for (const auto& problem : problems) {
    for (const auto& look : looks) {
      if (problem[1] == "0" && !look.empty()) continue;         // no program, no element, no grid on a GPU
      if (problem.back() == "0" && look.size() == 4) continue;  // no K step
      if (problem.size() > 6 && problem[6] == "--workspace" && look.size() == 2 && look[0] == "--target") continue;
      if (problem.size() > 7 && problem[6] == "--plan" && look.size() == 2 && look[0] == "--target") continue;
      std::vector<std::string> arguments = {"explain"};
      arguments.insert(arguments.end(), problem.begin(), problem.end());
      arguments.insert(arguments.end(), look.begin(), look.end());
      expect_narrow(folder, arguments);
    }
  }
}

TEST(CommandWidth, Plans) {
  const Folder folder;
  for (const std::vector<std::string>& problem : {std::vector<std::string>{"--m", "130", "--n", "70", "--k", "65"},
                                                  {"--m", "4096", "--n", "50257", "--k", "768", "--layout", "nt"},
                                                  {"--m", "1000000000", "--n", "1000000000", "--k", "1000000000"},
                                                  {"--m", "0", "--n", "5", "--k", "5"}}) {
    for (const char* target : {"cpu", "cuda"}) {
      std::vector<std::string> arguments = {"plans", "--target", target};
      arguments.insert(arguments.end(), problem.begin(), problem.end());
      expect_narrow(folder, arguments);
    }
  }
}

TEST(CommandWidth, LastProgramOfALargeGrid) {
  const Folder folder;
  const std::vector<std::string> problem = {"explain", "--m",        "1000000000", "--n",          "1000000000",
                                            "--k",     "1000000000", "--plan",     "1024x1024x512"};
  for (const std::vector<std::string>& look : {std::vector<std::string>{"--program", "953675292968"},
                                               {"--program", "953675292968", "--step", "1953124"},
                                               {"--element", "999999999,999999999"}}) {
    std::vector<std::string> arguments = problem;
    arguments.insert(arguments.end(), look.begin(), look.end());
    expect_narrow(folder, arguments);
  }
}

TEST(CommandWidth, OtherCommands) {
  const Folder folder;
  folder.python(
      "np.save('a.npy', np.ones((2000, 70), 'f2')); open('s.csv', 'w').write('m,n,k,weight\\n1,2,3,4\\n"
      "100000,50257,4096,1\\n')");
  expect_narrow(folder, {"info"});
  expect_narrow(folder, {"check", "--list"});
  expect_narrow(folder, {"check", "--kernel", "softmax"});
  expect_narrow(folder, {"explain", "--shapes", "s.csv"});
  expect_narrow(folder, {"gemm", "a.npy", "a.npy", "--tb", "--verify", "--threads", "1000", "-o", "c.npy"});
  expect_narrow(folder,
                {"gemm", "a.npy", "a.npy", "--ta", "--target", "check", "--slice-a", ":70", "--slice-b", ":70"});
}

TEST(CommandWidth, Help) {
  const Folder folder;
  expect_narrow(folder, {"--help"});
  for (const char* command : {"gemm", "explain", "plans", "check", "bench", "info"})
    expect_narrow(folder, {command, "--help"});
}

}  // namespace
}  // namespace tilewright::test
