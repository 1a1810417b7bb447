// read_npy: a file becomes a matrix by being mapped.
//
// The mapping is private and read-only, so a view costs no memory of its own and the kernel reads ahead and drops pages
// as it sees fit. Only what a processor cannot use in place, big-endian or misaligned elements, is copied.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include <tilewright/error.hpp>
#include <tilewright/npy.hpp>

#include "core/shown.hpp"
#include "io/npy_format.hpp"

namespace tilewright {
namespace {

[[noreturn]] void fail(const std::string& file, std::string_view action, int error) {
  throw Error(ErrorCode::file_open,
              fmt::format("{}: the file cannot be {}: {}", file, action, std::generic_category().message(error)));
}

struct Descriptor {
  int number;
  explicit Descriptor(int open_number) : number(open_number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

/// All bytes of a file, mapped. A file without bytes has no mapping.
class Mapping {
 public:
  Mapping(const Descriptor& descriptor, std::size_t size, const std::string& file) : size_(size) {
    if (size == 0) return;
    address_ = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
    if (address_ == MAP_FAILED) fail(file, "mapped", errno);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (address_ != MAP_FAILED) munmap(address_, size_);
  }
  std::span<const std::byte> bytes() const {
    if (address_ == MAP_FAILED) return {};
    return {static_cast<const std::byte*>(address_), size_};
  }

 private:
  void* address_ = MAP_FAILED;
  std::size_t size_;
};

}  // namespace

NpyMatrix read_npy(const std::filesystem::path& path, const NpyOptions& options) {
  const std::string file = core::shown_file(path.string());  // for messages
  // Without O_NONBLOCK, opening a named pipe would wait for its writer instead of being refused.
  const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.number < 0) fail(file, "opened", errno);
  struct stat status = {};
  if (fstat(descriptor.number, &status) != 0) fail(file, "examined", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::file_open,
                fmt::format("{}: not a regular file, so it cannot be mapped; save the matrix to a file first", file));
  }
  const auto mapping = std::make_shared<const Mapping>(descriptor, static_cast<std::size_t>(status.st_size), file);
  const std::span<const std::byte> bytes = mapping->bytes();
  const io::NpyLayout layout = io::parse_npy_header(bytes, file, options);
  io::check_npy_size(layout, status.st_size, file);

  NpyMatrix matrix;
  matrix.view_ = {nullptr, layout.type, layout.rows, layout.cols, layout.row_stride, layout.col_stride};
  if (layout.data_bytes == 0) return matrix;
  const std::span<const std::byte> elements = bytes.subspan(static_cast<std::size_t>(layout.data_offset));
  if (!layout.big_endian && layout.data_offset % size_of(layout.type) == 0) {  // a mapping starts at a page
    matrix.view_.data = elements.data();
    matrix.storage_ = mapping;
    return matrix;
  }
  try {
    auto copy = std::make_shared<const Matrix>(io::converted(layout, elements));
    matrix.view_.data = copy->view().data;
    matrix.storage_ = std::move(copy);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {} elements are copied to be read: {}", file,
                                          layout.big_endian ? "big-endian" : "misaligned", error.what()));
  }
  return matrix;
}

}  // namespace tilewright
