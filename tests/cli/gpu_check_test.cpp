// gpu_check --random with a driver that multiplies on the host (tests/fake_driver): what is drawn, what is expected and
// what is said of a fault. On a device it judges the kernels; here, itself.
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

class GpuCheck : public testing::Test {
 protected:
  /// The pack that the real one is, each kernel with its name in place of code: the driver reads element types there.
  void SetUp() override {
    std::vector<tilewright::cuda::PackEntry> entries;
    for (const auto& kernel : tilewright::pack::default_kernels()) {
      entries.push_back({"g", kernel.unit, kernel.architecture, {}});
      entries.back().cubin.image.assign(kernel.name.c_str(), kernel.name.c_str() + kernel.name.size() + 1);
    }
    std::ofstream(folder.path() / "fake.pack", std::ios::binary) << tilewright::cuda::pack_bytes(std::move(entries));
    // In the place of NVRTC a library that is none: whatever the machine has, nothing can be compiled.
    fs::create_directory(folder.path() / "lib");
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      fs::copy(driver() / "libcuda.so.1", folder.path() / "lib" / name);
  }
  static fs::path build() { return fs::path(TILEWRIGHT_COMMAND).parent_path().parent_path(); }
  Ran check(const std::string& arguments, const std::string& product) const {
    return folder.shell("FAKE_PRODUCT=" + product +
                        " TILEWRIGHT_PACK=fake.pack TILEWRIGHT_CACHE= LD_LIBRARY_PATH=\"$PWD/lib:" + driver().string() +
                        "\" '" + (build() / "bin" / "gpu_check").string() + "' " + arguments);
  }
  static fs::path driver() { return build() / "tests" / "fake_driver" / "lib"; }

  Folder folder;
};

TEST_F(GpuCheck, RandomProblemsAreRight) {
  const Ran ran = check("--random 60 --seed 3 --threads 2", "right");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out, "60 passed, 0 failed\n");
}

TEST_F(GpuCheck, AWrongOneIsNamedByTheCallThatRepeatsIt) {
  const Ran ran = check("--random 30 --seed 3 --threads 2", "wrong");
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(contains(ran.out, "\n0 passed, 30 failed\n")) << ran.out;
  const std::string call = "gpu_check --random 1 --seed 3 --from 7: ";
  ASSERT_TRUE(contains(ran.out, "FAILED " + call)) << ran.out;
  const std::size_t begin = ran.out.find("FAILED " + call);
  const std::string line = ran.out.substr(begin, ran.out.find('\n', begin) - begin + 1);
  const Ran again = check("--random 1 --seed 3 --from 7", "wrong");
  EXPECT_TRUE(contains(again.out, line + "C is wrong in 1 of ")) << line << again.out;
  EXPECT_TRUE(contains(again.out, "first    C[")) << again.out;
  for (const char* const part : {" to ", "x", ", a (", ", b (", ", c (", "at an unmapped page, "})
    EXPECT_TRUE(contains(line, part)) << line;
}

/// Draws without multiplying: the names of those whose text has a part, of a product that is wrong.
TEST_F(GpuCheck, WhatIsDrawnIsWhatCallersHave) {
  for (const char* const part : {"f32 to ",
                                 "bf16 to f32",
                                 "f16 to f16",
                                 " 1x",
                                 "x1x",
                                 "a (0,",
                                 "b (1,",
                                 ",0) from",
                                 "(-",
                                 ",-1) from",
                                 ",3) from",
                                 " from 3 of",
                                 "begins at",
                                 "ends at",
                                 "own plan",
                                 ", plan ",
                                 "a=tma b=tma",
                                 "a=realign b=tma",
                                 "a=tma b=realign",
                                 "a=async_copy",
                                 "a=realign b=realign",
                                 "a=gather"}) {
    const Ran ran = check(std::string("--random 120 --seed 1 --filter '") + part + "'", "wrong");
    EXPECT_TRUE(contains(ran.out, "FAILED gpu_check")) << part << " is not drawn";
  }
}

}  // namespace
