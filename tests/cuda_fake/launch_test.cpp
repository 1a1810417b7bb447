// Launches through a driver that computes nothing: what a call costs besides it, and where kernels come from. Each test
// is a process of its own, so each has an empty cache, a pack of its making and nothing loaded.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

#include <examples/kernels/masked.hpp>
#include <tilewright/gemm.hpp>
#include "cuda/cache.hpp"
#include "cuda/loaded.hpp"
#include "cuda/memory.hpp"
#include "cuda/pack.hpp"
#include "cuda/row_copy.hpp"
#include "gemm/cuda_kernel.hpp"
#include "plan/gpu_clusters.hpp"
#include "plan/gpu_operands.hpp"
#include "plan/gpu_rest.hpp"

namespace {
std::atomic<long> allocations = 0;
}  // namespace

// Every allocation of this binary is counted.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes > 0 ? bytes : 1);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

namespace fs = std::filesystem;
using namespace tilewright;

template <class F>
F of_driver(const char* name) {
  return reinterpret_cast<F>(cuda::driver_symbol(name));
}
long launches() { return of_driver<long (*)()>("fake_launches")(); }
int last_device() { return of_driver<int (*)()>("fake_last_device")(); }
int last_blocks() { return of_driver<int (*)()>("fake_last_blocks")(); }
int last_cluster() { return of_driver<int (*)()>("fake_last_cluster")(); }
bool last_early() { return of_driver<int (*)()>("fake_last_early")() != 0; }
long loads() { return of_driver<long (*)()>("fake_loads")(); }
std::string last_image() {
  std::size_t bytes = 0;
  const char* const image = of_driver<const char* (*)(std::size_t*)>("fake_last_image")(&bytes);
  return {image, bytes};
}

/// A square product on the fake devices, all of it on the first one if nothing else is said.
struct Product {
  i64 extent;
  int a_device = 0, b_device = a_device, c_device = a_device;
  cuda::Buffer a{a_device, extent*extent * 2}, b{b_device, extent*extent * 2}, c{c_device, extent*extent * 2};

  MatrixView view(const cuda::Buffer& buffer) const { return {buffer.data(), DType::f16, extent, extent, extent, 1}; }
  MutableMatrixView output() const { return {c.data(), DType::f16, extent, extent, extent, 1}; }
  void multiply(const GemmOptions& options = {}) const { gemm_into(view(a), view(b), output(), options); }
};

class FakeDriver : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tilewright-fake-XXXXXX").string();
    folder = mkdtemp(name.data());
    cuda::set_cache_folder(folder / "cache");
    setenv("FAKE_DEVICES", "2", 1);  // before the library counts them
    ASSERT_EQ(cuda::unavailable(), "") << "CTest puts the fake driver on the library path: start these tests by it";
  }
  void TearDown() override { fs::remove_all(folder); }

  /// The unit of the kernel that a product's plan takes.
  static std::string unit_of(const Product& p, const GemmOptions& options = {}) {
    return unit_of(plan_for(p.view(p.a), p.view(p.b), p.output(), options).plan, p.view(p.a), p.view(p.b));
  }
  static std::string unit_of(const Plan& plan, const MatrixView& a, const MatrixView& b) {
    const auto kernel = gemm_detail::cuda_kernel(plan, a, b, DType::f16);
    return cuda::unit_of(kernel.text, cuda::config_of(kernel.how, kernel.needs, "sm_90a"), kernel.kernel_bytes,
                         kernel.args_bytes);
  }
  static cuda::Cubin image(const std::string& text) {
    cuda::Cubin cubin;
    cubin.image.assign(text.c_str(), text.c_str() + text.size() + 1);
    return cubin;
  }
  fs::path write_pack(std::vector<cuda::PackEntry> entries) const {
    const fs::path file = folder / "a.pack";
    std::ofstream(file, std::ios::binary) << cuda::pack_bytes(std::move(entries));
    return file;
  }
  void keep_in_cache(const std::string& unit, const std::string& text) const {
    cuda::keep_cubin(folder / "cache", cuda::identity_of(unit, "sm_90a", "NVRTC " + cuda::compiler_version()),
                     image(text));
  }

  fs::path folder;
};

TEST_F(FakeDriver, ThePackComesBeforeTheCache) {
  const Product p{64};
  cuda::use_kernel_pack(write_pack({{"g", unit_of(p), "sm_90a", image("packed")}}).string());
  if (cuda::compiler_missing() == nullptr) keep_in_cache(unit_of(p), "cached");
  p.multiply();
  EXPECT_EQ(last_image(), "packed");
}

