// The build of the kernel pack: compiles what is not compiled yet, judges it, writes the pack and its table.
//
// Compiled kernels are kept in a folder in the format of the user's cache, under their whole identity: a kernel whose
// sources, configuration and compiler did not change is not compiled again. The compiler works on one kernel at a time
// in a process, so several processes work at once. Start at build().
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cuda/compiler.hpp"
#include "pack/kernels.hpp"

namespace tilewright::pack {

struct Job {
  std::filesystem::path store;   // where compiled kernels are kept
  std::filesystem::path output;  // the pack
  std::filesystem::path table;   // registers, shared memory and spills of each kernel, to be read
  std::filesystem::path
      exceptions;  // a text file: kernels that may spill or serialise, with what that costs; may be empty
  int processes = 1;
  std::string compiler;  // its name and version, a part of each identity
  std::function<cuda::Cubin(const std::string& unit, const std::string& architecture)> compile;
};

struct Outcome {
  int kernels = 0, compiled = 0;    // how many there are, and how many were not there before
  std::uintmax_t bytes = 0;         // of the pack
  std::vector<std::string> faults;  // why there is no pack, one sentence each; empty if there is
};

/// Throws Error kernel where a kernel does not compile, and file_open for files that cannot be read or written.
Outcome build(const std::vector<Kernel>& kernels, const Job& job);

}  // namespace tilewright::pack
