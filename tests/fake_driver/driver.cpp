// A libcuda.so.1 for tests on machines without a GPU: memory of its "devices" is the host's, a module is any bytes, and
// a launch counts and computes nothing. It shows what the library asks of a driver, and what a call costs besides it.
//
// With FAKE_PRODUCT=right it computes the operator's product, and with FAKE_PRODUCT=wrong all of it but one element,
// when a launch is enqueued or captured. Its clock is of its own making: a launch takes 5 us, and 1 us more for each KiB
// of shared memory.
//
// With FAKE_LOADS=N it takes N modules and refuses others. There is one device, or as many as FAKE_DEVICES says;
// memory belongs to that whose context is current when it is allocated. Entry points have the driver's own names.
// Beside them, fake_… tell a test what happened; found with dlsym.
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <programs/gemm.hpp>
#include "tests/fake_driver/encoded.hpp"

namespace {

constexpr int success = 0, invalid_value = 1, invalid_device = 101, invalid_context = 201, no_binary = 209,
              not_found = 500, not_supported = 801, invalid_cluster_size = 912;

std::mutex mutex;
struct Block {
  std::size_t bytes;
  int device;
};
std::map<unsigned long long, Block> memory;  // of the devices, by address
std::deque<std::string> modules;
std::atomic<long> launches = 0, loads = 0;
std::atomic<const void*> last_function = nullptr, large_clusters = nullptr;  // the latter, of the function that may
std::atomic<int> last_device = -1, last_blocks = 0, last_cluster = 0, last_early = 0;
int contexts[8];                          // a device's context is the address of its own
thread_local std::vector<void*> current;  // the last one is current
int stream_object = 0;
double clock_us = 0, captured_us = 0;  // now; of the launches that are captured
bool capturing = false;

/// Work that takes so long, now or in the graph that is captured.
void spend(double us) { (capturing ? captured_us : clock_us) += us; }

template <class In, class Out>
void multiply(const void* arguments, bool wrong) {
  const auto& x = *static_cast<const tilewright::programs::GemmArgs<In, Out>*>(arguments);
  const auto at = [](const auto& matrix, tilewright::i64 row, tilewright::i64 col) {
    return matrix.ptr + row * matrix.row_stride + col * matrix.col_stride;
  };
  for (tilewright::i64 row = 0; row < x.m; ++row) {
    for (tilewright::i64 col = 0; col < x.n; ++col) {
      float sum = 0;
      for (tilewright::i64 k = 0; k < x.k; ++k)
        sum += tilewright::to_float(*at(x.a, row, k)) * tilewright::to_float(*at(x.b, k, col));
      *at(x.c, row, col) = tilewright::from_float<Out>(wrong && row + col == 0 ? sum + 100 : sum);
    }
  }
}

/// What the operator's kernel does. An image that begins with element types, as "bf16>f32 ", is a kernel of those.
void multiply(std::string_view image, const void* arguments, bool wrong) {
  using tilewright::bf16, tilewright::f16;
  const auto into = [&]<class In>(In, std::string_view out) {
    if (out.starts_with("bf16 ")) return multiply<In, bf16>(arguments, wrong);
    return out.starts_with("f32 ") ? multiply<In, float>(arguments, wrong) : multiply<In, f16>(arguments, wrong);
  };
  if (image.starts_with("bf16>")) return into(bf16{}, image.substr(5));
  if (image.starts_with("f32>")) return into(0.0f, image.substr(4));
  into(f16{}, image.substr(image.starts_with("f16>") ? 4 : 0));
}

/// What the kernel does that copies rows of elements of 2 bytes (src/cuda/row_copy.cpp).
void copy_rows(void** parameters) {
  const auto number = [&](int at) { return *static_cast<const long long*>(parameters[at]); };
  auto* const to = *static_cast<unsigned short**>(parameters[0]);
  const auto* const from = *static_cast<const unsigned short* const*>(parameters[1]);
  for (long long row = 0; row < number(2); ++row) {
    for (long long col = 0; col < number(7); ++col)
      to[row * number(4) + col] = col < number(3) ? from[row * number(5) + col * number(6)] : 0;
  }
}

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

int devices() { return number_of("FAKE_DEVICES", 1); }

/// The device that an address lies on; -1 for the host's memory.
int device_of(unsigned long long address) {
  const std::lock_guard lock(mutex);
  auto at = memory.upper_bound(address);
  if (at == memory.begin()) return -1;
  const auto& [start, block] = *std::prev(at);
  return address < start + block.bytes ? block.device : -1;
}

/// The device whose context is current; -1 if none is.
int current_device() { return current.empty() ? -1 : static_cast<int>(static_cast<int*>(current.back()) - contexts); }

/// The grid's first axis is shared out in clusters of so many blocks.
int launch(void* function, unsigned blocks, unsigned cluster, bool early, unsigned shared_bytes, void** parameters) {
  if (blocks == 0 || cluster == 0 || blocks % cluster != 0) return invalid_value;
  if (cluster > 8 && function != large_clusters) return invalid_cluster_size;
  const std::string& image = *static_cast<const std::string*>(function);
  if (const char* const product = std::getenv("FAKE_PRODUCT")) {
    if (image.starts_with("copy of rows")) {
      copy_rows(parameters);
    } else {
      multiply(image, parameters[1], std::strcmp(product, "wrong") == 0);
    }
  }
  spend(5 + shared_bytes / 1024.0);
  last_function = function;
  last_device = current_device();
  last_blocks = static_cast<int>(blocks);
  last_cluster = static_cast<int>(cluster);
  last_early = early ? 1 : 0;
  ++launches;
  return success;
}

/// As the driver's interface has it.
struct LaunchConfig {
  unsigned blocks, others_of_grid[2], threads[3], shared_bytes;
  void* stream;
  const struct {
    int id;
    alignas(8) unsigned value[16];
  } * attributes;
  unsigned attribute_count;
};

}  // namespace

