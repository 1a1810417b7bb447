// See library.hpp.
#include "bench/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <stdexcept>

namespace tilewright::bench {

Library::Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(dlerror());
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
    std::error_code none;
    const std::filesystem::path real = std::filesystem::canonical(map->l_name, none);
    file_ = none ? map->l_name : real.string();
  }
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

void* Library::required(const char* name) const {
  if (void* const found = symbol(name)) return found;
  throw std::runtime_error(file_ + " has no function " + name);
}

}  // namespace tilewright::bench
