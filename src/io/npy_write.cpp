// write_npy: a file that appears whole or not at all.
//
// The bytes go to a temporary file in the directory of the target (a rename works within one file system only), which
// is flushed and then renamed over it. Whatever fails before the rename, a full disk or a kill included, leaves the old
// file; a failure also removes the temporary one, which only a kill can leave behind.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tilewright/error.hpp>
#include <tilewright/npy.hpp>

#include "core/checked.hpp"
#include "core/shown.hpp"
#include "io/npy_format.hpp"
#include "io/npy_target.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, std::string_view action, int error) {
  throw Error(ErrorCode::file_open,
              fmt::format("{}: the file cannot be written ({}: {}); what was there before is unchanged",
                          core::shown_file(path.string()), action, std::generic_category().message(error)));
}

/// A new file beside `target`, removed again unless it takes the target's name.
class TemporaryFile {
 public:
  /// is_private: readable by its owner alone until set_mode; otherwise with the permissions this process gives new
  /// files.
  TemporaryFile(const fs::path& target, bool is_private) : target_(target) {
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    // Not made from the target's name, which may be as long as names may be.
    for (int attempts = 0; descriptor_ < 0; ++attempts) {
      std::uint64_t number = 0;
      if (getrandom(&number, sizeof number, 0) != sizeof number) fail(target, "drawing a random name", errno);
      name_ = folder / fmt::format(".tilewright-{:016x}.tmp", number);
      descriptor_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_private ? 0600 : 0666);
      if (descriptor_ < 0 && (errno != EEXIST || attempts == 100)) {
        fail(target, "creating a temporary file beside it", errno);
      }
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!name_.empty()) unlink(name_.c_str());
  }

  void set_mode(mode_t mode) {
    // Some file systems have no modes to set, and then none to keep either.
    if (fchmod(descriptor_, mode) != 0 && errno != EPERM && errno != ENOTSUP) {
      fail(target_, "setting its permissions", errno);
    }
  }

  void write(const void* data, std::size_t size) {
    const char* next = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, next, size);  // at most 2 GiB at a time
      if (written < 0) {
        if (errno == EINTR) continue;
        fail(target_, "writing", errno);
      }
      next += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  void take_the_name() {
    if (fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(target_, "flushing", errno);
    if (close(std::exchange(descriptor_, -1)) != 0) fail(target_, "closing", errno);
    if (rename(name_.c_str(), target_.c_str()) != 0) fail(target_, "renaming the temporary file", errno);
    // The name itself is flushed too. The file is whole now in any case, so a directory that cannot be flushed is no
    // error.
    const fs::path folder = name_.parent_path();
    name_.clear();
    const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return;
    fsync(directory);
    close(directory);
  }

 private:
  fs::path target_, name_;
  int descriptor_ = -1;
};

/// Copies `count` elements of a view, counted row by row from `first`, into `out`.
template <class Word>
void gather(const MatrixView& view, i64 first, i64 count, std::byte* out) {
  const auto* base = static_cast<const std::byte*>(view.data);
  constexpr i64 size = sizeof(Word);
  i64 row = first / view.cols, col = first % view.cols;
  while (count > 0) {
    const i64 run = std::min(count, view.cols - col);
    const std::byte* from = base + (row * view.row_stride + col * view.col_stride) * size;
    if (view.col_stride == 1) {
      std::memcpy(out, from, static_cast<std::size_t>(run * size));
    } else {
      for (i64 i = 0; i < run; ++i) std::memcpy(out + i * size, from + i * view.col_stride * size, sizeof(Word));
    }
    out += run * size;
    count -= run;
    ++row;
    col = 0;
  }
}

void write_elements(TemporaryFile& file, const MatrixView& view) {
  const i64 total = view.rows * view.cols, size = size_of(view.type);
  if ((view.cols == 1 || view.col_stride == 1) && (view.rows == 1 || view.row_stride == view.cols)) {
    file.write(view.data, static_cast<std::size_t>(total * size));
    return;
  }
  constexpr i64 chunk_bytes = i64{1} << 20;
  const i64 chunk = chunk_bytes / size;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(total, chunk) * size));
  for (i64 first = 0; first < total; first += chunk) {
    const i64 count = std::min(chunk, total - first);
    if (size == 2) gather<std::uint16_t>(view, first, count, buffer.data());
    if (size == 4) gather<std::uint32_t>(view, first, count, buffer.data());
    if (size == 8) gather<std::uint64_t>(view, first, count, buffer.data());
    file.write(buffer.data(), static_cast<std::size_t>(count * size));
  }
}

}  // namespace

namespace io {

fs::path behind_links(const fs::path& path) {
  constexpr int most_links = 40;  // what Linux itself follows
  fs::path file = path;
  for (int links = 0; links < most_links; ++links) {
    std::error_code none;
    const fs::path next = fs::read_symlink(file, none);
    if (none == std::errc::invalid_argument || none == std::errc::no_such_file_or_directory) return file;
    if (none) fail(path, "following its symbolic link", none.value());
    file = file.parent_path() / next;  // or next alone where it is absolute
  }
  fail(path, "following its symbolic links", ELOOP);
}

bool may_replace(const fs::path& file) { return faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) == 0; }

}  // namespace io

void write_npy(const fs::path& path, const MatrixView& matrix) {
  byte_range(matrix);
  const bool empty = matrix.rows == 0 || matrix.cols == 0;
  if (!empty && matrix.data == nullptr) {
    throw Error(ErrorCode::null_data, fmt::format("{}: a view of {} has no memory to write from; set its data",
                                                  core::shown_file(path.string()), to_string(matrix)));
  }
  // A broadcast view has few bytes of memory and any number of elements.
  if (!core::checked_product(matrix.rows, matrix.cols, size_of(matrix.type))) fail(path, "measuring it", EFBIG);
  struct stat old = {};
  const bool replaces = stat(path.c_str(), &old) == 0;
  if (!replaces && errno != ENOENT) fail(path, "looking it up", errno);
  if (replaces && !S_ISREG(old.st_mode)) {
    throw Error(ErrorCode::file_open,
                fmt::format("{}: exists and is not a regular file, so it cannot be replaced; give the name of a file",
                            core::shown_file(path.string())));
  }
  // Through a symbolic link, the file behind it is replaced and not the link.
  const fs::path target = io::behind_links(path);
  if (replaces && !io::may_replace(target)) {
    throw Error(ErrorCode::file_open,
                fmt::format("{}: the file is read-only ({}) and is not replaced; make it "
                            "writable, or give another name",
                            core::shown_file(path.string()), std::generic_category().message(errno)));
  }

  TemporaryFile file(target, replaces);
  if (replaces) file.set_mode(old.st_mode & 0777);  // a private file does not become public by being replaced
  const std::string header = io::npy_header(matrix.type, matrix.rows, matrix.cols);
  file.write(header.data(), header.size());
  if (!empty) write_elements(file, matrix);
  file.take_the_name();
}

}  // namespace tilewright
