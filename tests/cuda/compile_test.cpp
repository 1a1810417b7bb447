// Every kernel compiles for a GPU, from the sources in the binary, without spilling registers. Needs NVRTC and no GPU;
// where NVRTC is missing, compiling must say so.
#include <gtest/gtest.h>

#include <examples/kernels/advancing.hpp>
#include <examples/kernels/atomic_split.hpp>
#include <examples/kernels/batched.hpp>
#include <examples/kernels/bias_activation.hpp>
#include <examples/kernels/gathered.hpp>
#include <examples/kernels/masked.hpp>
#include <examples/kernels/modulo.hpp>
#include <examples/kernels/softmax.hpp>
#include <examples/kernels/transposed_store.hpp>
#include <programs/split_k.hpp>
#include <tilewright/cuda.hpp>
#include "cuda/cache.hpp"
#include "tests/core/errors.hpp"

namespace {

using namespace tilewright;
using cuda::Via;

constexpr cuda::Move along_rows{Via::async_copy, 0, 16}, along_cols{Via::async_copy, 1, 16},
    narrow{Via::async_copy, 1, 4}, boxes{Via::tma, 1, 0}, boxes_of_rows{Via::tma, 0, 0}, realigned{Via::realign, 1, 0},
    realigned_rows{Via::realign, 0, 0}, gathered{Via::gather, 1, 0}, classes{Via::classes, 1, 0},
    classes_of_rows{Via::classes, 0, 0}, second{Via::realign, 1, 0, 2}, second_rows{Via::realign, 0, 0, 2};

bool by_boxes(const cuda::Move& move) { return move.via == Via::tma || move.via == Via::classes; }

/// Compiles a kernel under some launches for two architectures: one has mma.sync, the other wgmma as well.
template <class Kernel, class Args>
void compiles(const std::string& header, const std::string& kernel_name, const std::string& args_name,
              const std::vector<cuda::Launch>& launches) {
  const cuda::KernelText text{{header}, kernel_name, args_name};
  cuda::set_cache_folder({});  // compile, and leave the user's cache alone
  for (const cuda::Launch& how : launches) {
    for (const char* const architecture : {"sm_80", "sm_90a"}) {
      if ((by_boxes(how.moves[0]) || by_boxes(how.moves[1])) && architecture == std::string_view("sm_80")) continue;
      SCOPED_TRACE(kernel_name + " for " + architecture + ", w" + std::to_string(how.warps) + " s" +
                   std::to_string(how.stages));
      if (cuda::compiler_missing() != nullptr) {
        try {
          cuda::compile<Kernel, Args>(text, how, architecture);
          FAIL() << "compiled without a compiler";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::target) << error.what();
        }
        continue;
      }
      const cuda::KernelFacts facts = cuda::compile<Kernel, Args>(text, how, architecture);
      EXPECT_EQ(facts.spilled_bytes, 0);
      EXPECT_FALSE(facts.serialised);
      EXPECT_GT(facts.registers, 0);
      EXPECT_LE(facts.registers, 255);
      EXPECT_GT(facts.shared_bytes, 0);
    }
  }
}

cuda::Launch with(int warps, int stages, cuda::Move a, cuda::Move b) {
  cuda::Launch how{{1}};
  how.warps = warps;
  how.stages = stages;
  how.moves[0] = a;
  how.moves[1] = b;
  return how;
}

cuda::Launch in_teams(int teams, cuda::Launch how) {
  how.teams = teams;
  return how;
}

constexpr const char* f16_args = "tilewright::f16, tilewright::f16>";

/// Boxed: whether the blocks of its pipeline are boxes.
template <template <int, int, int> class K, class Args = kernels::MatmulArgs<f16, f16>, bool Boxed = true>
void example(const std::string& file, const std::string& name, const std::string& args = "MatmulArgs") {
  std::vector<cuda::Launch> launches = {with(4, 3, along_cols, along_cols), with(4, 2, gathered, realigned)};
  if (Boxed) launches.insert(launches.end(), {in_teams(2, with(4, 4, boxes, boxes)), with(8, 3, boxes, boxes)});
  compiles<K<64, 32, 32>, Args>("examples/kernels/" + file + ".hpp", "kernels::" + name + "<64, 32, 32>",
                                "kernels::" + args + "<" + f16_args, launches);
}

