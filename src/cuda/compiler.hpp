// The run-time compiler, NVRTC: text in, a cubin for one architecture out. It needs no GPU and no header of CUDA; the
// tile language's headers are in this binary (sources.hpp) and are handed over by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/digest.hpp"

namespace tilewright::cuda {

/// A header under the name by which it is included.
struct SourceFile {
  std::string_view name, text;
};
/// The language, its CUDA executor, the operator's programs and the teaching kernels.
std::span<const SourceFile> embedded_sources();
/// Of all of them: what a compiled kernel depends on besides its own unit.
Digest sources_digest();

struct Cubin {
  std::vector<char> image;  // what the driver loads
  int registers = 0;        // a thread
  int spilled_bytes = 0;    // stored to local memory because registers did not suffice
  bool serialised = false;  // wgmma instructions wait for each other (ptxas C7510, C7514, C7517)
  std::string ptx;          // the assembly language on the way; empty where the cubin came from a cache, as is
  std::string log;          // the compiler's words
};

/// Null if NVRTC can be used; else why not.
const std::string* compiler_missing();
/// "13.0": the version that a cubin's identity holds.
std::string compiler_version();

/// Compiles one kernel named `tilewright_kernel`. Throws Error kernel with the compiler's log, target without NVRTC.
Cubin compile(const std::string& text, const std::string& architecture);

}  // namespace tilewright::cuda