extern "C" {

long fake_launches() { return launches; }
long fake_loads() { return loads; }
/// The device whose context was current at the last launch.
int fake_last_device() { return last_device; }
/// How many blocks of threads the last launch had, and a cluster of it.
int fake_last_blocks() { return last_blocks; }
int fake_last_cluster() { return last_cluster; }
/// Whether it might begin beside the launch before it.
int fake_last_early() { return last_early; }
/// The image of the module whose function was launched last.
const char* fake_last_image(std::size_t* bytes) {
  const auto* const image = static_cast<const std::string*>(last_function.load());
  *bytes = image->size();
  return image->data();
}

int cuInit(unsigned) { return success; }
int cuDriverGetVersion(int* version) {
  const char* const other = std::getenv("FAKE_DRIVER_VERSION");
  return *version = other != nullptr ? std::atoi(other) : 13000, success;
}
int cuGetErrorName(int error, const char** text) {
  *text = error == invalid_value ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_OF_THE_TEST";
  return success;
}
int cuGetErrorString(int, const char** text) { return *text = "of the test", success; }
int cuDeviceGetCount(int* count) { return *count = devices(), success; }
int cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= devices()) return invalid_device;
  return *device = ordinal, success;
}
int cuDeviceGetName(char* name, int length, int) {
  return std::snprintf(name, static_cast<std::size_t>(length), "a test's device"), success;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 16:
      *value = 132;
      break;
    case 75:
      *value = number_of("FAKE_MAJOR", 9);
      break;
    case 76:
      *value = number_of("FAKE_MINOR", 0);
      break;
    case 97:
      *value = 227 << 10;
      break;
    default:
      *value = 1 << 20;
  }
  return success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{1} << 34, success; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = &contexts[device], success; }
