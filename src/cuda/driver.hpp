// The CUDA driver, opened at run time: the declarations of what Tilewright calls of it, and nothing of CUDA to build.
//
// A machine without the driver, or without a device, runs everything else; driver_or_reason() says why. Calls go
// through `check`, so that none is unchecked: an error carries the driver's name of it, its words and the call. Start
// at driver().
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tilewright/error.hpp>
#include <tilewright/tile/element.hpp>

namespace tilewright::cuda {

using Result = int;
using Device = int;
using Address = unsigned long long;  // of device memory
struct ContextTag;
struct ModuleTag;
struct FunctionTag;
struct StreamTag;
struct EventTag;
struct GraphTag;
struct GraphExecTag;
using Context = ContextTag*;
using Module = ModuleTag*;
using Function = FunctionTag*;
using Stream = StreamTag*;
using Event = EventTag*;
using Graph = GraphTag*;
using GraphExec = GraphExecTag*;

inline constexpr Result success = 0;

// Numbers of the driver's interface that are used here; they are fixed for all versions.
enum class DeviceAttribute : int {
  shared_bytes_per_block = 8,
  multiprocessors = 16,
  l2_bytes = 38,
  major = 75,
  minor = 76,
  shared_bytes_per_multiprocessor = 81,
  registers_per_multiprocessor = 82,
  shared_bytes_per_block_opt_in = 97,
};
enum class FunctionAttribute : int {
  most_threads = 0,
  static_shared_bytes = 1,
  local_bytes = 3,
  registers = 4,
  most_dynamic_shared_bytes = 8,
  any_cluster_size = 14,
};
enum class PointerAttribute : int { memory_type = 2, device = 9 };
enum class MemoryType : unsigned int { unknown = 0, host = 1, device = 2, array = 3, unified = 4 };
enum class CaptureMode : int { global = 0, thread_local_ = 1, relaxed = 2 };

/// A launch in clusters of blocks, or one that may begin beside the kernel before it, as the driver's interface has
/// them.
struct LaunchAttribute {
  enum class Id : int { cluster_dimension = 4, programmatic_stream_serialization = 6 } id;
  alignas(8) unsigned value[16];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// The entry points, by their names in the driver's interface without the prefix `cu`.
struct Driver {
  Result (*init)(unsigned flags);
  Result (*driver_get_version)(int* version);
  Result (*get_error_name)(Result error, const char** text);
  Result (*get_error_string)(Result error, const char** text);
  Result (*device_get_count)(int* count);
  Result (*device_get)(Device* device, int ordinal);
  Result (*device_get_name)(char* name, int length, Device device);
  Result (*device_get_attribute)(int* value, DeviceAttribute attribute, Device device);
  Result (*device_total_mem)(std::size_t* bytes, Device device);
  Result (*primary_ctx_retain)(Context* context, Device device);
  Result (*ctx_push_current)(Context context);
  Result (*ctx_pop_current)(Context* context);
  Result (*ctx_get_current)(Context* context);
  Result (*ctx_synchronize)();
  Result (*pointer_get_attributes)(unsigned count, const PointerAttribute* attributes, void** values, Address pointer);
  Result (*module_load_data)(Module* module, const void* image);
  Result (*module_get_function)(Function* function, Module module, const char* name);
  /// Null where the driver is older than compute capability 9.0.
  Result (*tensor_map_encode_tiled)(void* map, int type, unsigned rank, const void* address,
                                    const unsigned long long* extents, const unsigned long long* strides,
                                    const unsigned* box, const unsigned* steps, int interleave, int swizzle,
                                    int promotion, int fill);
  Result (*func_get_attribute)(int* value, FunctionAttribute attribute, Function function);
  Result (*func_set_attribute)(Function function, FunctionAttribute attribute, int value);
  Result (*launch_kernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters,
                          void** extra);
  /// Null where the driver is older than compute capability 9.0.
  Result (*launch_kernel_ex)(const LaunchConfig* config, Function function, void** parameters, void** extra);
  Result (*mem_alloc)(Address* address, std::size_t bytes);
  Result (*mem_free)(Address address);
  Result (*mem_host_alloc)(void** address, std::size_t bytes, unsigned flags);
  Result (*mem_free_host)(void* address);
  /// Null where the driver is older than CUDA 11.2.
  Result (*mem_alloc_async)(Address* address, std::size_t bytes, Stream stream);
  Result (*mem_free_async)(Address address, Stream stream);
  Result (*memcpy_htod_async)(Address to, const void* from, std::size_t bytes, Stream stream);
  Result (*memcpy_dtoh_async)(void* to, Address from, std::size_t bytes, Stream stream);
  Result (*memset_d8_async)(Address to, unsigned char value, std::size_t bytes, Stream stream);
  Result (*stream_create)(Stream* stream, unsigned flags);
  Result (*stream_destroy)(Stream stream);
  Result (*stream_synchronize)(Stream stream);
  Result (*thread_exchange_stream_capture_mode)(CaptureMode* mode);
};

/// The driver, with at least one device. Throws Error target with the reason where it is unavailable.
const Driver& driver();
/// The same without an exception: null, and then why `cuda` is unavailable.
struct DriverOrReason {
  const Driver* driver = nullptr;
  std::string reason;
};
const DriverOrReason& driver_or_reason();

/// Whether this process has the driver loaded: without it, no memory is a device's. Loads nothing.
bool driver_in_use();

/// An entry point that is not in the table above, for tests and tools. Throws Error target if the driver lacks it.
void* driver_symbol(const char* name);

/// "CUDA_ERROR_INVALID_VALUE (invalid argument)".
std::string words_of(Result result);

/// Throws Error driver unless the result is success. call: what was called, with its values.
void check(Result result, std::string_view call);

}  // namespace tilewright::cuda
