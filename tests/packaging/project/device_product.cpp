// A product on a device, by an installed Tilewright: whether its kernel is the one that is expected.
//
// The driver is that of Tilewright's tests, which takes any bytes for a kernel and shows those of the last launch.
#include <cstdio>
#include <cstring>

#include <dlfcn.h>

#include <tilewright/cuda.hpp>
#include <tilewright/gemm.hpp>

namespace {

using namespace tilewright;

void* driver = nullptr;

template <class F>
F of_driver(const char* name) {
  return reinterpret_cast<F>(dlsym(driver, name));
}

/// Memory for 64 x 64 elements on the first device.
f16* allocate() {
  unsigned long long address = 0;
  of_driver<int (*)(unsigned long long*, std::size_t)>("cuMemAlloc_v2")(&address, 64 * 64 * sizeof(f16));
  return reinterpret_cast<f16*>(address);
}

}  // namespace

/// 0 if the kernel of a 64x64x64 product is this text.
extern "C" int multiply_on_device(const char* expected) {
#ifdef KERNEL_PACK
  cuda::use_kernel_pack(KERNEL_PACK);
#endif
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr || dlsym(driver, "fake_last_image") == nullptr) {
    std::puts("the driver of the tests is not on the library path");
    return 1;
  }
  void* context = nullptr;
  of_driver<int (*)(unsigned)>("cuInit")(0);
  of_driver<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0);
  of_driver<int (*)(void*)>("cuCtxPushCurrent_v2")(context);
  try {
    gemm_into(view_of(allocate(), 64, 64, 64), view_of(allocate(), 64, 64, 64),
              mutable_view_of(allocate(), 64, 64, 64));
  } catch (const Error& error) {
    std::printf("no kernel: %s\n", error.what());
    return 1;
  }
  std::size_t bytes = 0;
  const char* const image = of_driver<const char* (*)(std::size_t*)>("fake_last_image")(&bytes);
  if (std::strlen(expected) == bytes && std::memcmp(expected, image, bytes) == 0) return 0;
  std::puts("the kernel is not the one of the installed pack");
  return 1;
}
