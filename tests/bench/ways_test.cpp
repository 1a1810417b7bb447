// Ways through an FP32 library: every one of them gives the product, for every layout that a suite can state. The
// library is a plain loop of the test's own. Peers that are installed are tried as well.
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tilewright/error.hpp>
#include <tilewright/verify.hpp>
#include "bench/blas_ways.hpp"
#include "bench/environment.hpp"
#include "bench/team.hpp"
#include "tests/bench/fake_peer.hpp"

namespace tilewright::bench {
namespace {

float at(const Stored& matrix, i64 row, i64 col) {
  return matrix.data[matrix.transposed ? col * matrix.ld + row : row * matrix.ld + col];
}

Blas plain_blas(std::atomic<int>& vectors) {
  Blas blas;
  blas.gemm = [](i64 m, i64 n, i64 k, const Stored& a, const Stored& b, float beta, float* c, i64 ldc) {
    for (i64 i = 0; i < m; ++i) {
      for (i64 j = 0; j < n; ++j) {
        float sum = beta == 0 ? 0 : beta * c[i * ldc + j];
        for (i64 q = 0; q < k; ++q) sum += at(a, i, q) * at(b, q, j);
        c[i * ldc + j] = sum;
      }
    }
  };
  blas.gemv = [&vectors](const Stored& a, i64 rows, i64 cols, const float* x, float beta, float* y) {
    ++vectors;
    const i64 outputs = a.transposed ? cols : rows, terms = a.transposed ? rows : cols;
    for (i64 i = 0; i < outputs; ++i) {
      float sum = beta == 0 ? 0 : beta * y[i];
      for (i64 q = 0; q < terms; ++q) sum += a.data[a.transposed ? q * a.ld + i : i * a.ld + q] * x[q];
      y[i] = sum;
    }
  };
  blas.set_threads = [](i64) {};
  return blas;
}

std::vector<Case> strange_cases() {
  std::string lines = "name,group,m,n,k,layout,types,lda,ldb,ldc,offset,step\n";
  int number = 0;
  for (const char* shape :
       {"37,29,41", "1,70,1100", "70,1,1100", "1,1,5", "33,1,1", "1,33,1", "3,700,530", "700,3,530"}) {
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      for (const char* rest : {",,,,", ",,701,1,", ",,,,2", "2203,2205,,3,2"}) {
        const char* const type = number % 2 == 0 ? "f16" : "bf16";
        lines += "x" + std::to_string(number++) + ",g," + shape + "," + layout + "," + type + "," + rest + "\n";
      }
    }
  }
  return parse_suite(lines, "strange.csv");
}

void expect_product(const Way& way, const Job& job, Operands& operands, const std::string& where) {
  for (int time = 0; time < 2; ++time) {  // a second call must not see what the first one left
    operands.poison_output();
    if (way.prepare) way.prepare();
    way.run();
    EXPECT_EQ(operands.untouched(), 0) << where << way.name;
    const VerifyResult result = verify(job.a, job.b, job.c, {.threads = 1, .progress = {}});
    EXPECT_TRUE(result.passed) << where << way.name << ": C[" << result.row << "," << result.col << "]";
  }
}

std::string words(const Case& one, i64 threads) {
  return one.name + " " + std::to_string(one.m) + "x" + std::to_string(one.n) + "x" + std::to_string(one.k) + " " +
         one.layout() + " step " + std::to_string(one.step) + " on " + std::to_string(threads) + ": ";
}

TEST(Ways, EveryWayGivesTheProductOnEveryLayout) {
  std::atomic<int> vectors = 0;
  const Blas blas = plain_blas(vectors);
  std::set<std::string> kinds;
  for (const Case& one : strange_cases()) {
    Operands operands(one);
    for (const i64 threads : {1, 3}) {
      const Job job = operands.job(threads);
      for (const Way& way : blas_ways(blas, job)) {
        expect_product(way, job, operands, words(one, threads));
        kinds.insert(way.name.substr(0, way.name.find_first_of("0123456789")));
      }
    }
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"sgemm, slices of ", "sgemm, whole operands converted",
                                          "sgemm, whole operands converted on one thread", "sgemv, slices of ",
                                          "sgemv, whole operands converted",
                                          "sgemv, whole operands converted on one thread"}));
  EXPECT_GT(vectors, 0);
}

class InstalledPeer : public ::testing::TestWithParam<std::string> {};

TEST_P(InstalledPeer, EveryWayGivesTheProductOrItIsSaidToBeMissing) {
  const OpenedPeer opened = open_peer(GetParam());
  if (!opened.peer) {
    EXPECT_FALSE(opened.missing.empty());
    return;
  }
  EXPECT_FALSE(opened.peer->version().empty());
  EXPECT_FALSE(opened.peer->file().empty());
  for (const Case& one : strange_cases()) {
    Operands operands(one);
    for (const i64 threads : {1, 2}) {
      const Job job = operands.job(threads);
      const std::vector<Way> ways = opened.peer->ways(job);
      EXPECT_FALSE(ways.empty());
      for (const Way& way : ways) expect_product(way, job, operands, words(one, threads));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Peers, InstalledPeer, ::testing::ValuesIn(peer_names()),
                         [](const auto& info) { return info.param; });

TEST(Peers, AnUnknownOneIsRefused) { EXPECT_THROW(open_peer("nosuchblas"), Error); }

TEST(Team, EveryMemberWorksOnceARun) {
  for (const i64 threads : {1, 2, 5}) {
    Team team(threads);
    EXPECT_EQ(team.size(), threads);
    std::vector<std::atomic<int>> turns(static_cast<std::size_t>(threads));
    for (int run = 0; run < 200; ++run) team.run([&](i64 member) { ++turns[static_cast<std::size_t>(member)]; });
    for (const auto& count : turns) EXPECT_EQ(count, 200);
  }
}

TEST(Environment, NamesThatSpeakToPeers) {
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "GOMP_SPINCOUNT",
                           "GOTO_NUM_THREADS", "BLIS_ARCH_TYPE", "DNNL_MAX_CPU_ISA", "ONEDNN_VERBOSE",
                           "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_LOG_LEVEL", "NVIDIA_TF32_OVERRIDE"})
    EXPECT_TRUE(speaks_to_peers(name)) << name;
  for (const char* name : {"PATH", "HOME", "TILEWRIGHT_THREADS", "COMP_WORDS", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"})
    EXPECT_FALSE(speaks_to_peers(name)) << name;
}

}  // namespace
}  // namespace tilewright::bench
