// The command line itself: help, wrong use, streams; and explain and info from the outside.
#include <sstream>

#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace tilewright::test {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Columns of a UTF-8 text: bytes that do not continue a character.
std::size_t columns(const std::string& line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u ? 1 : 0;
  return count;
}

void expect_refused(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
  const Ran ran = Folder().tilewright(arguments);
  std::string line;
  for (const std::string& word : arguments) line += word + " ";
  EXPECT_EQ(ran.status, 2) << line;
  EXPECT_EQ(ran.out, "") << line;
  EXPECT_TRUE(ran.err.starts_with("tilewright: ")) << line << "\n" << ran.err;
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << "one line: " << ran.err;
  for (const std::string& part : parts)
    EXPECT_TRUE(contains(ran.err, part)) << line << "\n'" << part << "' is not in: " << ran.err;
}

TEST(Command, HelpOfEveryCommandFits80ColumnsAndHasExamples) {
  Folder folder;
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"--help"},
                                                                                         {"-h"},
                                                                                         {"gemm", "--help"},
                                                                                         {"gemm", "-h"},
                                                                                         {"explain", "--help"},
                                                                                         {"plans", "--help"},
                                                                                         {"check", "--help"},
                                                                                         {"info", "--help"}}) {
    const Ran ran = folder.tilewright(arguments);
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_TRUE(contains(ran.out, "Examples:\n  ")) << ran.out;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  }
}

TEST(Command, HelpNamesEveryOptionOfTheCommands) {
  Folder folder;
  const std::string gemm = folder.tilewright({"gemm", "--help"}).out;
  for (const char* option :
       {"--output", "--slice-a", "--slice-b", "--ta", "--tb", "--in-dtype", "--out-dtype", "--target", "--plan",
        "--threads", "--workspace", "--verify", "--explain", "--json", "Exit codes"})
    EXPECT_TRUE(contains(gemm, option)) << option;
  const std::string plans = folder.tilewright({"plans", "--help"}).out;
  for (const char* option : {"--m ",    "--n ",        "--k ",    "--layout",  "--lda",     "--ldb",     "--ldc",
                             "--dtype", "--out-dtype", "--suite", "--case",    "--target",  "--threads", "--workspace",
                             "--plan",  "--all",       "--top",   "--measure", "--seconds", "--cache",   "--json"})
    EXPECT_TRUE(contains(plans, option)) << option;
  const std::string explain = folder.tilewright({"explain", "--help"}).out;
  for (const char* option : {"--m ", "--n ", "--k ", "--layout", "--lda", "--ldb", "--ldc", "--dtype", "--out-dtype",
                             "--plan", "--program", "--step", "--element", "--shapes", "--cache", "--json"})
    EXPECT_TRUE(contains(explain, option)) << option;
  const std::string check = folder.tilewright({"check", "--help"}).out;
  for (const char* option : {"--kernel", "--list", "--json"}) EXPECT_TRUE(contains(check, option)) << option;
}