TEST(CudaCompile, masked) { example<kernels::Masked>("masked", "Masked"); }
TEST(CudaCompile, advancing) { example<kernels::Advancing>("advancing", "Advancing"); }
TEST(CudaCompile, modulo) { example<kernels::ModuloRows>("modulo", "ModuloRows"); }
TEST(CudaCompile, transposed_store) { example<kernels::TransposedStore>("transposed_store", "TransposedStore"); }
TEST(CudaCompile, bias_activation) {
  example<kernels::BiasActivation, kernels::BiasArgs<f16, f16>>("bias_activation", "BiasActivation", "BiasArgs");
}
TEST(CudaCompile, gathered) {
  example<kernels::GatheredRows, kernels::GatheredArgs<f16, f16>, false>("gathered", "GatheredRows", "GatheredArgs");
}
TEST(CudaCompile, batched) {
  example<kernels::Batched, kernels::BatchedArgs<f16, f16>>("batched", "Batched", "BatchedArgs");
}
TEST(CudaCompile, atomic_split) {
  compiles<kernels::AtomicSplit<64, 32, 32>, kernels::MatmulArgs<f16, float>>(
      "examples/kernels/atomic_split.hpp", "kernels::AtomicSplit<64, 32, 32>",
      "kernels::MatmulArgs<tilewright::f16, float>", {with(4, 3, along_cols, along_cols)});
}
TEST(CudaCompile, softmax) {
  compiles<kernels::RowSoftmax<16, 320>, kernels::SoftmaxArgs<f16, f16>>(
      "examples/kernels/softmax.hpp", "kernels::RowSoftmax<16, 320>",
      "kernels::SoftmaxArgs<tilewright::f16, tilewright::f16>", {with(4, 1, gathered, gathered)});
}

TEST(CudaCompile, operator_programs) {
  constexpr programs::Tiles reference{64, 32, 32}, large{128, 128, 64};
  compiles<programs::Gemm<reference>, programs::GemmArgs<f16, f16>>(
      "programs/gemm.hpp", "tilewright::programs::Gemm<tilewright::programs::Tiles{64, 32, 32}>",
      "tilewright::programs::GemmArgs<tilewright::f16, tilewright::f16>",
      {with(4, 3, along_cols, along_cols), with(4, 3, along_rows, along_rows), with(4, 3, narrow, realigned_rows),
       with(4, 3, realigned, realigned), with(4, 1, gathered, gathered), with(1, 3, realigned, realigned),
       with(2, 2, realigned, along_rows)});
  compiles<programs::Gemm<large>, programs::GemmArgs<f16, f16>>(
      "programs/gemm.hpp", "tilewright::programs::Gemm<tilewright::programs::Tiles{128, 128, 64}>",
      "tilewright::programs::GemmArgs<tilewright::f16, tilewright::f16>",
      {with(8, 3, along_cols, along_cols), with(8, 3, along_cols, along_rows), with(8, 3, realigned, realigned),
       in_teams(2, with(4, 6, boxes, boxes)), in_teams(2, with(4, 6, boxes_of_rows, boxes_of_rows)),
       with(8, 6, boxes, boxes_of_rows)});
  compiles<programs::Gemm<reference>, programs::GemmArgs<float, float>>(
      "programs/gemm.hpp", "tilewright::programs::Gemm<tilewright::programs::Tiles{64, 32, 32}>",
      "tilewright::programs::GemmArgs<float, float>", {with(4, 2, along_cols, along_cols)});
  compiles<programs::SplitKSum<reference>, programs::SplitKArgs<f16, f16>>(
      "programs/split_k.hpp", "tilewright::programs::SplitKSum<tilewright::programs::Tiles{64, 32, 32}>",
      "tilewright::programs::SplitKArgs<tilewright::f16, tilewright::f16>", {with(4, 3, along_cols, along_cols)});
  compiles<programs::SplitKReduce<reference>, programs::SplitKArgs<f16, f16>>(
      "programs/split_k.hpp", "tilewright::programs::SplitKReduce<tilewright::programs::Tiles{64, 32, 32}>",
      "tilewright::programs::SplitKArgs<tilewright::f16, tilewright::f16>", {with(4, 1, gathered, gathered)});
}

