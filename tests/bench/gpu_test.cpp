// What of measuring on a GPU needs none: how many sets of operands there are, how NVIDIA's libraries are asked for a
// row-major product, and what is said where they, or the device, are missing. The device's own part is run by hand:
// docs/bench-method.md.
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tilewright/cuda.hpp>
#include <tilewright/error.hpp>
#include "bench/cublas.hpp"
#include "bench/first_call.hpp"
#include "bench/gpu.hpp"
#include "bench/gpu_bench.hpp"
#include "tests/bench/fake_peer.hpp"

namespace tilewright::bench {
namespace {

TEST(Gpu, SetsExceedTwiceTheCache) {
  constexpr i64 l2 = i64{60} << 20;
  EXPECT_EQ(sets_for(1e9, l2), 2);  // at least two, whatever their size
  EXPECT_EQ(sets_for(static_cast<double>(l2), l2), 2);
  EXPECT_EQ(sets_for(static_cast<double>(l2) - 1, l2), 3);
  for (const double bytes : {44e3, 1e6, 50e6}) {
    const double held = bytes * static_cast<double>(sets_for(bytes, l2));
    EXPECT_GE(held, 2.0 * static_cast<double>(l2)) << bytes;
    EXPECT_LT(held, 2.0 * static_cast<double>(l2) + bytes) << bytes;
  }
  EXPECT_EQ(sets_for(100, l2), 4096);  // a graph must end somewhere
}

Job job_of(const std::string& line) {
  const Case one = parse_suite("name,group,m,n,k,layout,types,lda,ldb,ldc,offset,step\n" + line, "x.csv").at(0);
  static std::unique_ptr<Operands> operands;  // views outlive the call
  operands = std::make_unique<Operands>(one);
  return operands->job(1);
}

TEST(Gpu, RowsAreColumnsOfTheTransposedProduct) {
  const auto plain = cublas::forms_of(job_of("x,g,5,7,6,nn,f16,9,11,13,,\n"));
  ASSERT_TRUE(plain.has_value());
  EXPECT_FALSE(plain->a.transposed || plain->b.transposed || plain->c.transposed);
  EXPECT_EQ(plain->a.ld, 9);
  EXPECT_EQ(plain->b.ld, 11);
  EXPECT_EQ(plain->c.ld, 13);
  const auto turned = cublas::forms_of(job_of("x,g,5,7,6,tt,f16,9,11,13,,\n"));
  ASSERT_TRUE(turned.has_value());
  EXPECT_TRUE(turned->a.transposed && turned->b.transposed);
  EXPECT_EQ(turned->a.ld, 9);
  EXPECT_EQ(turned->b.ld, 11);
  EXPECT_FALSE(cublas::forms_of(job_of("x,g,5,7,6,nn,f16,,,,,2\n")).has_value());
}

TEST(Gpu, AlignmentIsThatOfTheWorstOperand) {
  EXPECT_GE(alignment_of(job_of("x,g,5,7,6,nn,f16,,,,,\n")), 16u);
  EXPECT_EQ(alignment_of(job_of("x,g,5,7,6,nn,f16,,,,1,\n")), 2u);
  EXPECT_EQ(alignment_of(job_of("x,g,5,7,6,nn,f32,,,,2,\n")), 8u);
}

TEST(Gpu, PeersOfEachTargetAreKnown) {
  EXPECT_EQ(peer_names("cuda"), (std::vector<std::string>{"cublas", "cublaslt", "pad"}));
  EXPECT_EQ(peer_names(), (std::vector<std::string>{"openblas", "onednn", "blis"}));
  EXPECT_TRUE(peer_names("check").empty());
}

TEST(FirstCalls, LinesParseBackAndNothingElseDoes) {
  const FirstCall call{123.5, 0, 7.25, 0.0625};
  const auto back = parse_first_call(to_line(call));
  ASSERT_TRUE(back.has_value());
  EXPECT_DOUBLE_EQ(back->context, call.context);
  EXPECT_DOUBLE_EQ(back->open, call.open);
  EXPECT_DOUBLE_EQ(back->first, call.first);
  EXPECT_DOUBLE_EQ(back->again, call.again);
  for (const char* line : {"", "1 2 3\n", "1 2 3 4", "1 2 3 4 5\n", "1 2 x 4\n"})
    EXPECT_FALSE(parse_first_call(line).has_value()) << line;
}

TEST(FirstCalls, OfThisLibraryWithBothCachesAndOfPeers) {
  std::vector<std::string> started;
  std::string first_cache;
  double time = 0;
  const auto calls = first_calls(std::vector<std::string>{"quick", "absent"}, 3,
                                 [&](const std::string& contender, const std::string& cache) {
                                   EXPECT_TRUE(std::filesystem::is_directory(cache));
                                   if (contender == "absent") throw std::runtime_error("no such library");
                                   started.push_back(contender + " " + cache);
                                   ++time;
                                   return to_line({100, 1, time, time / 2});
                                 });
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].cache, "empty");
  EXPECT_DOUBLE_EQ(calls[0].median.first, 2);
  EXPECT_EQ(calls[1].cache, "filled");
  EXPECT_DOUBLE_EQ(calls[1].median.first, 6);  // of 5, 6, 7: the fourth filled the cache
  EXPECT_EQ(calls[2].contender, "quick");
  EXPECT_EQ(calls[2].cache, "");
  EXPECT_EQ(calls[3].failed, "no such library");
  ASSERT_EQ(started.size(), 10u);
  EXPECT_EQ(std::set<std::string>(started.begin(), started.begin() + 3).size(), 3u);  // an empty folder each
  EXPECT_EQ(std::set<std::string>(started.begin() + 3, started.begin() + 7).size(), 1u);
  for (const std::string& one : started) EXPECT_FALSE(std::filesystem::exists(one.substr(one.find(' ') + 1))) << one;
}

TEST(Gpu, WhatIsMissingIsSaid) {
  const auto missing = [](const char* name) {
    try {
      open_cuda_library({name});
      return std::string();
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(missing("libnosuchblas.so.7").find("libnosuchblas.so.7 ("), std::string::npos);
  if (cuda::unavailable().empty()) {
    EXPECT_NO_THROW(GpuBench()) << "nothing is missing";
    return;
  }
  for (const std::string& name : peer_names("cuda")) EXPECT_FALSE(open_peer(name).missing.empty()) << name;
  try {
    const GpuBench bench;
    FAIL() << "there is no GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::target);
  }
}

}  // namespace
}  // namespace tilewright::bench
