// What is in the kernel pack: every kernel that the planner's default plans can choose, on the devices that are known.
//
// The list is not written down: the planner itself is asked, for every pair of element types and every layout of the
// operands, what its candidates are, and the operator for the kernel of each. So pack and planner cannot disagree.
#pragma once

#include <string>
#include <vector>

#include <tilewright/dtype.hpp>

namespace tilewright::pack {

struct Kernel {
  std::string name;          // for people: "f16>f16 64x64x64 w4 s3 a=async_copy(16,k) b=realign(n) mma_sync sm_80"
  std::string group;         // of kernels that share code
  std::string unit;          // what is compiled
  std::string architecture;  // for what
  bool with_ptx = false;     // the assembly language is packed as well, for devices that are not known
  int shared_bytes = 0;      // of a program
};

/// All of them, each for every architecture, the ones that take longest to compile first.
std::vector<Kernel> default_kernels();

}  // namespace tilewright::pack