TEST(Command, VersionIsOneLine) {
  const Ran ran = Folder().tilewright({"--version"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_TRUE(ran.out.starts_with("tilewright ")) << ran.out;
  EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1);
}

TEST(Command, AloneItShowsItsHelpButFails) {
  const Ran ran = Folder().tilewright({});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(contains(ran.err, "Examples:"));
}

TEST(Command, WrongUseIsOneSentenceWithAWayOut) {
  expect_refused({"gem", "a.npy", "b.npy"}, {"no command 'gem'", "did you mean gemm?", "tilewright --help"});
  expect_refused({"--verison"}, {"did you mean --version?"});
  expect_refused({"frobnicate"}, {"no command 'frobnicate'", "tilewright --help"});
  expect_refused({"gemm", "a.npy", "b.npy", "--verfy"},
                 {"--verfy", "did you mean --verify?", "tilewright gemm --help"});
  expect_refused({"gemm", "a.npy", "b.npy", "--plam=64x32x32"}, {"no option --plam ", "did you mean --plan?"});
  expect_refused({"gemm", "a.npy", "b.npy", "--qqqqqqq"}, {"no option --qqqqqqq;"});
  expect_refused({"explain", "--target", "cuda", "--m", "8", "--n", "8", "--k", "8", "--lda", "9000000000000000000"},
                 {"a is 8x8 with strides (9000000000000000000, 1)", "63 bits"});
  expect_refused({"gemm", "a.npy", "b.npy", "c.npy"}, {"'c.npy'", "too many"});
  expect_refused({"gemm", "a.npy"}, {"B is required", "tilewright gemm --help"});
  expect_refused({"gemm"}, {"required"});
  expect_refused({"gemm", "a.npy", "b.npy", "-o"}, {"--output needs a value; try"});
  expect_refused({"gemm", "a.npy", "b.npy", "-o", "--verify"}, {"--output needs a value", "--verify"});
  expect_refused({"gemm", "a.npy", "b.npy", "-o", ""}, {"--output"});
  expect_refused({"gemm", "a.npy", "b.npy", "-o", "c.npy", "-o", "d.npy"}, {"--output"});
  expect_refused({"gemm", "a.npy", "b.npy", "--out-dtype", "f64"}, {"--out-dtype is 'f64'", "f16, bf16, f32"});
  expect_refused({"gemm", "a.npy", "b.npy", "--threads", "0"}, {"--threads is 0", "at least 1"});
  expect_refused({"gemm", "a.npy", "b.npy", "--threads", "-3"}, {"--threads is -3"});
  // The command and the library have one limit, and what a message allows is allowed.
  for (const std::vector<std::string>& command : {std::vector<std::string>{"gemm", "a.npy", "b.npy"},
                                                  {"explain", "--m", "1", "--n", "1", "--k", "1"},
                                                  {"explain", "--shapes", "a.csv"}}) {
    for (const auto& [count, words] :
         {std::pair{"0", "at least 1; leave it out"}, {"1025", "at most 1024; leave it out"}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--threads", count});
      expect_refused(arguments, {std::string("--threads is ") + count, words});
    }
  }
  expect_refused({"gemm", "a.npy", "b.npy", "--threads", "0x10"}, {"'0x10'"});
  expect_refused({"gemm", "a.npy", "b.npy", "--threads", "99999999999999999999"},
                 {"'99999999999999999999'", "63 bits"});
  for (const char* bytes : {"64Q", "K", "-1", "1.5G", "9999999999G", "64KiB"})
    expect_refused({"gemm", "a.npy", "b.npy", "--workspace", bytes}, {bytes, "64M"});
  expect_refused({"gemm", "a.npy", "b.npy", "--plan", "64x32"}, {"64x32"});
  expect_refused({"info", "--m", "3"}, {"info has no option --m"});
  expect_refused({"check", "--kernal", "x"}, {"did you mean --kernel?"});
}

TEST(Command, ARepeatedOptionIsNamed) {
  expect_refused({"explain", "--m", "1", "--m", "2", "--n", "1", "--k", "1"},
                 {"--m is given twice; give it once; try"});
  expect_refused({"explain", "--m=1", "--m=2", "--m=3"}, {"--m is given 3 times; give it once; try"});
  expect_refused({"gemm", "a.npy", "b.npy", "-o", "c.npy", "-o", "d.npy"}, {"--output is given twice; give it once"});
  expect_refused({"gemm", "a.npy", "b.npy", "--out-dtype", "f16", "--out-dtype", "f16"},
                 {"--out-dtype is given twice"});
  expect_refused({"gemm", "a.npy", "b.npy", "--workspace", "1M", "--workspace", "1M"}, {"--workspace is given twice"});
  expect_refused({"check", "--kernel", "x", "--kernel", "y"}, {"--kernel is given twice"});
}

TEST(Command, OutputsOfAGpuThatCannotBeAddressedAreRefused) {
  expect_refused({"explain", "--m", "549755813888", "--n", "549755813888", "--k", "64", "--target", "cuda"},
                 {"c is 549755813888x549755813888 with strides (549755813888, 1)"});
}

TEST(Command, BrokenStandardOutputIsAnError) {
  Folder folder;
  RunOptions full;
  full.out_path = "/dev/full";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"info"}, {"--help"}, {"--version"}, {"explain", "--m", "1", "--n", "1", "--k", "1"}}) {
    const Ran ran = folder.tilewright(arguments, full);
    EXPECT_EQ(ran.status, 2);
    EXPECT_TRUE(contains(ran.err, "cannot write to standard output")) << ran.err;
  }
  RunOptions closed;
  closed.close_out = true;
  EXPECT_EQ(folder.tilewright({"info"}, closed).status, 2);

  // The product is written all the same, and not into a stream's place.
  folder.python("np.save('a.npy', np.ones((5, 5), 'f4'))");
  EXPECT_EQ(folder.tilewright({"gemm", "a.npy", "a.npy", "-o", "c.npy"}, closed).status, 2);
  folder.python("assert (np.load('c.npy') == 5).all()");
}

