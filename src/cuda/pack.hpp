// The kernel pack: kernels compiled when the project is built, in one file beside the binary.
//
// It is looked into before the user's cache and the compiler, so the kernels of default plans start without either. A
// pack belongs to the sources it was made from, whose digest it holds: one of another build, one that is truncated or
// damaged is no pack, and one warning says so. Kernels that share code are compressed together, in groups, and a kernel
// is unpacked when it is first wanted. pack/ builds it; docs/cuda.md says where it is looked for.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cuda/compiler.hpp"
#include "cuda/digest.hpp"

namespace tilewright::cuda {

/// A kernel of a pack: the unit it was compiled from and for what. An architecture "compute_80" stands for the assembly
/// language PTX, which a driver compiles for devices that nobody knew.
struct PackEntry {
  std::string group;  // kernels of one group are compressed together
  std::string unit, architecture;
  Cubin cubin;
};

/// The bytes of a pack file.
std::string pack_bytes(std::vector<PackEntry> entries);

class Pack {
 public:
  /// Reads what is in a pack; its kernels stay in the file. Null, and why in `reason`, if the file is not a whole pack
  /// of these sources.
  static std::unique_ptr<Pack> open(const std::filesystem::path& file, std::string& reason);

  /// A kernel; nothing if it is not there. Damage is a miss, and one warning.
  std::optional<Cubin> find(const std::string& unit, const std::string& architecture) const;
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Digest key;
    u64 group = 0, offset = 0, bytes = 0;  // within the unpacked group
    u64 registers = 0, spilled = 0;
  };
  struct Group {
    u64 offset = 0, packed = 0, bytes = 0, checksum = 0;  // offset: in the file
  };
  friend std::string pack_bytes(std::vector<PackEntry> entries);

  std::filesystem::path file_;
  std::vector<Entry> entries_;  // in order of their keys
  std::vector<Group> groups_;
};

/// Where the pack is: the file that was set, else $TILEWRIGHT_PACK, else tilewright.pack in the folder of the
/// executable, or in share/tilewright of one of the two folders above it, else the same for the shared library or
/// module that this code is in. Empty for none.
std::filesystem::path pack_file();
/// The pack of this process, opened at its first use; null if there is none.
const Pack* kernel_pack();

/// The architectures whose machine code a device runs, best first: its own, the first of its generation, PTX.
std::vector<std::string> architectures_for(int major, int minor);

/// Whether an architecture has wgmma and tma.
inline bool has_wgmma(std::string_view architecture) { return architecture == "sm_90a"; }

}  // namespace tilewright::cuda
