// Where write_npy puts a file.
#pragma once

#include <filesystem>

namespace tilewright::io {

/// The file at the end of a chain of symbolic links, which need not exist yet; a path that is no link itself. Throws
/// file_open where the chain cannot be followed or has no end.
std::filesystem::path behind_links(const std::filesystem::path& path);

/// Whether this process may write to an existing file; errno says why not. Renaming over it would not ask.
bool may_replace(const std::filesystem::path& file);

}  // namespace tilewright::io