TEST(Command, AReaderThatLeavesIsNoError) {
  const Ran ran = Folder().shell("set -o pipefail; $T info | true; trap '' PIPE; $T info | true");
  EXPECT_EQ(ran.err, "");
}

TEST(CommandExplain, HoldsTheFiguresOfTheWorkedExample) {
  const Ran ran =
      Folder().tilewright({"explain", "--m", "130", "--n", "70", "--k", "65", "--plan", "64x32x32", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  for (
      const char* part :
      {R"("grid":[3,3])", R"("programs":9)", R"("k_steps":3)", R"("useful_flops":1183000)", R"("block_flops":3538944)",
       R"("useful_ratio":0.3343)", R"("stage_intensity":21.33)", R"("accumulator_bytes":8192)",
       R"("last_program":{"rows":[128,191],"cols":[64,95],"valid":[2,6],"valid_outputs":12,"last_k":[64,95],"valid_k":1})"})
    EXPECT_TRUE(contains(ran.out, part)) << part << " is not in " << ran.out;
}

TEST(CommandExplain, LayoutsBecomeStrides) {
  Folder folder;
  const auto strides = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"explain", "--m",    "130",      "--n",       "70", "--k",
                                          "65",      "--plan", "64x32x32", "--element", "3,5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = folder.tilewright(arguments);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.out;
  };
  // C[3,5] sums A[3,k] * B[k,5]: the first two offsets of each tell both strides.
  const std::string nn = strides({}), tt = strides({"--layout", "tt"}),
                    ld = strides({"--lda", "100", "--ldb", "200", "--ldc", "300"});
  EXPECT_NE(nn, tt);
  EXPECT_NE(nn, ld);
  EXPECT_EQ(nn, strides({"--layout", "nn", "--lda", "0", "--ldb", "70", "--ldc", "70"}));
  EXPECT_EQ(tt, strides({"--layout", "tt", "--lda", "130", "--ldb", "65"}));
  for (const char* offset : {"195", "196"}) EXPECT_TRUE(contains(nn, offset)) << nn;  // 3 * 65 + 0, + 1
  for (const char* offset : {"300", "205"}) EXPECT_TRUE(contains(ld, offset)) << ld;  // 3 * 100; 1 * 200 + 5
  for (const char* offset : {"133", "325", "326"})
    EXPECT_TRUE(contains(tt, offset)) << tt;  // 3 + 1 * 130; 5 * 65 + 0, + 1
}

TEST(CommandExplain, RefusesWhatIsNoProblem) {
  const std::vector<std::string> problem = {"explain", "--m", "130", "--n", "70", "--k", "65", "--plan", "64x32x32"};
  const auto refused = [&](std::vector<std::string> more, const std::vector<std::string>& parts) {
    more.insert(more.begin(), problem.begin(), problem.end());
    expect_refused(more, parts);
  };
  expect_refused({"explain", "--m", "-1", "--n", "70", "--k", "65"}, {"--m is -1", "at least 0"});
  expect_refused({"explain", "--n", "70", "--k", "65"}, {"--m is missing"});
  expect_refused({"explain", "--m", "70", "--n", "65"}, {"--k is missing"});
  expect_refused({"explain", "--m", "--n", "65"}, {"--m needs a value"});
  refused({"--lda", "64"}, {"--lda is 64", "K = 65"});
  refused({"--layout", "tn", "--lda", "129"}, {"--lda is 129", "M = 130"});
  refused({"--ldb", "69"}, {"--ldb is 69", "N = 70"});
  refused({"--layout", "nt", "--ldb", "64"}, {"--ldb is 64", "K = 65"});
  refused({"--ldc", "1"}, {"--ldc is 1", "N = 70"});
  refused({"--layout", "xy"}, {"'xy'", "nn, nt, tn, tt"});
  refused({"--step", "1"}, {"--program"});
  refused({"--program", "9"}, {"9"});
  refused({"--program", "8", "--step", "3"}, {"3"});
  refused({"--element", "130,0"}, {"130"});
  refused({"--element", "5"}, {"row and a column"});
  refused({"--element", "5,x"}, {"'x'"});
  refused({"--cache", "0"}, {"0"});
  refused({"--shapes", "x.csv"}, {"--shapes"});
  expect_refused({"explain", "--shapes", "missing.csv"}, {"missing.csv"});
  expect_refused({"explain", "--shapes", "x.csv", "--plan", "64x32x32"}, {"--shapes", "leave out --plan"});
  expect_refused({"explain", "--shapes", "x.csv", "--workspace", "9"}, {"--shapes", "leave out --workspace"});
  expect_refused({"explain", "--shapes", "x.csv", "--layout", "nt"}, {"--shapes", "leave out --layout"});
}

TEST(CommandExplain, EmptyResultsOfHugeExtentsTakeNoTime) {
  Folder folder;
#if defined(__SANITIZE_ADDRESS__)
  const std::string limits = "timeout 20 $T explain ";  // the sanitizer's own address space passes any limit
#else
  const std::string limits = "ulimit -v 4000000; timeout 20 $T explain ";
#endif
  for (const char* problem :
       {"--m 4000000000 --n 0 --k 65", "--m 0 --n 1099511627776 --k 2", "--m 1 --n 0 --k 4294967296",
        "--m 1 --n 1 --k 0 --workspace 8000000000G --plan 'split=split_k(1000000000000)'"}) {
    for (const char* json : {"", " --json"}) {
      const Ran ran = folder.shell(std::string(limits).append(problem).append(json));
      EXPECT_EQ(ran.status, 0) << problem << json << ": " << ran.err;
    }
  }
}

TEST(CommandExplain, ShapesComeFromARegularFile) {
  Folder folder;
  folder.shell("mkfifo pipe; mkdir folder; printf '\\xef\\xbb\\xbfm,n,k\\n1,2,3\\n' > marked.csv; : > empty.csv");
  const auto refused = [&](const std::string& name, const std::string& why) {
    const Ran ran = folder.shell(std::string("timeout 20 $T explain --shapes ").append(name));
    EXPECT_EQ(ran.status, 2) << name;
    EXPECT_TRUE(contains(ran.err, std::string("cannot read ").append(name).append(": ").append(why))) << ran.err;
  };
  refused("pipe", "it is a named pipe and not a regular file");
  refused("folder", "it is a folder and not a regular file");
  refused("/dev/zero", "it is a device and not a regular file");
  refused("none.csv", "No such file");
  EXPECT_TRUE(contains(folder.tilewright({"explain", "--shapes", "empty.csv"}).err, "empty.csv has no header line"));
  EXPECT_EQ(folder.tilewright({"explain", "--shapes", "marked.csv"}).status, 0);
}

TEST(CommandExplain, WeighsAListOfShapes) {
  Folder folder;
  folder.shell(
      "printf 'm,n,k,weight\\n130,70,65,3\\n1,4096,4096,1\\n' > shapes.csv; printf 'm,n,k\\n1,x,3\\n' > bad.csv");
  const Ran text = folder.tilewright({"explain", "--shapes", "shapes.csv"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "64x32x32")) << text.out;
  EXPECT_EQ(folder.shell("$T explain --shapes shapes.csv --json | python3 -m json.tool > /dev/null && echo fine").out,
            "fine\n");
  const Ran bad = folder.tilewright({"explain", "--shapes", "bad.csv"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_TRUE(contains(bad.err, "bad.csv") && contains(bad.err, "2")) << bad.err;
}

TEST(CommandInfo, NamesWhatThisMachineOffers) {
  Folder folder;
  const Ran text = folder.tilewright({"info"});
  EXPECT_EQ(text.status, 0);
  for (const char* part :
       {"tilewright ", "processor", "instructions", "portable", "caches", "threads", "targets", "cpu", "check", "cuda"})
    EXPECT_TRUE(contains(text.out, part)) << part << " is not in\n" << text.out;
  folder.shell("$T info --json > info.json");
  folder.python(R"(
info = json.load(open('info.json'))
assert info['targets'][:2] == ['cpu', 'check'] and ('cuda' in info['targets']) != info['cuda'].startswith('unavailable: ') and info['threads'] >= 1 and 'portable' in info['instruction_sets']
assert info['instruction_set_chosen'] in info['instruction_sets']
)");
  const Ran one = folder.shell("TILEWRIGHT_THREADS=1 $T info");
  EXPECT_TRUE(contains(one.out, "1: what TILEWRIGHT_THREADS says")) << one.out;
  const Ran pinned = folder.shell("taskset -c 0 $T info");
  EXPECT_TRUE(contains(pinned.out, "1 in the affinity mask")) << pinned.out;
}

}  // namespace
}  // namespace tilewright::test