int cuCtxPushCurrent_v2(void* context) { return current.push_back(context), success; }
int cuCtxPopCurrent_v2(void** context) {
  if (current.empty()) return invalid_context;
  *context = current.back();
  return current.pop_back(), success;
}
int cuCtxGetCurrent(void** context) { return *context = current.empty() ? nullptr : current.back(), success; }
int cuCtxSynchronize() { return success; }
int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, unsigned long long address) {
  const int device = device_of(address);
  for (unsigned i = 0; i < count; ++i) {
    const int value = attributes[i] == 2 ? (device >= 0 ? 2 : 0) : (device >= 0 ? device : -2);
    std::memcpy(values[i], &value, sizeof(value));
  }
  return success;
}
int cuModuleLoadData(void** module, const void* image) {
  // A test's image is a text; real ones are no concern here. "refused" is one that this driver does not take.
  const char* const text = static_cast<const char*>(image);
  if (std::strncmp(text, "refused", 7) == 0 || loads >= number_of("FAKE_LOADS", 1 << 30)) return no_binary;
  const std::lock_guard lock(mutex);
  *module = &modules.emplace_back(text);
  ++loads;
  return success;
}
int cuModuleGetFunction(void** function, void* module, const char*) { return *function = module, success; }
/// Refuses what the real one refuses of elements of 2 bytes: addresses and strides that are no multiples of 16 bytes,
/// extents and boxes out of range, boxes wider than their swizzle.
int cuTensorMapEncodeTiled(void* map, int, unsigned axes, const void* address, const unsigned long long* extents,
                           const unsigned long long* strides, const unsigned* box, const unsigned* steps, int,
                           int swizzle, int, int) {
  if (axes < 1 || axes > fake_driver::most_axes || reinterpret_cast<std::uintptr_t>(address) % 16 != 0)
    return invalid_value;
  fake_driver::EncodedMap encoded{static_cast<const unsigned char*>(address), axes, {}, {}, {}, swizzle};
  for (unsigned i = 0; i < axes; ++i) {
    if (extents[i] < 1 || extents[i] > 1ull << 32 || box[i] < 1 || box[i] > 256 || steps[i] != 1) return invalid_value;
    encoded.extents[i] = extents[i], encoded.box[i] = box[i];
    if (i == 0) continue;
    if (strides[i - 1] % 16 != 0 || strides[i - 1] >= 1ull << 40) return invalid_value;
    encoded.strides[i - 1] = strides[i - 1];
  }
  if (swizzle < 1 || swizzle > 3 || box[0] * 2 > 16u << swizzle || box[0] * 2 % 16 != 0) return invalid_value;
  std::memset(map, 0, 128);
  std::memcpy(map, &encoded, sizeof(encoded));
  return success;
}
int cuFuncGetAttribute(int* value, int, void*) { return *value = 0, success; }
int cuFuncSetAttribute(void* function, int attribute, int value) {
  if (current_device() < 0) return invalid_context;
  if (attribute == 14 && value != 0) large_clusters = function;
  return success;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned shared_bytes, void*, void** parameters, void**) {
  return launch(function, blocks, 1, false, shared_bytes, parameters);
}
int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters, void**) {
  unsigned cluster = 1;
  bool early = false;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    if (config->attributes[i].id == 4) cluster = config->attributes[i].value[0];
    if (config->attributes[i].id == 6) early = config->attributes[i].value[0] != 0;
  }
  return launch(function, config->blocks, cluster, early, config->shared_bytes, parameters);
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  const int device = current_device();
  if (device < 0) return invalid_context;
  *address = reinterpret_cast<unsigned long long>(std::calloc(1, bytes));
  const std::lock_guard lock(mutex);
  memory[*address] = {bytes, device};
  return success;
}
int cuMemFree_v2(unsigned long long address) {
  const std::lock_guard lock(mutex);
  memory.erase(address);
  std::free(reinterpret_cast<void*>(address));
  return success;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), success;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void*) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), success;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, std::size_t bytes, void*) {
  return std::memset(reinterpret_cast<void*>(to), value, bytes), success;
}

