// Where CUDA's libraries may lie; see cublas.hpp.
#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "bench/cublas.hpp"

namespace tilewright::bench {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Folders in which a Python may keep its packages: where `python3` is found, the active environment, the user's own.
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  if (const std::string active = variable("VIRTUAL_ENV"); !active.empty()) prefixes.emplace_back(active);
  std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path folder = path.substr(begin, end - begin);
    std::error_code none;
    if (folder.is_absolute() && fs::exists(folder / "python3", none)) prefixes.push_back(folder.parent_path());
    begin = end + 1;
  }
  if (const std::string home = variable("HOME"); !home.empty()) prefixes.push_back(fs::path(home) / ".local");
  return prefixes;
}

void add_matches(const std::string& pattern, std::vector<std::string>& folders) {
  glob_t found{};
  if (glob(pattern.c_str(), GLOB_ONLYDIR, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) folders.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
}

std::vector<std::string> folders_to_search() {
  std::vector<std::string> folders;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string root = variable(name);
    if (root.empty()) continue;
    folders.push_back(root + "/lib64");
    folders.push_back(root + "/lib");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  folders.emplace_back("/usr/local/cuda/lib");
  for (const fs::path& prefix : python_prefixes()) {
    for (const char* const packages : {"site-packages", "dist-packages"}) {
      for (const char* const package : {"cu13", "cublas"})
        add_matches(fmt::format("{}/lib/python3*/{}/nvidia/{}/lib", prefix.string(), packages, package), folders);
    }
  }
  return folders;
}

}  // namespace

Library open_cuda_library(const std::vector<std::string>& names) {
  std::string words;
  const auto opened = [&](const std::string& name) -> std::optional<Library> {
    try {
      return Library(name.c_str());
    } catch (const std::runtime_error& error) {
      if (words.empty()) words = error.what();
      return std::nullopt;
    }
  };
  for (const std::string& name : names) {
    if (auto library = opened(name)) return *library;
  }
  for (const std::string& folder : folders_to_search()) {
    for (const std::string& name : names) {
      const std::string file = folder + '/' + name;
      std::error_code none;
      if (!fs::exists(file, none)) continue;
      if (auto library = opened(file)) return *library;
    }
  }
  throw std::runtime_error(fmt::format(
      "{} ({}; nor is it under CUDA_HOME, /usr/local/cuda or among the packages of python3)", names.front(), words));
}

}  // namespace tilewright::bench