TEST_F(FakeDriver, PairsOfBlocksAreAMatterOfTheLaunchAlone) {
  const Product p{256};
  const auto asking = [](const char* plan) {
    GemmOptions options;
    options.plan = parse_plan(plan);
    return options;
  };
  const GemmOptions alone = asking("128x128x64 c1"), paired = asking("128x128x64 c2");
  cuda::use_kernel_pack(write_pack({{"g", unit_of(p, alone), "sm_90a", image("packed")}}).string());
  p.multiply(paired);
  EXPECT_EQ(last_image(), "packed");
  EXPECT_EQ(last_cluster(), 2);
  p.multiply(alone);
  EXPECT_EQ(last_image(), "packed");
  EXPECT_EQ(last_cluster(), 1);
}

TEST_F(FakeDriver, TheBlocksOfAClusterShareAProgram) {
  const Product p{256};
  GemmOptions whole, shared;
  whole.plan = parse_plan("64x64x64 c1 split=none");
  shared.plan = parse_plan("64x64x64 split=cluster(4)");
  cuda::use_kernel_pack(write_pack({{"g", unit_of(p, whole), "sm_90a", image("packed")}}).string());
  p.multiply(shared);
  EXPECT_EQ(last_image(), "packed") << "one kernel: the launch decides";
  EXPECT_EQ(last_cluster(), 4);
  EXPECT_EQ(last_blocks(), 16 * 4) << "a program of 16 has four blocks of its own";
  p.multiply(whole);
  EXPECT_EQ(last_cluster(), 1);
  EXPECT_EQ(last_blocks(), 16);
  whole.plan.split = Split{SplitKind::none, 3};
  p.multiply(whole);
  EXPECT_EQ(last_blocks(), 16) << "of no split there are no parts";
}

TEST_F(FakeDriver, LargeClustersAreAskedFor) {
  const Product p{1024};
  GemmOptions options;
  options.plan = parse_plan("64x64x64 split=cluster(16)");
  cuda::use_kernel_pack(write_pack({{"g", unit_of(p, options), "sm_90a", image("packed")}}).string());
  p.multiply(options);
  EXPECT_EQ(last_cluster(), 16);
}

TEST_F(FakeDriver, ARestIsAProductOfItsOwn) {
  const Product p{256};
  GemmOptions options, alone;
  options.plan = parse_plan("128x128x64 rest=rows(100)");
  alone.plan = plan::request_of_rest();
  const MatrixView a = p.view(p.a).slice({156, 256, 1}, {});
  const MutableMatrixView c = p.output().slice({156, 256, 1}, {});
  const Plan plan = plan_for(a, p.view(p.b), c, alone).plan;
  const Problem rest = problem_of(a, p.view(p.b), c);
  cuda::use_kernel_pack(write_pack({{"g", unit_of(p, options), "sm_90a", image("before")},
                                    {"g", unit_of(plan, a, p.view(p.b)), "sm_90a", image("rest")}})
                            .string());
  for (int call = 0; call < 2; ++call) {
    const long before = launches();
    p.multiply(options);
    EXPECT_EQ(launches() - before, 2);
    EXPECT_EQ(last_image(), "rest");
    EXPECT_EQ(last_blocks(), plan::tile_rows(rest, plan) * plan::tile_cols(rest, plan) * plan::blocks_of_program(plan));
  }
}

TEST_F(FakeDriver, NothingIsEnqueuedBeforeTheRestIsReady) {
  const Product p{256};
  GemmOptions options;
  options.plan = parse_plan("128x128x64 rest=rows(101)");
  cuda::use_kernel_pack(write_pack({{"g", unit_of(p, options), "sm_90a", image("before")}}).string());
  setenv("FAKE_LOADS", "1", 1);
  EXPECT_THROW(p.multiply(options), Error);
  EXPECT_EQ(launches(), 0);
  unsetenv("FAKE_LOADS");
}

// A kernel in roles waits for the one before it; others, and older drivers, do not know how.
TEST_F(FakeDriver, KernelsInRolesMayBeginBesideTheOneBefore) {
  const Product p{256};
  const auto begins_early = [&](const char* plan) {
    GemmOptions options;
    options.plan = parse_plan(plan);
    cuda::use_kernel_pack(write_pack({{"g", unit_of(p, options), "sm_90a", image("packed")}}).string());
    p.multiply(options);
    return last_early();
  };
  EXPECT_TRUE(begins_early("128x128x64"));
  EXPECT_FALSE(begins_early("128x128x32"));
}
TEST_F(FakeDriver, OlderDriversBeginOneKernelAfterTheOther) {
  ::setenv("FAKE_DRIVER_VERSION", "12020", 1);
  const Product p{256};
  GemmOptions options;
  options.plan = parse_plan("128x128x64");
  cuda::use_kernel_pack(write_pack({{"g", unit_of(p, options), "sm_90a", image("packed")}}).string());
  p.multiply(options);
  EXPECT_EQ(last_image(), "packed");
  EXPECT_FALSE(last_early());
}

