#include "cuda/device.hpp"

#include <deque>
#include <mutex>

#include <fmt/format.h>

namespace tilewright::cuda {
namespace {

int attribute(Device device, DeviceAttribute which) {
  int value = 0;
  check(driver().device_get_attribute(&value, which, device),
        fmt::format("cuDeviceGetAttribute({}, device {})", static_cast<int>(which), device));
  return value;
}

/// What is known of one device, found out at its first use.
struct Entry {
  std::once_flag described, retained;
  DeviceDescription description;
  Context context = nullptr;
};

Entry& entry(int ordinal) {
  static std::deque<Entry> entries(static_cast<std::size_t>(device_count()));
  if (ordinal < 0 || ordinal >= static_cast<int>(entries.size())) {
    throw Error(ErrorCode::problem, fmt::format("device {}: there are {} devices, numbered from 0; give one of them",
                                                ordinal, entries.size()));
  }
  return entries[static_cast<std::size_t>(ordinal)];
}

DeviceDescription read_description(int ordinal) {
  const Driver& d = driver();
  Device device = 0;
  check(d.device_get(&device, ordinal), fmt::format("cuDeviceGet({})", ordinal));
  DeviceDescription result;
  result.ordinal = ordinal;
  char name[256] = {};
  check(d.device_get_name(name, sizeof(name), device), fmt::format("cuDeviceGetName(device {})", ordinal));
  result.name = name;
  result.major = attribute(device, DeviceAttribute::major);
  result.minor = attribute(device, DeviceAttribute::minor);
  result.multiprocessors = attribute(device, DeviceAttribute::multiprocessors);
  result.shared_bytes = attribute(device, DeviceAttribute::shared_bytes_per_block_opt_in);
  result.l2_bytes = attribute(device, DeviceAttribute::l2_bytes);
  std::size_t bytes = 0;
  check(d.device_total_mem(&bytes, device), fmt::format("cuDeviceTotalMem(device {})", ordinal));
  result.memory_bytes = static_cast<i64>(bytes);
  return result;
}

/// The primary context, held until the process ends: the caller's libraries share it.
Context primary_context(int ordinal) {
  Entry& e = entry(ordinal);
  std::call_once(e.retained, [&] {
    Device device = 0;
    check(driver().device_get(&device, ordinal), fmt::format("cuDeviceGet({})", ordinal));
    check(driver().primary_ctx_retain(&e.context, device), fmt::format("cuDevicePrimaryCtxRetain(device {})", ordinal));
  });
  return e.context;
}

}  // namespace

std::string DeviceDescription::architecture() const {
  return fmt::format("sm_{}{}{}", major, minor, major == 9 && minor == 0 ? "a" : "");
}

int device_count() {
  int count = 0;
  check(driver().device_get_count(&count), "cuDeviceGetCount");
  return count;
}

const DeviceDescription& describe(int ordinal) {
  Entry& e = entry(ordinal);
  std::call_once(e.described, [&] { e.description = read_description(ordinal); });
  return e.description;
}

CurrentDevice::CurrentDevice(int ordinal) {
  check(driver().ctx_push_current(primary_context(ordinal)), fmt::format("cuCtxPushCurrent(device {})", ordinal));
}
CurrentDevice::~CurrentDevice() {
  Context popped = nullptr;
  static_cast<void>(driver().ctx_pop_current(&popped));  // fails only without a context, and one was pushed
}

std::optional<int> device_of(const void* pointer) {
  const Driver& d = driver();
  const auto address = reinterpret_cast<Address>(pointer);
  constexpr Result unknown_pointer = 1;  // CUDA_ERROR_INVALID_VALUE: memory that the driver did not give
  MemoryType type{};
  const Result result = d.pointer_get_attribute(&type, PointerAttribute::memory_type, address);
  if (result == unknown_pointer) return std::nullopt;
  check(result, "cuPointerGetAttribute(memory type)");
  if (type == MemoryType::host) return std::nullopt;
  int ordinal = 0;
  check(d.pointer_get_attribute(&ordinal, PointerAttribute::device, address), "cuPointerGetAttribute(device)");
  return ordinal;
}

}  // namespace tilewright::cuda
