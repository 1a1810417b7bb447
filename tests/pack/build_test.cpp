// The build of the kernel pack: what it compiles and what not, and what makes it fail. A function stands in for the
// compiler, but for the planted kernels that NVRTC itself must judge.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <tilewright/gemm.hpp>
#include "cuda/loaded.hpp"
#include "cuda/pack.hpp"
#include "gemm/cuda_kernel.hpp"
#include "pack/build.hpp"
#include "plan/gpu_planner.hpp"
#include "tests/core/errors.hpp"
#include "tests/oracle/random.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tilewright;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class PackBuild : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tilewright-build-XXXXXX").string();
    folder = mkdtemp(name.data());
    job.store = folder / "store";
    job.output = folder / "out" / "tilewright.pack";
    job.table = folder / "out" / "table.txt";
    job.processes = 2;
    job.compiler = "a test's compiler 1";
    job.compile = [](const std::string& unit, const std::string& architecture) {
      if (unit == "broken") throw Error(ErrorCode::kernel, "it does not compile");
      cuda::Cubin cubin;
      const std::string image = architecture + " of " + unit;
      cubin.image.assign(image.begin(), image.end());
      cubin.ptx = "ptx of " + unit;
      cubin.registers = 99;
      cubin.spilled_bytes = unit == "spilling" ? 24 : 0;
      cubin.serialised = unit == "serialised";
      return cubin;
    };
  }
  void TearDown() override { fs::remove_all(folder); }

  static std::vector<pack::Kernel> kernels(const std::vector<std::string>& units) {
    std::vector<pack::Kernel> list;
    for (const std::string& unit : units) {
      list.push_back({"kernel " + unit, "g", unit, "sm_80", true, 1000});
      list.push_back({"kernel " + unit, "h", unit, "sm_90a", false, 1000});
    }
    return list;
  }

  fs::path folder;
  pack::Job job;
};

TEST_F(PackBuild, PutsEveryKernelIntoThePackAndTheTable) {
  const pack::Outcome outcome = pack::build(kernels({"a", "b", "c"}), job);
  EXPECT_EQ(outcome.kernels, 6);
  EXPECT_EQ(outcome.compiled, 6);
  EXPECT_TRUE(outcome.faults.empty());
  std::string reason;
  const auto made = cuda::Pack::open(job.output, reason);
  ASSERT_TRUE(made) << reason;
  for (const char* const unit : {"a", "b", "c"}) {
    const auto text = [&](const char* architecture) {
      const auto found = made->find(unit, architecture);
      return found ? std::string(found->image.begin(), found->image.end()) : "none";
    };
    EXPECT_EQ(text("sm_80"), std::string("sm_80 of ") + unit);
    EXPECT_EQ(text("sm_90a"), std::string("sm_90a of ") + unit);
    EXPECT_EQ(text("compute_80"), std::string("ptx of ") + unit);
    EXPECT_NE(text_of(job.table).find(std::string("kernel ") + unit), std::string::npos);
  }
  EXPECT_NE(text_of(job.table).find("99"), std::string::npos) << "registers";
}

TEST_F(PackBuild, CompilesWhatChangedAndNothingElse) {
  EXPECT_EQ(pack::build(kernels({"a", "b"}), job).compiled, 4);
  const fs::file_time_type written = fs::last_write_time(job.output);
  EXPECT_EQ(pack::build(kernels({"a", "b"}), job).compiled, 0);
  EXPECT_EQ(fs::last_write_time(job.output), written) << "the same pack is not written again";
  EXPECT_EQ(pack::build(kernels({"a", "b changed"}), job).compiled, 2);
  job.compiler = "a test's compiler 2";
  EXPECT_EQ(pack::build(kernels({"a", "b changed"}), job).compiled, 4);
}

TEST_F(PackBuild, ASpillOrASerialisedKernelFailsUnlessItIsListed) {
  const pack::Outcome bad = pack::build(kernels({"a", "spilling", "serialised"}), job);
  ASSERT_EQ(bad.faults.size(), 4u);
  EXPECT_NE(bad.faults[0].find("kernel spilling sm_80 spills 24 bytes"), std::string::npos) << bad.faults[0];
  EXPECT_NE(bad.faults[2].find("kernel serialised sm_80 serialises wgmma"), std::string::npos) << bad.faults[2];
  EXPECT_FALSE(fs::exists(job.output));
  EXPECT_EQ(pack::build(kernels({"spilling"}), job).faults.size(), 2u) << "compiled before, and no better for it";

  job.exceptions = folder / "exceptions.txt";
  std::ofstream(job.exceptions) << "# a comment\n\n"
                                   "kernel spilling sm_80 | 24 bytes | 1 % of 64x64x64\n"
                                   "kernel spilling sm_90a | 24 bytes | none seen\n";
  EXPECT_TRUE(pack::build(kernels({"a", "spilling"}), job).faults.empty());
  EXPECT_NE(text_of(job.table).find("1 % of 64x64x64"), std::string::npos);
  EXPECT_EQ(pack::build(kernels({"a", "serialised"}), job).faults.size(), 2u);

  std::ofstream(job.exceptions) << "kernel spilling sm_80\n";
  expect_error(ErrorCode::file_open, {"kernel | what | measured cost"}, [&] { pack::build(kernels({"a"}), job); });
}