TEST_F(FakeDriver, APackedOperandIsCopiedFirst) {
  const Product p{255};
  GemmOptions options;
  options.plan = parse_plan("64x128x64 pack(b)");
  EXPECT_THROW(p.multiply(options), Error) << "no budget";
  options.workspace_bytes = 1 << 20;
  const PlanChoice choice = plan_for(p.view(p.a), p.view(p.b), p.output(), options);
  EXPECT_EQ(choice.workspace_bytes, 255 * 256 * 2);
  const auto operands = gemm_detail::packed_operands(problem_of(p.view(p.a), p.view(p.b), p.output()),
                                                     choice.plan.packing, {p.view(p.a), p.view(p.b)}, nullptr);
  EXPECT_EQ(operands.b, (MatrixView{nullptr, DType::f16, 255, 255, 256, 1}));
  const std::string unit = unit_of(choice.plan, operands.a, operands.b);
  cuda::use_kernel_pack(
      write_pack({{"c", cuda::row_copy_unit(2), "sm_90a", image("copy")}, {"g", unit, "sm_90a", image("packed")}})
          .string());
  const long before = launches();
  p.multiply(options);
  EXPECT_EQ(launches() - before, 2);
  EXPECT_EQ(last_image(), "packed");
  setenv("FAKE_POOLS", "0", 1);
  EXPECT_THROW(p.multiply(options), Error);
  unsetenv("FAKE_POOLS");
}

TEST_F(FakeDriver, ABudgetThatTheDeviceDoesNotHaveIsNone) {
  const Product p{8191};
  GemmOptions options;
  options.workspace_bytes = 1 << 28;
  const Problem problem = problem_of(p.view(p.a), p.view(p.b), p.output());
  const auto unit_of_plan = [&](const GemmOptions& of) {
    const Plan plan = plan_for(p.view(p.a), p.view(p.b), p.output(), of).plan;
    const auto operands = gemm_detail::packed_operands(problem, plan.packing, {p.view(p.a), p.view(p.b)}, nullptr);
    return unit_of(plan, operands.a, operands.b);
  };
  GemmOptions without = options;
  without.workspace_bytes = 0;
  cuda::use_kernel_pack(write_pack({{"c", cuda::row_copy_unit(2), "sm_90a", image("copy")},
                                    {"g", unit_of_plan(options), "sm_90a", image("packed")},
                                    {"g", unit_of_plan(without), "sm_90a", image("as it lies")}})
                            .string());
  ASSERT_TRUE(plan_for(p.view(p.a), p.view(p.b), p.output(), options).plan.packing.any());
  setenv("FAKE_POOLS", "0", 1);
  p.multiply(options);
  EXPECT_EQ(last_image(), "as it lies");
  unsetenv("FAKE_POOLS");
  p.multiply(options);
  EXPECT_EQ(last_image(), "packed");
}

TEST_F(FakeDriver, TheCacheComesBeforeTheCompiler) {
  const Product p{64};
  cuda::use_kernel_pack("");
  if (cuda::compiler_missing() != nullptr) {
    EXPECT_THROW(p.multiply(), Error);  // without a compiler's version, no entry of the cache is known to be right
    return;
  }
  keep_in_cache(unit_of(p), "cached");
  p.multiply();
  EXPECT_EQ(last_image(), "cached");
}

TEST_F(FakeDriver, WhatTheDriverDoesNotTakeIsAskedForElsewhere) {
  const Product p{64};
  cuda::use_kernel_pack(write_pack({{"g", unit_of(p), "sm_90a", image("refused: another generation's")},
                                    {"g", unit_of(p), "compute_80", image("assembly")}})
                            .string());
  p.multiply();
  EXPECT_EQ(last_image(), "assembly");
}

TEST_F(FakeDriver, ADamagedPackIsAMiss) {
  const Product p{64};
  const fs::path file = write_pack({{"g", unit_of(p), "sm_90a", image("packed")}});
  fs::resize_file(file, fs::file_size(file) - 1);
  cuda::use_kernel_pack(file.string());
  if (cuda::compiler_missing() != nullptr) return;
  keep_in_cache(unit_of(p), "cached");
  p.multiply();
  EXPECT_EQ(last_image(), "cached");
}