// Memory at chosen addresses: what is reserved and not mapped cannot be touched here either.
int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) { return *bytes = 1 << 16, success; }
int cuMemAddressReserve(unsigned long long* address, std::size_t bytes, std::size_t, unsigned long long,
                        unsigned long long) {
  void* const reserved = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return *address = reinterpret_cast<unsigned long long>(reserved), reserved == MAP_FAILED ? invalid_value : success;
}
int cuMemAddressFree(unsigned long long address, std::size_t bytes) {
  return munmap(reinterpret_cast<void*>(address), bytes) == 0 ? success : invalid_value;
}
int cuMemCreate(unsigned long long* handle, std::size_t, const void*, unsigned long long) {
  return *handle = 1, success;
}
int cuMemRelease(unsigned long long) { return success; }
int cuMemMap(unsigned long long address, std::size_t bytes, std::size_t, unsigned long long, unsigned long long) {
  if (mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) != 0) return invalid_value;
  const std::lock_guard lock(mutex);
  memory[address] = {bytes, 0};
  return success;
}
int cuMemSetAccess(unsigned long long, std::size_t, const void*, std::size_t) { return success; }
int cuMemUnmap(unsigned long long address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  memory.erase(address);
  return mprotect(reinterpret_cast<void*>(address), bytes, PROT_NONE) == 0 ? success : invalid_value;
}
int cuMemHostAlloc(void** host, std::size_t bytes, unsigned) { return *host = std::malloc(bytes), success; }
int cuMemFreeHost(void* host) { return std::free(host), success; }
int cuStreamCreate(void** stream, unsigned) { return *stream = &stream_object, success; }
int cuStreamDestroy_v2(void*) { return success; }
int cuStreamSynchronize(void*) { return success; }
/// NVRTC asks a driver that it finds for this, and lives without.
int cuGetExportTable(const void**, const void*) { return not_found; }
int cuThreadExchangeStreamCaptureMode(int*) { return success; }

// What the bench asks for besides. An event is the time at which it was recorded, a graph the time that it takes.
int cuEventCreate(double** event, unsigned) { return *event = new double(0), success; }
int cuEventDestroy_v2(double* event) { return delete event, success; }
int cuEventRecord(double* event, void*) { return *event = clock_us, success; }
int cuEventSynchronize(double*) { return success; }
int cuEventElapsedTime(float* milliseconds, const double* start, const double* stop) {
  return *milliseconds = static_cast<float>((*stop - *start) * 1e-3), success;
}
int cuStreamBeginCapture_v2(void*, int) { return capturing = true, captured_us = 0, success; }
int cuStreamEndCapture(void*, double** graph) { return capturing = false, *graph = new double(captured_us), success; }
int cuGraphInstantiateWithFlags(double** exec, const double* graph, unsigned long long) {
  return *exec = new double(*graph), success;
}
int cuGraphLaunch(const double* exec, void*) { return spend(*exec), success; }
int cuGraphExecDestroy(double* exec) { return delete exec, success; }
int cuGraphDestroy(double* graph) { return delete graph, success; }
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void*) {
  constexpr std::size_t timed_alone = std::size_t{1} << 28;  // nobody looks at what so large a copy brings
  if (bytes < timed_alone) std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return spend(static_cast<double>(bytes) * 1e-6), success;
}
int cuMemAllocAsync(unsigned long long* address, std::size_t bytes, void*) {
  return number_of("FAKE_POOLS", 1) == 0 ? not_supported : cuMemAlloc_v2(address, bytes);
}
int cuMemFreeAsync(unsigned long long address, void*) { return cuMemFree_v2(address); }
int cuDeviceGetDefaultMemPool(void** pool, int) { return *pool = &stream_object, success; }
int cuMemPoolSetAttribute(void*, int, void*) { return success; }
int cuDeviceGetPCIBusId(char* text, int length, int) {
  return std::snprintf(text, static_cast<std::size_t>(length), "0000:00:00.0"), success;
}

}  // extern "C"
