#include "cuda/cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>

#include <fmt/format.h>

#include "cuda/digest.hpp"

namespace tilewright::cuda {
namespace {

namespace fs = std::filesystem;

/// 128 bits in hexadecimal.
std::string name_of(const Digest& digest) { return fmt::format("{:016x}{:016x}", digest.low, digest.high); }

constexpr std::string_view magic = "tilewright cubin 2\n";

/// What an entry starts with; sizes in bytes.
struct Header {
  u64 identity, image, registers, spilled, serialised;
};

/// One warning a process for each kind of trouble: the first says enough.
void warn_once(std::once_flag& once, const std::string& text) {
  std::call_once(once, [&] { fmt::print(stderr, "tilewright: warning: {}\n", text); });
}

std::string with_checksum(const std::string& identity, const Cubin& cubin) {
  const Header header{identity.size(), cubin.image.size(), static_cast<u64>(cubin.registers),
                      static_cast<u64>(cubin.spilled_bytes), cubin.serialised};
  std::string bytes(magic);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += identity;
  bytes.append(cubin.image.data(), cubin.image.size());
  const u64 sum = hash(bytes, 3);
  return bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
}

/// The cubin in an entry's bytes; nothing if they are not a sound entry of this identity.
std::optional<Cubin> parse(const std::string& bytes, const std::string& identity) {
  u64 sum = 0;
  Header header{};
  if (bytes.size() < magic.size() + sizeof(header) + sizeof(sum) || !bytes.starts_with(magic)) return std::nullopt;
  std::memcpy(&header, bytes.data() + magic.size(), sizeof(header));
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof(sum), sizeof(sum));
  const std::size_t body = bytes.size() - magic.size() - sizeof(header) - sizeof(sum);
  if (header.identity > body || header.image != body - header.identity) return std::nullopt;
  if (hash(std::string_view(bytes).substr(0, bytes.size() - sizeof(sum)), 3) != sum) return std::nullopt;
  const char* const at = bytes.data() + magic.size() + sizeof(header);
  if (identity != std::string_view(at, header.identity)) return std::nullopt;
  Cubin cubin;
  cubin.image.assign(at + header.identity, at + header.identity + header.image);
  cubin.registers = static_cast<int>(header.registers);
  cubin.spilled_bytes = static_cast<int>(header.spilled);
  cubin.serialised = header.serialised != 0;
  return cubin;
}

std::optional<fs::path>& folder_override() {
  static std::optional<fs::path> folder;
  return folder;
}

/// Creates a folder and those above it, readable by this user alone.
bool make_private(const fs::path& folder) {
  std::error_code none;
  if (fs::is_directory(folder, none)) return true;
  if (folder.has_parent_path() && folder.parent_path() != folder && !make_private(folder.parent_path())) return false;
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

/// Writes a whole file and closes it; false with errno set.
bool write_file(const fs::path& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(file, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  const int error = written < bytes.size() ? errno : 0;
  if (::close(file) != 0 && error == 0) return false;
  errno = error;
  return written == bytes.size();
}

}  // namespace

fs::path cache_folder() {
  if (folder_override()) return *folder_override();
  const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
  if (const char* const own = variable("TILEWRIGHT_CACHE")) return own;
  if (const char* const shared = variable("XDG_CACHE_HOME"); shared != nullptr && *shared == '/') {
    return fs::path(shared) / "tilewright";
  }
  if (const char* const home = variable("HOME"); home != nullptr && *home == '/') {
    return fs::path(home) / ".cache" / "tilewright";
  }
  return {};
}

void set_cache_folder(fs::path folder) { folder_override() = std::move(folder); }

std::string identity_of(const std::string& unit, const std::string& architecture, const std::string& compiler) {
  const std::string sources = name_of(sources_digest());
  return fmt::format("architecture {}\ncompiler {}\nheaders {}\n{}", architecture, compiler, sources, unit);
}

fs::path entry_of(const fs::path& folder, const std::string& identity) {
  return folder / (name_of(digest_of(identity)) + ".cubin");
}

std::optional<Cubin> find_cubin(const fs::path& folder, const std::string& identity) {
  if (folder.empty()) return std::nullopt;
  const fs::path path = entry_of(folder, identity);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::optional<Cubin> cubin = parse(bytes, identity);
  if (!cubin) {
    static std::once_flag once;
    warn_once(once, fmt::format("{} is damaged or another build's; the kernel is compiled again", path.string()));
  }
  return cubin;
}

void keep_cubin(const fs::path& folder, const std::string& identity, const Cubin& cubin) {
  static std::atomic<unsigned> number = 0;
  static std::once_flag once;
  if (folder.empty()) return;
  const fs::path path = entry_of(folder, identity);
  const fs::path temporary = folder / fmt::format(".{}-{}.tmp", ::getpid(), number++);
  if (!make_private(folder)) {
    return warn_once(once, fmt::format("compiled kernels are not kept: the folder {} cannot be made ({}); set "
                                       "TILEWRIGHT_CACHE to another one",
                                       folder.string(), std::strerror(errno)));
  }
  if (!write_file(temporary, with_checksum(identity, cubin)) || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    warn_once(once, fmt::format("compiled kernels are not kept: {} cannot be written ({}); set TILEWRIGHT_CACHE to "
                                "another folder",
                                path.string(), std::strerror(error)));
  }
}

Cubin cubin_of(const std::string& unit, const std::string& architecture) {
  const fs::path folder = cache_folder();
  const std::string identity = identity_of(unit, architecture, "NVRTC " + compiler_version());
  if (std::optional<Cubin> found = find_cubin(folder, identity)) return *std::move(found);
  Cubin cubin = compile(unit, architecture);
  keep_cubin(folder, identity, cubin);
  return cubin;
}

}  // namespace tilewright::cuda
