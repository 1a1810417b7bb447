// See gpu_monitor.hpp.
#include "bench/gpu_monitor.hpp"

#include <stdexcept>

#include "bench/gpu_calls.hpp"
#include "measure/estimator.hpp"

namespace tilewright::bench {
namespace {

constexpr int sm_clock = 1, memory_clock = 2;  // nvmlClockType_t
constexpr unsigned long long power_cap = 4;    // nvmlClocksEventReasonSwPowerCap

}  // namespace

GpuMonitor::GpuMonitor(int ordinal) {
  try {
    open(ordinal);
  } catch (const std::runtime_error&) {
    device_ = nullptr;  // the record then says less
  }
}

void GpuMonitor::open(int ordinal) {
  const Library nvml("libnvidia-ml.so.1");
  if (nvml.get<int()>("nvmlInit_v2")() != 0) return;
  char text[96] = {};
  if (nvml.get<int(char*, unsigned)>("nvmlSystemGetDriverVersion")(text, sizeof text) == 0) driver_version_ = text;
  cuda::Device device = 0;
  cuda::check(cuda::driver().device_get(&device, ordinal), "cuDeviceGet");
  cuda::check(gpu_calls().device_get_pci_bus_id(text, sizeof text, device), "cuDeviceGetPCIBusId");
  void* handle = nullptr;
  if (nvml.get<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2")(text, &handle) != 0) return;
  unsigned milliwatts = 0;
  if (nvml.get<int(void*, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit")(handle, &milliwatts) == 0)
    power_limit_ = milliwatts * 1e-3;
  functions_ = {nvml.get<int(void*, int, unsigned*)>("nvmlDeviceGetClockInfo"),
                nvml.get<int(void*, unsigned*)>("nvmlDeviceGetPowerUsage"),
                nvml.get<int(void*, int, unsigned*)>("nvmlDeviceGetTemperature"),
                nvml.get<int(void*, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons")};
  device_ = handle;
}

void GpuMonitor::sample() {
  constexpr std::chrono::milliseconds apart(20);
  const auto now = std::chrono::steady_clock::now();
  if (device_ == nullptr || now - last_ < apart) return;
  last_ = now;
  unsigned value = 0;
  unsigned long long bits = 0;
  if (functions_.clock(device_, sm_clock, &value) == 0) sm_mhz_.push_back(value);
  if (functions_.clock(device_, memory_clock, &value) == 0) memory_mhz_.push_back(value);
  if (functions_.power(device_, &value) == 0) watts_.push_back(value * 1e-3);
  if (functions_.temperature(device_, 0, &value) == 0) celsius_.push_back(value);
  if (functions_.reasons(device_, &bits) == 0) capped_.push_back((bits & power_cap) != 0 ? 1 : 0);
}

std::vector<std::pair<std::string, double>> GpuMonitor::conditions() {
  std::vector<std::pair<std::string, double>> medians;
  const auto take = [&](const char* name, std::vector<double>& values) {
    if (!values.empty()) medians.emplace_back(name, measure::quantile(values, 0.5));
    values.clear();
  };
  take("sm_mhz", sm_mhz_);
  take("memory_mhz", memory_mhz_);
  take("watts", watts_);
  take("celsius", celsius_);
  double sum = 0;
  for (const double one : capped_) sum += one;
  if (!capped_.empty()) medians.emplace_back("power_capped", sum / static_cast<double>(capped_.size()));
  capped_.clear();
  return medians;
}

}  // namespace tilewright::bench
