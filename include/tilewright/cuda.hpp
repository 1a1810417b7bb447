// Kernels on NVIDIA GPUs: the same source that runs on a CPU and in the exact checker, compiled at run time.
//
//   cuda::launch(kernels::Masked<64, 32, 32>{}, text, {.grid = {programs}}, args);
//
// The call enqueues and returns; memory that args point to must be the device's and must live until the stream is done.
// Nothing of CUDA is needed to build. A machine without the driver or a device refuses with Error target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tilewright/error.hpp>
#include <tilewright/plan.hpp>
#include <tilewright/tile/cuda/footprint.hpp>

namespace tilewright::cuda {

/// Empty if kernels can be launched here; else why not, in one sentence.
std::string unavailable();

/// The file with the kernels that were compiled with the library, for a program that is not installed with it:
/// docs/cuda.md has where it is looked for. Counts if called before the first launch; an empty name means no pack.
void use_kernel_pack(const std::string& file);

/// A kernel as text, for the run-time compiler. The type names are those of the host, written out with their
/// namespaces.
struct KernelText {
  std::vector<std::string> headers;  // "programs/gemm.hpp": of those that are in this binary
  std::string kernel;                // "tilewright::programs::Gemm<{64, 32, 32}>"
  std::string args;                  // "tilewright::programs::GemmArgs<tilewright::f16, tilewright::f16>"
  friend bool operator==(const KernelText&, const KernelText&) = default;
};

/// How a kernel is launched.
struct Launch {
  tile::Grid grid;
  Order order{};
  int warps = 4;             // of 32 threads that share one program: 1, 2, 4, 8 or 16
  int stages = 3;            // blocks of K in flight in a pipeline
  int teams = 1;             // programs that a block of threads works on at once, where blocks come by tma
  Move moves[most_moves]{};  // of the loads of a pipeline's step, or the operands of a dot: a promise of their layout
  std::optional<Tensor> tensor{};  // what multiplies 16-bit elements; by default the best that the device has
  int device = 0;                  // where the memory is
  void* stream = nullptr;          // a CUstream of that device's primary context; null: the default stream
};

/// The mover that a view's strides and address allow, for a load whose rows and columns are the view's, at any tile of
/// it that starts at a multiple of 8 elements. An element type's own alignment is taken for granted.
Move mover_for(const MatrixView& view);

/// What the compiler made of a kernel.
struct KernelFacts {
  int registers = 0, spilled_bytes = 0;  // a thread
  int shared_bytes = 0;                  // a program
  bool serialised = false;               // whether the compiler said that wgmma instructions wait for each other
};

namespace detail {
/// The shared memory that a kernel needs: it depends on what multiplies, as the distribution of values does.
struct Needs {
  footprint::Need mma_sync, wgmma;
};
template <int Warps, class Kernel, class Args>
Needs needs_with() {
  const footprint::Need plain = footprint::of<Team{Warps, Tensor::mma_sync}, Kernel, Args>();
  if constexpr (Warps % 4 == 0) {
    return {plain, footprint::of<Team{Warps, Tensor::wgmma}, Kernel, Args>()};
  } else {
    return {plain, plain};
  }
}
/// Under each number of warps that can be asked for.
template <class Kernel, class Args>
Needs needs_of(int warps) {
  switch (warps) {
    case 1:
      return needs_with<1, Kernel, Args>();
    case 2:
      return needs_with<2, Kernel, Args>();
    case 4:
      return needs_with<4, Kernel, Args>();
    case 8:
      return needs_with<8, Kernel, Args>();
    case 16:
      return needs_with<16, Kernel, Args>();
    default:
      throw Error(ErrorCode::plan_value,
                  "a launch of " + std::to_string(warps) + " warps a program; give 1, 2, 4, 8 or 16");
  }
}

struct Bytes {
  const void* data;
  std::size_t size;
};
void enqueue(const KernelText& text, const Launch& how, const Needs& needs, Bytes kernel, Bytes args);
KernelFacts compile_for(const KernelText& text, const Launch& how, const Needs& needs, std::size_t kernel_size,
                        std::size_t args_size, const std::string& architecture);
}  // namespace detail

/// Enqueues every program of the grid. Throws Error: target, driver, kernel, plan_value, and plan_unavailable with what
/// does not fit on the device.
template <class Kernel, class Args>
void launch(const Kernel& kernel, const KernelText& text, const Launch& how, const Args& args) {
  if (how.grid.programs() == 0) return;
  detail::enqueue(text, how, detail::needs_of<Kernel, Args>(how.warps), {&kernel, sizeof(kernel)},
                  {&args, sizeof(args)});
}

/// Compiles a kernel for an architecture such as "sm_90a" and runs nothing: no device is needed. Throws Error as
/// launch does.
template <class Kernel, class Args>
KernelFacts compile(const KernelText& text, const Launch& how, const std::string& architecture) {
  return detail::compile_for(text, how, detail::needs_of<Kernel, Args>(how.warps), sizeof(Kernel), sizeof(Args),
                             architecture);
}

}  // namespace tilewright::cuda
