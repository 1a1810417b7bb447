// The command and GPUs: with a driver that has a device and computes nothing (tests/fake_driver), and without one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cuda/pack.hpp"
#include "pack/kernels.hpp"
#include "tests/cli/command.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tilewright::test;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class CommandGpu : public testing::Test {
 protected:
  void SetUp() override {
    folder.python("np.save('a.npy', np.ones((64, 64), 'f2'))");
    std::vector<tilewright::cuda::PackEntry> entries;
    for (const auto& kernel : tilewright::pack::default_kernels()) {
      entries.push_back({"g", kernel.unit, kernel.architecture, {}});
      entries.back().cubin.image.assign({'x', '\0'});
      entries.back().cubin.registers = 77;
    }
    std::ofstream(folder.path() / "fake.pack", std::ios::binary) << tilewright::cuda::pack_bytes(std::move(entries));
  }
  /// The command with the fake driver and a pack that it takes.
  Ran with_gpu(const std::string& arguments) const {
    const fs::path build = fs::path(TILEWRIGHT_COMMAND).parent_path().parent_path();
    const std::string driver = (build / "tests" / "fake_driver" / "lib").string();
    return folder.shell("TILEWRIGHT_PACK=fake.pack LD_LIBRARY_PATH='" + driver + "' $T " + arguments);
  }
  /// The command where no GPU is, or none is to be seen.
  Ran without_gpu(const std::string& arguments) const { return folder.shell("CUDA_VISIBLE_DEVICES= $T " + arguments); }

  Folder folder;
};

TEST_F(CommandGpu, AutoTakesAGpuAndSaysWhy) {
  const Ran ran = with_gpu("gemm a.npy a.npy");
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "cuda: a test's device")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "taken by auto: a GPU is here")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "from the files to the device\n           (16,384 bytes")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "ms back (8,192 bytes")) << ran.out;
}

TEST_F(CommandGpu, ARestIsMultipliedAsWell) {
  folder.python("np.save('odd.npy', np.arange(131 * 77).reshape(131, 77).astype('f2') % 7)");
  for (const char* const rest : {"rows(1)", "rows(129)", "cols(70)"}) {
    setenv("FAKE_PRODUCT", "right", 1);
    const Ran ran = with_gpu(fmt::format("gemm odd.npy odd.npy --tb --target cuda --verify --plan 'rest={}'", rest));
    unsetenv("FAKE_PRODUCT");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_TRUE(contains(ran.out, "PASS: all elements")) << rest << "\n" << ran.out;
    EXPECT_TRUE(contains(ran.out, rest)) << ran.out;
  }
}

TEST_F(CommandGpu, AutoTakesTheCpuWhereTheRequestSpeaksOfIt) {
  for (const auto& [arguments, why] : {std::pair{"--threads 1", "--threads speaks of the cpu"},
                                       {"--explain", "--explain speaks of the cpu"},
                                       {"--plan mma=portable", "the GPU does not do it"}}) {
    const Ran ran = with_gpu(std::string("gemm a.npy a.npy ") + arguments);
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_TRUE(contains(ran.out, "target     cpu, 1 thread, ")) << ran.out;  // it is small
    EXPECT_TRUE(contains(ran.out, std::string("taken by auto: ") + why)) << ran.out;
  }
}

TEST_F(CommandGpu, WhatIsPrintedFitsInto80Columns) {
  folder.python("np.save('long.npy', np.ones((64, 100001), 'f2'))");
  for (const char* arguments :
       {"info", "gemm a.npy a.npy", "gemm long.npy long.npy --tb --verify", "check --target cuda",
        "explain --m 1000000000 --n 1000000000 --k 1000000000 --target cuda"}) {
    const Ran ran = with_gpu(arguments);
    EXPECT_FALSE(ran.out.empty()) << arguments << "\n" << ran.err;
    EXPECT_EQ(ragged_lines(ran.out), "") << arguments;
  }
}

TEST_F(CommandGpu, WithoutOneAutoNamesTheReason) {
  const Ran ran = without_gpu("gemm a.npy a.npy");
  EXPECT_TRUE(contains(ran.out, "taken by auto: the NVIDIA driver")) << ran.out;
  const Ran check = without_gpu("check --target cuda");
  EXPECT_EQ(check.status, 2);
  EXPECT_TRUE(contains(check.err, "the target cuda is unavailable: the NVIDIA driver")) << check.err;
}

TEST_F(CommandGpu, FilesLongerThanAPieceTravelWhole) {
  folder.python("np.save('long.npy', np.ones((64, 100001), 'f2'))");  // 12.8 MB: pieces have 4 MiB
  const Ran ran = with_gpu("gemm long.npy long.npy --tb -o c.npy");
  ASSERT_EQ(ran.status, 0) << ran.err;
  folder.python("assert np.load('c.npy').shape == (64, 64)");
}

TEST_F(CommandGpu, CheckRunsTheBatteryThere) {
  // A device that computes nothing fails it: every output but those of an empty sum is missing.
  const Ran ran = with_gpu("check --target cuda --json");
  EXPECT_EQ(ran.status, 1) << ran.out << ran.err;
  EXPECT_TRUE(contains(ran.out, "\"passed\":false")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "must be")) << ran.out;
}

TEST_F(CommandGpu, ExplainSpeaksOfAGpuThatIsHereOrAssumed) {
  const std::string problem = "explain --m 4096 --n 50257 --k 768 --layout nt --target cuda";
  const Ran here = with_gpu(problem), assumed = without_gpu(problem);
  EXPECT_TRUE(contains(here.out, "on a test's device")) << here.out << here.err;
  EXPECT_TRUE(contains(assumed.out, "an NVIDIA H200, assumed")) << assumed.out << assumed.err;
  for (const char* const words : {"plan", "least modelled time", "tma, boxes along columns", "multiprocessors",
                                  "kernel pack", "Candidates", "16x64x64 w4 s4"}) {
    EXPECT_TRUE(contains(here.out, words)) << words << "\n" << here.out;
  }
  EXPECT_TRUE(contains(here.out, "77 registers")) << here.out;
  folder.shell("$T " + problem + " --json >o.json");
  folder.python(
      "o = json.load(open('o.json')); assert o['target'] == 'cuda' and o['programs'] > 0 and o['candidates']");
  // Few programs share their steps.
  const std::string few = "explain --m 64 --n 64 --k 65536 --target cuda";
  const Ran shared = without_gpu(few);
  for (const char* const words : {"split=cluster(16)", "16 blocks of threads share a program", "its 1024 blocks of K",
                                  "1 programs of 16 blocks, 1 wave", "w4 s12 t2 cluster(16)"}) {
    EXPECT_TRUE(contains(shared.out, words)) << words << "\n" << shared.out;
  }
  // What is more than whole rounds is left to a second product.
  const std::string more = "explain --m 4097 --n 4097 --k 4097 --layout nt --target cuda";
  const Ran left = without_gpu(more);
  for (const char* const words : {"rest=rows(1)", "16 x 33 = 528 programs, 4 waves",
                                  "the last row of C, a product of its own behind this one", "65\n"}) {
    EXPECT_TRUE(contains(left.out, words)) << words << "\n" << left.out;
  }
  folder.shell("$T " + more + " --json >o.json");
  folder.python("o = json.load(open('o.json')); assert (o['m'], o['rest']['m'], o['rest']['n']) == (4097, 1, 4097)");
  const Ran mixed = folder.shell("$T " + problem + " --threads 3");
  EXPECT_EQ(mixed.status, 2);
  EXPECT_TRUE(contains(mixed.err, "--threads speaks of the target cpu")) << mixed.err;
}

}  // namespace
