// See gpu_calls.hpp.
#include "bench/gpu_calls.hpp"

namespace tilewright::bench {
namespace {

template <class F>
void find(F& function, const char* name) {
  function = reinterpret_cast<F>(cuda::driver_symbol(name));
}

GpuCalls found() {
  GpuCalls calls{};
  find(calls.stream_create, "cuStreamCreate");
  find(calls.stream_destroy, "cuStreamDestroy_v2");
  find(calls.event_create, "cuEventCreate");
  find(calls.event_destroy, "cuEventDestroy_v2");
  find(calls.event_record, "cuEventRecord");
  find(calls.event_synchronize, "cuEventSynchronize");
  find(calls.event_elapsed_time, "cuEventElapsedTime");
  find(calls.stream_begin_capture, "cuStreamBeginCapture_v2");
  find(calls.stream_end_capture, "cuStreamEndCapture");
  find(calls.graph_instantiate, "cuGraphInstantiateWithFlags");
  find(calls.graph_launch, "cuGraphLaunch");
  find(calls.graph_exec_destroy, "cuGraphExecDestroy");
  find(calls.graph_destroy, "cuGraphDestroy");
  find(calls.memcpy_dtod_async, "cuMemcpyDtoDAsync_v2");
  find(calls.mem_alloc_async, "cuMemAllocAsync");
  find(calls.mem_free_async, "cuMemFreeAsync");
  find(calls.device_get_default_mem_pool, "cuDeviceGetDefaultMemPool");
  find(calls.mem_pool_set_attribute, "cuMemPoolSetAttribute");
  find(calls.device_get_pci_bus_id, "cuDeviceGetPCIBusId");
  return calls;
}

}  // namespace

const GpuCalls& gpu_calls() {
  static const GpuCalls calls = found();
  return calls;
}

}  // namespace tilewright::bench
