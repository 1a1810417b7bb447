// Files for the tests of reading and writing: a folder of its own for each test, and .npy files made byte by byte.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace tilewright {

namespace fs = std::filesystem;

/// A folder that is gone after the test.
class Folder : public ::testing::Test {
 protected:
  Folder() {
    std::string name = (fs::path(::testing::TempDir()) / "tilewright-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    folder_ = name;
  }
  ~Folder() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  fs::path path(std::string_view name) const { return folder_ / name; }
  fs::path file(std::string_view name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }
  static std::string bytes_of(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// How many entries the folder has: leftovers show.
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  fs::path folder_;
};

/// Magic, version, length and the header text as it is.
inline std::string npy_prefix(std::string_view header, int major = 1, int minor = 0) {
  std::string bytes("\x93NUMPY");
  bytes += {static_cast<char>(major), static_cast<char>(minor)};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> 8 * i & 0xff);
  return bytes.append(header);
}

/// The header text that NumPy writes, padded so that the elements start at a multiple of 64.
inline std::string npy_dict(std::string_view descr, std::string_view shape, bool fortran_order = false, int major = 1) {
  std::string text = "{'descr': '" + std::string(descr) + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                     ", 'shape': " + std::string(shape) + ", }";
  const std::size_t begin = major == 1 ? 10 : 12;
  text.append((64 - (begin + text.size() + 1) % 64) % 64, ' ');
  return text + "\n";
}

inline std::string npy_bytes(std::string_view descr, std::string_view shape, std::string_view elements,
                             bool fortran_order = false, int major = 1) {
  return npy_prefix(npy_dict(descr, shape, fortran_order, major), major).append(elements);
}

/// The bytes of values as memory has them.
template <class E>
std::string raw(std::initializer_list<E> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(E)};
}

}  // namespace tilewright
