#include "cuda/device.hpp"

#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "cuda/pack.hpp"

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

std::string DeviceDescription::architecture() const { return architectures_for(major, minor).front(); }

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
  const Context wanted = primary_context(ordinal);
  Context current = nullptr;
  check(driver().ctx_get_current(&current), "cuCtxGetCurrent");
  if (current == wanted) return;
  const Result result = driver().ctx_push_current(wanted);
  if (result != success) check(result, fmt::format("cuCtxPushCurrent(device {})", ordinal));
  pushed_ = true;
}
CurrentDevice::~CurrentDevice() {
  if (!pushed_) return;
  Context popped = nullptr;
  static_cast<void>(driver().ctx_pop_current(&popped));  // fails only without a context, and one was pushed
}

std::optional<int> device_of(const void* pointer) {
  constexpr PointerAttribute asked[] = {PointerAttribute::memory_type, PointerAttribute::device};
  constexpr Result invalid_value = 1, invalid_context = 201;  // memory that the driver did not give
  MemoryType type = MemoryType::unknown;
  int ordinal = 0;
  void* values[] = {&type, &ordinal};
  const Result result = driver().pointer_get_attributes(2, asked, values, reinterpret_cast<Address>(pointer));
  if (result == invalid_value || result == invalid_context) return std::nullopt;
  check(result, "cuPointerGetAttributes(memory type, device)");
  if (type == MemoryType::unknown || type == MemoryType::host) return std::nullopt;
  return ordinal;
}

}  // namespace tilewright::cuda
