#include "cuda/driver.hpp"

#include <dlfcn.h>
#include <link.h>

#include <fmt/format.h>

#include <atomic>

namespace tilewright::cuda {
namespace {

void* library() {
  static void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

template <class F>
bool find(F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library(), name));
  return function != nullptr;
}

/// The first entry point that is missing; null if all are there.
const char* fill(Driver& d) {
  const char* missing = nullptr;
  const auto need = [&](auto& function, const char* name) {
    if (!find(function, name) && missing == nullptr) missing = name;
  };
  need(d.init, "cuInit");
  need(d.driver_get_version, "cuDriverGetVersion");
  need(d.get_error_name, "cuGetErrorName");
  need(d.get_error_string, "cuGetErrorString");
  need(d.device_get_count, "cuDeviceGetCount");
  need(d.device_get, "cuDeviceGet");
  need(d.device_get_name, "cuDeviceGetName");
  need(d.device_get_attribute, "cuDeviceGetAttribute");
  need(d.device_total_mem, "cuDeviceTotalMem_v2");
  need(d.primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  need(d.ctx_push_current, "cuCtxPushCurrent_v2");
  need(d.ctx_pop_current, "cuCtxPopCurrent_v2");
  need(d.ctx_get_current, "cuCtxGetCurrent");
  need(d.ctx_synchronize, "cuCtxSynchronize");
  need(d.pointer_get_attributes, "cuPointerGetAttributes");
  need(d.module_load_data, "cuModuleLoadData");
  need(d.module_get_function, "cuModuleGetFunction");
  need(d.func_get_attribute, "cuFuncGetAttribute");
  need(d.func_set_attribute, "cuFuncSetAttribute");
  need(d.launch_kernel, "cuLaunchKernel");
  need(d.mem_alloc, "cuMemAlloc_v2");
  need(d.mem_free, "cuMemFree_v2");
  need(d.mem_host_alloc, "cuMemHostAlloc");
  need(d.mem_free_host, "cuMemFreeHost");
  need(d.memcpy_htod_async, "cuMemcpyHtoDAsync_v2");
  need(d.memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2");
  need(d.memset_d8_async, "cuMemsetD8Async");
  need(d.stream_create, "cuStreamCreate");
  need(d.stream_destroy, "cuStreamDestroy_v2");
  need(d.stream_synchronize, "cuStreamSynchronize");
  need(d.thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode");
  find(d.tensor_map_encode_tiled, "cuTensorMapEncodeTiled");
  find(d.launch_kernel_ex, "cuLaunchKernelEx");
  find(d.mem_alloc_async, "cuMemAllocAsync");
  find(d.mem_free_async, "cuMemFreeAsync");
  return missing;
}

std::string words_by(const Driver& d, Result result) {
  const char *name = nullptr, *text = nullptr;
  if (d.get_error_name(result, &name) != success || name == nullptr) return fmt::format("error {}", result);
  if (d.get_error_string(result, &text) != success || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

/// How many shared objects this process has loaded so far.
unsigned long long libraries_loaded() {
  unsigned long long loads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = object->dlpi_adds;
        return 1;  // the first one knows
      },
      &loads);
  return loads;
}

DriverOrReason open() {
  if (library() == nullptr) {
    const char* const why = dlerror();
    return {nullptr, fmt::format("the NVIDIA driver cannot be opened ({})", why != nullptr ? why : "no reason given")};
  }
  static Driver d{};
  if (const char* const missing = fill(d)) {
    return {nullptr, fmt::format("the NVIDIA driver has no {}: it is too old", missing)};
  }
  if (const Result result = d.init(0); result != success) {
    return {nullptr, fmt::format("the NVIDIA driver does not start: cuInit gives {}", words_by(d, result))};
  }
  int count = 0;
  if (const Result result = d.device_get_count(&count); result != success) {
    return {nullptr, fmt::format("the NVIDIA driver does not count devices: {}", words_by(d, result))};
  }
  if (count == 0) return {nullptr, "the NVIDIA driver finds no device"};
  return {&d, {}};
}

}  // namespace

const DriverOrReason& driver_or_reason() {
  static const DriverOrReason opened = open();
  return opened;
}

bool driver_in_use() {
  // Asked by every multiplication, and dlopen searches folders for 20 us before it says no: it is asked again only when
  // the process has loaded something since. The handle is not closed: the library stays as long as the process, once
  // somebody has loaded it.
  static std::atomic<unsigned long long> looked_after{0};
  static std::atomic<bool> loaded{false};
  if (!loaded.load(std::memory_order_acquire)) {
    const unsigned long long loads = libraries_loaded();
    if (loads == looked_after.load(std::memory_order_relaxed)) return false;
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr) {
      looked_after.store(loads, std::memory_order_relaxed);
      return false;
    }
    loaded.store(true, std::memory_order_release);
  }
  return driver_or_reason().driver != nullptr;
}

const Driver& driver() {
  const DriverOrReason& opened = driver_or_reason();
  if (opened.driver == nullptr) {
    throw Error(ErrorCode::target,
                fmt::format("the target cuda is unavailable: {}; use the target cpu", opened.reason));
  }
  return *opened.driver;
}

void* driver_symbol(const char* name) {
  driver();
  void* const symbol = dlsym(library(), name);
  if (symbol == nullptr) {
    throw Error(ErrorCode::target, fmt::format("the NVIDIA driver has no {}: it is too old", name));
  }
  return symbol;
}

std::string words_of(Result result) { return words_by(driver(), result); }

void check(Result result, std::string_view call) {
  if (result == success) return;
  throw Error(ErrorCode::driver, fmt::format("{} gives {}", call, words_of(result)));
}

}  // namespace tilewright::cuda
