// Compiled kernels on disk, one file each, for all processes of a user.
//
// An entry holds the whole identity it was stored under and a checksum, so that one that is truncated, damaged or of
// another build is a miss, never a wrong kernel. Entries appear by renaming a finished file, so that processes that
// race each find a whole one or none. Where the folder cannot be used, kernels stay in memory: one warning says so.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cuda/compiler.hpp"

namespace tilewright::cuda {

/// $TILEWRIGHT_CACHE, else tilewright in $XDG_CACHE_HOME, else in ~/.cache; empty for no cache (TILEWRIGHT_CACHE set to
/// nothing, or no home).
std::filesystem::path cache_folder();
/// Replaces it for this process.
void set_cache_folder(std::filesystem::path folder);

/// All that a cubin depends on: the kernel's unit, the headers it includes, the architecture, the compiler.
std::string identity_of(const std::string& unit, const std::string& architecture, const std::string& compiler);

/// The entry of an identity, if there is a sound one.
std::optional<Cubin> find_cubin(const std::filesystem::path& folder, const std::string& identity);
/// Stores an entry; failing is a warning.
void keep_cubin(const std::filesystem::path& folder, const std::string& identity, const Cubin& cubin);
/// The file that an identity has.
std::filesystem::path entry_of(const std::filesystem::path& folder, const std::string& identity);

/// The cubin of a unit: from the cache, else compiled and stored.
Cubin cubin_of(const std::string& unit, const std::string& architecture);

}  // namespace tilewright::cuda