TEST_F(FakeDriver, ACallThatWasMadeBeforeAllocatesNothing) {
  const Product small{64}, large{512};
  cuda::use_kernel_pack(
      write_pack({{"g", unit_of(small), "sm_90a", image("small")}, {"g", unit_of(large), "sm_90a", image("large")}})
          .string());
  for (const Product* const p : {&small, &large}) p->multiply();
  const long loaded = loads(), launched = launches(), before = allocations;
  for (int i = 0; i < 100; ++i) {
    small.multiply();
    large.multiply();
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(loads(), loaded);
  EXPECT_EQ(launches(), launched + 200);
}

TEST_F(FakeDriver, AnotherProblemOrPlanIsAnotherKernel) {
  const Product p{64}, q{65};
  GemmOptions asked;
  asked.plan = parse_plan("64x64x64");
  GemmOptions stages = asked;
  stages.plan.stages = 2;
  cuda::use_kernel_pack(write_pack({{"g", unit_of(q), "sm_90a", image("odd")},
                                    {"g", unit_of(p, asked), "sm_90a", image("asked")},
                                    {"g", unit_of(p, stages), "sm_90a", image("two stages")}})
                            .string());
  for (int round = 0; round < 3; ++round) {
    p.multiply(asked);
    EXPECT_EQ(last_image(), "asked");
    p.multiply(stages);
    EXPECT_EQ(last_image(), "two stages");
    q.multiply();
    EXPECT_EQ(last_image(), "odd");
  }
}

/// What a multiplication is refused with.
std::string refusal(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c) {
  try {
    gemm_into(a, b, c);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device);
    return error.what();
  }
  return "";
}

TEST_F(FakeDriver, OperandsOnTwoDevicesAreRefusedByName) {
  ASSERT_EQ(cuda::device_count(), 2);
  const long launched = launches();
  const auto said = [](const Product& p) { return refusal(p.view(p.a), p.view(p.b), p.output()); };
  EXPECT_EQ(said({64, 0, 1, 0}),
            "a lies on device 0 and b on device 1: operands of one multiplication must be in one place");
  EXPECT_EQ(said({64, 1, 1, 0}),
            "a lies on device 1 and c on device 0: operands of one multiplication must be in one place");
  EXPECT_EQ(said({64, 1, 0, 0}),
            "a lies on device 1 and b on device 0: operands of one multiplication must be in one place");
  EXPECT_EQ(launches(), launched);
}

TEST_F(FakeDriver, AnOperandOfTheHostAmongThoseOfADeviceIsRefusedByName) {
  const Product p{64, 1};
  const Matrix host(64, 64, DType::f16);
  Matrix host_output(64, 64, DType::f16);
  const MatrixView h = host;
  EXPECT_EQ(refusal(p.view(p.a), h, p.output()),
            "a lies on device 1 and b on the host: operands of one multiplication must be in one place");
  EXPECT_EQ(refusal(h, p.view(p.b), p.output()),
            "a lies on the host and b on device 1: operands of one multiplication must be in one place");
  EXPECT_EQ(refusal(p.view(p.a), p.view(p.b), host_output),
            "a lies on device 1 and c on the host: operands of one multiplication must be in one place");
}

TEST_F(FakeDriver, AProductRunsOnTheDeviceOfItsOperandsAndLeavesTheCallersCurrent) {
  const Product first{64, 0}, second{64, 1};
  cuda::use_kernel_pack(write_pack({{"g", unit_of(first), "sm_90a", image("packed")}}).string());
  const auto current = [] {
    void* context = nullptr;
    of_driver<int (*)(void**)>("cuCtxGetCurrent")(&context);
    return context;
  };
  EXPECT_EQ(current(), nullptr);
  for (const Product* const p : {&first, &second, &first}) {
    p->multiply();
    EXPECT_EQ(last_device(), p->a_device);
    EXPECT_EQ(current(), nullptr);
  }
  EXPECT_EQ(loads(), 2);  // a module belongs to a context
}

TEST_F(FakeDriver, AKernelOfOnesOwnIsFoundAgainWithoutText) {
  using Kernel = kernels::Masked<64, 32, 32>;
  using Args = kernels::MatmulArgs<f16, f16>;
  const cuda::KernelText text{{"examples/kernels/masked.hpp"},
                              "kernels::Masked<64, 32, 32>",
                              "kernels::MatmulArgs<tilewright::f16, tilewright::f16>"};
  cuda::Launch how{{4}}, other{{4}};
  other.stages = 2;
  const auto entry = [&](const cuda::Launch& launch, const char* name) {
    const cuda::Config config = cuda::config_of(launch, cuda::detail::needs_of<Kernel, Args>(launch.warps), "sm_90a");
    return cuda::PackEntry{"g", cuda::unit_of(text, config, sizeof(Kernel), sizeof(Args)), "sm_90a", image(name)};
  };
  cuda::use_kernel_pack(write_pack({entry(how, "three stages"), entry(other, "two stages")}).string());
  const auto both = [&] {
    cuda::launch(Kernel{}, text, how, Args{});
    EXPECT_EQ(last_image(), "three stages");
    cuda::launch(Kernel{}, text, other, Args{});
    EXPECT_EQ(last_image(), "two stages");
  };
  both();
  const long loaded = loads();
  both();
  EXPECT_EQ(loads(), loaded);
}

}  // namespace
