// What the bench calls of the CUDA driver beyond the library itself: streams, events, graphs and copies.
#pragma once

#include "cuda/device.hpp"

namespace tilewright::bench {

/// The names are the driver's without `cu`. check() of cuda/driver.hpp makes an error of a result.
struct GpuCalls {
  cuda::Result (*stream_create)(cuda::Stream* stream, unsigned flags);
  cuda::Result (*stream_destroy)(cuda::Stream stream);
  cuda::Result (*event_create)(cuda::Event* event, unsigned flags);
  cuda::Result (*event_destroy)(cuda::Event event);
  cuda::Result (*event_record)(cuda::Event event, cuda::Stream stream);
  cuda::Result (*event_synchronize)(cuda::Event event);
  cuda::Result (*event_elapsed_time)(float* milliseconds, cuda::Event start, cuda::Event stop);
  cuda::Result (*stream_begin_capture)(cuda::Stream stream, cuda::CaptureMode mode);
  cuda::Result (*stream_end_capture)(cuda::Stream stream, cuda::Graph* graph);
  cuda::Result (*graph_instantiate)(cuda::GraphExec* exec, cuda::Graph graph, unsigned long long flags);
  cuda::Result (*graph_launch)(cuda::GraphExec exec, cuda::Stream stream);
  cuda::Result (*graph_exec_destroy)(cuda::GraphExec exec);
  cuda::Result (*graph_destroy)(cuda::Graph graph);
  cuda::Result (*memcpy_dtod_async)(cuda::Address to, cuda::Address from, std::size_t bytes, cuda::Stream stream);
  cuda::Result (*mem_alloc_async)(cuda::Address* address, std::size_t bytes, cuda::Stream stream);
  cuda::Result (*mem_free_async)(cuda::Address address, cuda::Stream stream);
  cuda::Result (*device_get_default_mem_pool)(void** pool, cuda::Device device);
  cuda::Result (*mem_pool_set_attribute)(void* pool, int attribute, void* value);
  cuda::Result (*device_get_pci_bus_id)(char* text, int length, cuda::Device device);
};

/// Throws Error target where the driver is unavailable or too old.
const GpuCalls& gpu_calls();

}  // namespace tilewright::bench