TEST_F(PackBuild, AKernelThatDoesNotCompileFailsTheBuild) {
  expect_error(ErrorCode::kernel, {"do not compile"}, [&] { pack::build(kernels({"a", "broken"}), job); });
  EXPECT_FALSE(fs::exists(job.output));
}

/// NVRTC's own words about spills and about wgmma that waits are what the build reads.
TEST_F(PackBuild, PlantedKernelsAreFoundOut) {
  job.compile = [](const std::string& unit, const std::string& architecture) {
    return cuda::compile(unit, architecture);
  };
  if (cuda::compiler_missing() != nullptr) {
    expect_error(ErrorCode::target, {"NVRTC"}, [] { cuda::compile("", "sm_80"); });
    expect_error(ErrorCode::kernel, {"do not compile"}, [&] { pack::build(kernels({"a"}), job); });
    return;
  }
  job.compiler = "NVRTC " + cuda::compiler_version();
  const std::string spilling =
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) tilewright_kernel(float* x) {\n"
      "  float v[96];\n"
      "  for (int i = 0; i < 96; ++i) v[i] = x[i * 1024 + threadIdx.x];\n"
      "  for (int r = 0; r < 8; ++r)\n"
      "    for (int i = 0; i < 96; ++i) v[i] = v[i] * v[(i + r) % 96] + v[(i + 7 * r) % 96];\n"
      "  for (int i = 0; i < 96; ++i) x[i * 1024 + threadIdx.x] = v[i];\n"
      "}\n";
  const std::string serialised =
      "extern \"C\" __global__ void __launch_bounds__(128) tilewright_kernel(float* x, unsigned long long a) {\n"
      "  float d[4] = {x[0], x[1], x[2], x[3]};\n"
      "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
      "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\"\n"
      "               : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(a));\n"
      "  for (float& value : d) value *= 2;\n"  // before the instruction has ended
      "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
      "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
      "  for (int i = 0; i < 4; ++i) x[i + 4 * threadIdx.x] = d[i];\n"
      "}\n";
  const pack::Outcome outcome = pack::build(
      {{"too many", "g", spilling, "sm_90a", false, 0}, {"in turn", "g", serialised, "sm_90a", false, 0}}, job);
  ASSERT_EQ(outcome.faults.size(), 2u);
  EXPECT_NE(outcome.faults[0].find("too many sm_90a spills"), std::string::npos) << outcome.faults[0];
  EXPECT_NE(outcome.faults[1].find("in turn sm_90a serialises wgmma"), std::string::npos) << outcome.faults[1];
}

TEST(DefaultKernels, AreFewAndEachOnceForEachArchitecture) {
  const std::vector<pack::Kernel> kernels = pack::default_kernels();
  std::set<std::string> names, compiled, units;
  for (const pack::Kernel& kernel : kernels) {
    names.insert(kernel.name);
    compiled.insert(kernel.name + kernel.architecture);
    units.insert(kernel.unit + kernel.architecture);
  }
  EXPECT_GT(names.size(), 100u);
  EXPECT_LE(names.size(), 400u);
  EXPECT_EQ(units.size(), kernels.size());
  EXPECT_EQ(compiled.size(), kernels.size()) << "a name says all that tells kernels apart";
}

