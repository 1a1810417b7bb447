// load MODULE TEXT: the product of device_product.cpp in a module that is opened; its kernel must be that text.
#include <cstdio>

#include <dlfcn.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* const module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  return reinterpret_cast<int (*)(const char*)>(dlsym(module, "multiply_on_device"))(argv[2]);
}