template <programs::Tiles T>
void compiles_gemm(const std::string& type, const std::vector<cuda::Launch>& launches) {
  const std::string args = "tilewright::programs::GemmArgs<" + type + ", " + type + ">";
  const std::string name = "tilewright::programs::Gemm<tilewright::programs::Tiles{" + std::to_string(T.m) + ", " +
                           std::to_string(T.n) + ", " + std::to_string(T.k) + "}>";
  using Kernel = programs::Gemm<T>;
  if (type == "tilewright::f16") {
    compiles<Kernel, programs::GemmArgs<f16, f16>>("programs/gemm.hpp", name, args, launches);
  } else {
    compiles<Kernel, programs::GemmArgs<bf16, bf16>>("programs/gemm.hpp", name, args, launches);
  }
}

// Rows that start anywhere: a left operand that stays raw beside boxes, and either operand's rows by classes.
TEST(CudaCompile, RowsThatStartAnywhereBesideBoxes) {
  constexpr programs::Tiles small{64, 64, 64}, two_teams{64, 128, 64}, square{128, 128, 64}, wide{128, 256, 64},
      tall{256, 128, 64}, in_classes{128, 192, 64};
  compiles_gemm<small>("tilewright::f16", {in_teams(2, with(4, 10, realigned, boxes)),
                                           in_teams(2, with(4, 10, realigned_rows, boxes_of_rows))});
  compiles_gemm<two_teams>("tilewright::bf16", {in_teams(2, with(4, 7, realigned, classes_of_rows)),
                                                in_teams(2, with(4, 5, classes, boxes))});
  compiles_gemm<square>("tilewright::f16", {with(8, 5, realigned, boxes_of_rows), with(8, 5, realigned_rows, boxes),
                                            with(8, 5, realigned_rows, classes_of_rows)});
  compiles_gemm<wide>("tilewright::f16",
                      {with(8, 4, realigned, classes_of_rows), with(8, 4, realigned_rows, classes_of_rows),
                       with(8, 3, second, boxes_of_rows), with(8, 3, second_rows, boxes)});
  compiles_gemm<in_classes>("tilewright::f16", {with(8, 4, classes, boxes)});
  // No default plan: 128 sums a thread and the fragments of two steps of 256 rows are more than its registers hold.
  if (cuda::compiler_missing() != nullptr) return;
  const cuda::KernelText text{{"programs/gemm.hpp"},
                              "tilewright::programs::Gemm<tilewright::programs::Tiles{256, 128, 64}>",
                              "tilewright::programs::GemmArgs<tilewright::f16, tilewright::f16>"};
  for (const cuda::Launch& how : {with(8, 4, realigned, boxes), with(8, 4, realigned_rows, classes_of_rows)}) {
    EXPECT_FALSE((cuda::compile<programs::Gemm<tall>, programs::GemmArgs<f16, f16>>(text, how, "sm_90a").serialised));
  }
}

TEST(CudaCompile, AStepOfTwoIsForRowsThatStayRaw) {
  const cuda::KernelText text{{"programs/gemm.hpp"},
                              "tilewright::programs::Gemm<tilewright::programs::Tiles{128, 256, 64}>",
                              "tilewright::programs::GemmArgs<tilewright::f16, tilewright::f16>"};
  using Kernel = programs::Gemm<programs::Tiles{128, 256, 64}>;
  constexpr cuda::Move third{Via::realign, 1, 0, 3}, second_boxes{Via::tma, 1, 0, 2};
  for (const cuda::Launch& how :
       {with(8, 3, second, realigned), with(8, 3, third, boxes), with(8, 3, realigned, second_boxes)}) {
    expect_error(ErrorCode::plan_value, {"a step of", "give 1, or 2 to realign beside blocks by tma"},
                 [&] { cuda::compile<Kernel, programs::GemmArgs<f16, f16>>(text, how, "sm_90a"); });
  }
}