/// Default plans never leave the pack, whatever shape, strides, types and device.
TEST(DefaultKernels, HoldEveryDefaultPlan) {
  std::set<std::string> packed;
  for (const pack::Kernel& kernel : pack::default_kernels()) packed.insert(kernel.architecture + kernel.unit);
  const DType types[] = {DType::f16, DType::bf16, DType::f32};
  oracle::Random random(7);
  const auto operand = [&](DType type, i64 rows, i64 cols) {
    const i64 gap = random.whole(0, 9), step = random.whole(0, 4) == 0 ? 2 : 1;
    const auto base =
        reinterpret_cast<const void*>(static_cast<std::uintptr_t>(4096 + random.whole(0, 9) * size_of(type)));
    const bool transposed = random.whole(0, 1) == 1;
    const MatrixView stored{
        base, type, transposed ? cols : rows, transposed ? rows : cols, (transposed ? rows : cols) * step + gap, step};
    const MatrixView whole = transposed ? stored.transposed() : stored;
    // One in four runs backwards along an axis.
    return random.whole(0, 3) > 0 ? whole : random.whole(0, 1) == 1 ? whole.flipped_rows() : whole.flipped_cols();
  };
  for (int i = 0; i < 20000; ++i) {
    const auto extent = [&] {  // often 1
      return random.whole(0, 7) == 0 ? 1 : i64{1} << random.whole(0, 13) | random.whole(0, 3);
    };
    const i64 m = extent(), n = extent(), k = extent();
    const DType input = types[random.whole(0, 2)], output = types[random.whole(0, 2)];
    const MatrixView a = operand(input, m, k), b = operand(input, k, n), by_rows{nullptr, output, m, n, n, 1},
                     c = random.whole(0, 1) == 1 ? MatrixView{nullptr, output, m, n, 1, m} : by_rows;
    const struct {
      const char* architecture;
      plan::GpuDescription gpu;
    } devices[] = {{"sm_90a", {132, 227 << 10, true}}, {"sm_80", {108, 163 << 10}}, {"sm_80", {46, 99 << 10}}};
    for (const auto& [architecture, gpu] : devices) {
      const Problem problem = problem_of(a, b, c);
      const Plan chosen = plan::choose_gpu_plan(problem, {}, gpu).plan;
      const gemm_detail::CudaKernel kernel = gemm_detail::cuda_kernel(chosen, a, b, output);
      const cuda::Config config = cuda::config_of(kernel.how, kernel.needs, architecture);
      const std::string unit = cuda::unit_of(kernel.text, config, kernel.kernel_bytes, kernel.args_bytes);
      const bool phases = plan::b_in_phases(problem, chosen);
      const bool classes = plan::a_in_classes(problem, chosen) || plan::b_in_classes(problem, chosen);
      ASSERT_EQ(config.in_phases(), phases) << to_string(chosen) << " for a " << to_string(a) << ", b " << to_string(b);
      ASSERT_EQ(config.in_parts(), phases || classes) << to_string(chosen) << " for a " << to_string(a);
      ASSERT_TRUE(packed.contains(architecture + unit))
          << to_string(chosen) << " for a " << to_string(a) << ", b " << to_string(b) << ", " << architecture;
    }
  }
}

/// Planner and kernel see the same ways in every layout, also of a single row, column or element.
TEST(DefaultKernels, TakeTheWaysThatPlansSay) {
  constexpr plan::GpuDescription gpu{132, 227 << 10, true};
  int taken = 0;
  const auto expect_same = [&](const char* text, const MatrixView& a, const MatrixView& b, const MatrixView& c) {
    const Problem problem = problem_of(a, b, c);
    Plan plan;
    try {
      plan = plan::choose_gpu_plan(problem, parse_plan(text), gpu).plan;
    } catch (const Error&) {  // does not suit these layouts
      return;
    }
    ++taken;
    const gemm_detail::CudaKernel kernel = gemm_detail::cuda_kernel(plan, a, b, c.type);
    const cuda::Config config = cuda::config_of(kernel.how, kernel.needs, "sm_90a");
    const bool phases = plan::b_in_phases(problem, plan);
    const bool classes = plan::a_in_classes(problem, plan) || plan::b_in_classes(problem, plan);
    ASSERT_EQ(config.in_phases(), phases) << text << " for a " << to_string(a) << ", b " << to_string(b);
    ASSERT_EQ(config.in_parts(), phases || classes) << text << " for a " << to_string(a) << ", b " << to_string(b);
  };
  for (const i64 m : {1, 2, 9}) {
    for (const i64 n : {1, 2, 9}) {
      for (const i64 k : {1, 2, 9}) {
        for (int which = 0; which < 64; ++which) {
          const auto operand = [&](i64 rows, i64 cols, int bits) {  // transposed or not; odd, aligned; off by one
            const i64 gap = bits / 2 % 2 == 0 ? 16 : 17;
            const auto base = reinterpret_cast<const void*>(std::uintptr_t{4096} + (bits / 4 % 2 == 0 ? 0u : 2u));
            return bits % 2 == 0 ? MatrixView{base, DType::f16, rows, cols, gap, 1}
                                 : MatrixView{base, DType::f16, rows, cols, 1, gap};
          };
          const MatrixView a = operand(m, k, which % 8), b = operand(k, n, which / 8);
          for (const char* const text :
               {"128x128x64 a=tma b=tma", "128x128x64 a=tma b=realign", "128x128x64 a=realign b=tma", "128x128x64"}) {
            expect_same(text, a, b, {nullptr, DType::f16, m, n, n, 1});
            expect_same(text, a, b, {nullptr, DType::f16, m, n, 1, m});
          }
        }
      }
    }
  }
  EXPECT_GT(taken, 3000);
}

}  // namespace
