#include "check/device_battery.hpp"

#include <cstring>

#include <fmt/format.h>

#include <tilewright/gemm.hpp>
#include "cuda/memory.hpp"

namespace tilewright::exact {
namespace {

/// Whole numbers so small that each is exact in every element type.
i64 whole(i64 seed, i64 i, i64 j) { return (i * 7 + j * 5 + i * j + seed) % 7 - 3; }

void write_element(std::byte* at, DType type, float value) {
  const auto put = [&](auto element) { std::memcpy(at, &element, sizeof(element)); };
  if (type == DType::f16) return put(to_f16(value));
  if (type == DType::bf16) return put(to_bf16(value));
  put(value);
}
float read_element(const std::byte* at, DType type) {
  const auto get = [&](auto element) {
    std::memcpy(&element, at, sizeof(element));
    return to_float(element);
  };
  return type == DType::f16 ? get(f16{}) : type == DType::bf16 ? get(bf16{}) : get(0.0f);
}

/// An operand with its memory on the host and on the device. All bytes are set at first, which makes NaN of any type.
struct Twin {
  Operand operand;
  std::vector<std::byte> host;
  cuda::Buffer buffer;

  Twin(int device, Operand placed)
      : operand(std::move(placed)),
        host(static_cast<std::size_t>(operand.buffer.bytes), std::byte{0xff}),
        buffer(device, operand.buffer.bytes) {}

  MutableMatrixView on_device() const {
    MutableMatrixView view = operand.view;
    view.data = buffer.data() + offset(0, 0);
    return view;
  }
  i64 offset(i64 i, i64 j) const {
    const MutableMatrixView& view = operand.view;
    const i64 base = static_cast<const std::byte*>(view.data) - static_cast<const std::byte*>(operand.buffer.base);
    return base + (i * view.row_stride + j * view.col_stride) * size_of(view.type);
  }
  template <class Value>
  void fill(const Value& value) {
    for (i64 i = 0; i < operand.view.rows; ++i) {
      for (i64 j = 0; j < operand.view.cols; ++j)
        write_element(host.data() + offset(i, j), operand.view.type, static_cast<float>(value(i, j)));
    }
  }
};

struct Types {
  DType in, out;
};
constexpr Types types[] = {{DType::f16, DType::f16},  {DType::bf16, DType::bf16}, {DType::f16, DType::f32},
                           {DType::f32, DType::f32},  {DType::bf16, DType::f32},  {DType::f16, DType::bf16},
                           {DType::bf16, DType::f16}, {DType::f32, DType::f16},   {DType::f32, DType::bf16}};

/// What is wrong with the output's memory after a multiplication; empty if nothing is.
std::string difference(const Twin& c, const std::vector<std::byte>& got) {
  if (got == c.host) return {};
  const MutableMatrixView& view = c.operand.view;
  const auto size = static_cast<std::size_t>(size_of(view.type));
  for (i64 i = 0; i < view.rows; ++i) {
    for (i64 j = 0; j < view.cols; ++j) {
      const i64 at = c.offset(i, j);
      if (std::memcmp(got.data() + at, c.host.data() + at, size) == 0) continue;
      return fmt::format("C[{},{}] is {}, must be {}", i, j, read_element(got.data() + at, view.type),
                         read_element(c.host.data() + at, view.type));
    }
  }
  return "memory outside of C was written";
}

/// One multiplication. The plan goes to `plan`.
std::string check_one(int device, cuda::Copier& copier, const Shape& s, const LayoutChoice& layout, const Types& t,
                      std::string& plan) {
  Twin a(device, place("a", Role::input, layout.a, s.m, s.k, t.in, 0));
  Twin b(device, place("b", Role::input, layout.b, s.k, s.n, t.in, 1));
  Twin c(device, place("c", Role::output, layout.c, s.m, s.n, t.out, 2));
  a.fill([](i64 i, i64 k) { return whole(1, i, k); });
  b.fill([](i64 k, i64 j) { return whole(2, k, j); });
  for (const Twin* const twin : {&a, &b, &c})
    copier.upload(twin->buffer.data(), twin->host.data(), twin->buffer.bytes());
  plan = to_string(plan_for(a.on_device(), b.on_device(), c.on_device()).plan);
  gemm_into(a.on_device(), b.on_device(), c.on_device());
  c.fill([&](i64 i, i64 j) {
    i64 sum = 0;
    for (i64 k = 0; k < s.k; ++k) sum += whole(1, i, k) * whole(2, k, j);
    return sum;
  });
  cuda::wait_for(device);
  std::vector<std::byte> got(c.host.size());
  copier.download(got.data(), c.buffer.data(), c.buffer.bytes());
  return difference(c, got);
}

}  // namespace

DeviceBattery run_device_battery(int device, const std::function<void(double)>& progress) {
  DeviceBattery result;
  Failures failures;
  const std::span<const Shape> shapes = battery_shapes();
  result.shapes = static_cast<i64>(shapes.size());
  result.layouts = static_cast<i64>(layouts.size());
  cuda::Copier copier(device);
  std::size_t number = 0;
  for (const Shape& shape : shapes) {
    for (std::size_t i = 0; i < layouts.size(); ++i, ++number) {
      const std::size_t at = number / layouts.size();
      const LayoutChoice layout{layouts[i], layouts[(3 * i + at) % 8], layouts[(5 * i + 1) % 8]};
      const Types& t = types[number % std::size(types)];
      std::string plan;
      const std::string wrong = check_one(device, copier, shape, layout, t, plan);
      result.checks += 1;
      result.outputs += shape.m * shape.n;
      if (wrong.empty()) continue;
      result.failed += 1;
      failures.add(static_cast<i64>(number),
                   {fmt::format("{} to {}, {}", name_of(t.in), name_of(t.out), plan), shape, layout, wrong});
    }
    if (progress) progress(static_cast<double>(number) / static_cast<double>(shapes.size() * layouts.size()));
  }
  result.different_failures = failures.different();
  result.failures = failures.first(most_failures_told);
  return result;
}

}  // namespace tilewright::exact
