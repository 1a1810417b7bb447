// From a plan to the operator's kernel on a GPU: its text, its launch, its need of shared memory. One mapping for those
// who launch it (run_cuda.cpp), who compile it ahead (pack/) and who speak of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <programs/gemm.hpp>
#include <tilewright/cuda.hpp>
#include <tilewright/tile/cuda/parts.hpp>

namespace tilewright::gemm_detail {

/// The arguments of the operator's program, whatever the element types: they decide what the pointers point to, and
/// nothing of how the arguments lie in memory.
using CudaArgs = programs::GemmArgs<f16, f16>;

/// What is done to sums before they are stored: a type of programs/epilogue.hpp and an object of it. The default is
/// Identity.
struct Epilogue {
  std::string_view type;  // as C++ spells it, empty: Identity
  const void* object = nullptr;
  std::size_t bytes = 1;
};

struct CudaKernel {
  cuda::KernelText text;
  cuda::Launch how;  // all but the grid, the order, the device and the stream, which are the call's
  cuda::detail::Needs needs;
  std::size_t kernel_bytes = 1;
  static constexpr std::size_t args_bytes = sizeof(CudaArgs);
};

/// The operands as they are multiplied: copies at `workspace`, one behind the other, stand for those that are packed.
struct Operands {
  MatrixView a, b;
};
Operands packed_operands(const Problem& problem, const Packing& packing, const Operands& given, std::byte* workspace);

/// What a plan has computed: C, or C transposed, from a left and a right operand.
struct Product {
  MatrixView left, right;  // (m, k) (k, n)
  MutableMatrixView out;   // (m, n)
  TileShape tile;
};
Product product_of(const Plan& plan, const MatrixView& a, const MatrixView& b, const MutableMatrixView& c);

/// The kernel of a plan of choose_gpu_plan for these operands, whose addresses and strides decide between 16, 8 and 4
/// bytes and between the axes. output: C's element type.
CudaKernel cuda_kernel(const Plan& plan, const MatrixView& a, const MatrixView& b, DType output,
                       const Epilogue& epilogue = {});

CudaArgs cuda_args(const MatrixView& left, const MatrixView& right, const MutableMatrixView& out);
/// The arguments of a plan that takes rows of A or columns of B by classes. Throws Error driver.
std::unique_ptr<cuda::Parts<CudaArgs>> cuda_parts(const Problem& problem, const Plan& plan, const Product& product);

}  // namespace tilewright::gemm_detail