// No kernel of its own: the operator's program under every kind of plan, with something done before it stores.
TEST(CudaCompile, AnEpilogueUnderEveryKindOfPlan) {
  using Fused = programs::Then<programs::AddPerColumn, programs::Relu>;
  const std::string name =
      "tilewright::programs::Gemm<tilewright::programs::Tiles{128, 128, 64}, "
      "tilewright::programs::Then<tilewright::programs::AddPerColumn, tilewright::programs::Relu>>";
  compiles<programs::Gemm<programs::Tiles{128, 128, 64}, Fused>, programs::GemmArgs<f16, f16>>(
      "programs/gemm.hpp", name, "tilewright::programs::GemmArgs<tilewright::f16, tilewright::f16>",
      {with(4, 3, along_cols, along_rows), in_teams(2, with(4, 6, boxes, boxes)), with(8, 5, classes, boxes),
       with(8, 5, realigned, boxes), with(8, 5, realigned_rows, classes_of_rows)});
}

// What the device does not choose by itself is there to be asked for, and refused where it does not exist.
TEST(CudaCompile, instructions) {
  constexpr programs::Tiles reference{64, 32, 32}, uneven{64, 96, 48};
  constexpr const char* args = "tilewright::programs::GemmArgs<tilewright::bf16, tilewright::bf16>";
  const cuda::KernelText text{
      {"programs/gemm.hpp"}, "tilewright::programs::Gemm<tilewright::programs::Tiles{64, 32, 32}>", args};
  compiles<programs::Gemm<uneven>, programs::GemmArgs<bf16, bf16>>(
      "programs/gemm.hpp", "tilewright::programs::Gemm<tilewright::programs::Tiles{64, 96, 48}>", args,
      {with(4, 3, along_cols, along_rows), with(4, 3, realigned_rows, realigned)});
  cuda::Launch how = with(4, 3, along_cols, along_cols);
  if (cuda::compiler_missing() == nullptr) {
    how.tensor = cuda::Tensor::mma_sync;
    EXPECT_EQ(
        (cuda::compile<programs::Gemm<reference>, programs::GemmArgs<bf16, bf16>>(text, how, "sm_90a").spilled_bytes),
        0);
  }
  how.tensor = cuda::Tensor::wgmma;
  try {
    cuda::compile<programs::Gemm<reference>, programs::GemmArgs<bf16, bf16>>(text, how, "sm_80");
    FAIL() << "wgmma for sm_80";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::plan_unavailable);
    EXPECT_NE(std::string(error.what()).find("wgmma on sm_80"), std::string::npos) << error.what();
  }
  const auto refused = [&](const cuda::Launch& launch, const char* architecture,
                           ErrorCode code = ErrorCode::plan_unavailable) {
    try {
      cuda::compile<programs::Gemm<reference>, programs::GemmArgs<bf16, bf16>>(text, launch, architecture);
      ADD_FAILURE() << "taken for " << architecture;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
    }
  };
  refused(with(4, 3, boxes, boxes), "sm_80");
  refused(with(4, 3, realigned, boxes), "sm_80");
  refused(with(4, 3, classes, boxes), "sm_80");
  refused(with(2, 3, realigned, classes_of_rows), "sm_90a");
  refused(with(2, 3, boxes, boxes), "sm_90a");
  refused(in_teams(2, with(8, 3, boxes, boxes)), "sm_90a");
  refused(in_teams(3, with(4, 3, boxes, boxes)), "sm_90a", ErrorCode::plan_value);
  refused(in_teams(2, with(4, 3, along_cols, along_cols)), "sm_90a", ErrorCode::plan_value);
}

TEST(CudaCompile, TextThatNamesOtherTypesIsRefused) {
  if (cuda::compiler_missing() != nullptr) return;  // the tests above say what happens then
  try {
    cuda::compile<kernels::Masked<64, 32, 32>, kernels::MatmulArgs<f16, f16>>(
        {{"examples/kernels/masked.hpp"}, "kernels::Masked<64, 32, 32>", "float"}, with(4, 3, along_cols, along_cols),
        "sm_90a");
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kernel);
    EXPECT_NE(std::string(error.what()).find("other types than the host's"), std::string::npos) << error.what();
  }
}

}  // namespace
