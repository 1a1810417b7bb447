// The battery on a GPU: the operator's default plans on the shapes and layouts of the exact battery, with small whole
// numbers, whose sums FP32 holds exactly, compared bit for bit with integer arithmetic. The whole memory of an output
// is compared, so that a write outside of its view shows. It is what `tilewright check --target cuda` runs;
// tools/gpu_check.sh looks much closer.
#pragma once

#include <functional>

#include "check/battery.hpp"

namespace tilewright::exact {

struct DeviceBattery {
  i64 shapes = 0, layouts = 0, checks = 0, outputs = 0, failed = 0, different_failures = 0;
  std::vector<BatteryFailure> failures;  // the first few of the different ones; `kernel` holds types and plan
};
/// Every operand takes each layout on every shape; element types take turns. Throws Error: target, driver, kernel.
DeviceBattery run_device_battery(int device, const std::function<void(double done)>& progress = {});

}  // namespace tilewright::exact
