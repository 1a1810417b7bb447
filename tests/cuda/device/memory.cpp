#include "tests/cuda/device/memory.hpp"

#include <fmt/format.h>

namespace device_check {
namespace {

template <class F>
F symbol(const char* name) {
  return reinterpret_cast<F>(cuda::driver_symbol(name));
}

const auto reserve = [] {
  return symbol<int (*)(cuda::Address*, std::size_t, std::size_t, cuda::Address, unsigned long long)>(
      "cuMemAddressReserve");
};

constexpr i64 margin = 4096;  // bytes around a block that are watched

template <i64 More>
oracle::Placement padded(i64, i64 cols) {
  return {cols + More, 1};
}

/// Fills in origin and span of strides that are positive.
template <i64 More>
oracle::Placement row_padded(i64 rows, i64 cols) {
  oracle::Placement p = padded<More>(rows, cols);
  if (rows > 0 && cols > 0) p.span = (rows - 1) * p.row_stride + cols;
  return p;
}

template <oracle::Layout L>
oracle::Placement known(i64 rows, i64 cols) {
  return oracle::place(L, rows, cols);
}

}  // namespace

Region::Region(i64 bytes, int device) {
  AllocationProperties properties;
  properties.location = device;
  std::size_t granularity = 0;
  cuda::check(symbol<int (*)(std::size_t*, const AllocationProperties*, int)>("cuMemGetAllocationGranularity")(
                  &granularity, &properties, 0),
              "cuMemGetAllocationGranularity");
  guard_ = static_cast<i64>(granularity);
  bytes_ = (bytes + guard_ - 1) / guard_ * guard_;
  const auto size = static_cast<std::size_t>(bytes_);
  cuda::check(reserve()(&base_, size + 2 * granularity, 0, 0, 0), "cuMemAddressReserve");
  cuda::check(symbol<int (*)(unsigned long long*, std::size_t, const AllocationProperties*, unsigned long long)>(
                  "cuMemCreate")(&handle_, size, &properties, 0),
              fmt::format("cuMemCreate({} bytes)", size));
  cuda::check(symbol<int (*)(cuda::Address, std::size_t, std::size_t, unsigned long long, unsigned long long)>(
                  "cuMemMap")(begin(), size, 0, handle_, 0),
              "cuMemMap");
  AccessDescriptor access;
  access.location = device;
  cuda::check(symbol<int (*)(cuda::Address, std::size_t, const AccessDescriptor*, std::size_t)>("cuMemSetAccess")(
                  begin(), size, &access, 1),
              "cuMemSetAccess");
}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(guard_, other.guard_);
  std::swap(handle_, other.handle_);
  return *this;
}

Region::~Region() {
  if (base_ == 0) return;
  const auto size = static_cast<std::size_t>(bytes_);
  symbol<int (*)(cuda::Address, std::size_t)>("cuMemUnmap")(begin(), size);
  symbol<int (*)(unsigned long long)>("cuMemRelease")(handle_);
  symbol<int (*)(cuda::Address, std::size_t)>("cuMemAddressFree")(base_, size + 2 * static_cast<std::size_t>(guard_));
}

Worker::Worker(i64 region_bytes, int regions_of) {
  const cuda::CurrentDevice current(0);
  cuda::check(symbol<int (*)(cuda::Stream*, unsigned)>("cuStreamCreate")(&stream, 1), "cuStreamCreate");
  for (int i = 0; i < regions_of; ++i) regions.emplace_back(region_bytes);
}
Worker::~Worker() {
  const cuda::CurrentDevice current(0);
  static_cast<void>(cuda::driver().stream_synchronize(stream));  // what still runs must not lose its memory
  symbol<int (*)(cuda::Stream)>("cuStreamDestroy_v2")(stream);
  regions.clear();
}
void Worker::wait() const {
  const cuda::CurrentDevice current(0);
  cuda::check(cuda::driver().stream_synchronize(stream), "cuStreamSynchronize");
}

const std::vector<Layout>& output_layouts() {
  using L = oracle::Layout;
  static const std::vector<Layout> layouts = {
      {"packed", known<L::packed>},
      {"ld+1", known<L::ld_plus_1>},
      {"ld+2", row_padded<2>},
      {"ld+4", row_padded<4>},
      {"ld+8", known<L::ld_plus_8>},
      {"transposed", known<L::transposed>},
      {"transposed ld+1", known<L::transposed_plus_1>},
      {"sliced (2,3)", known<L::sliced>},
      {"base off by one", known<L::off_by_one>},
      {"rows flipped", known<L::flipped_rows>},
      {"columns flipped", known<L::flipped_cols>},
      {"transposed and flipped", known<L::transposed_flipped>},
  };
  return layouts;
}
const std::vector<Layout>& input_layouts() {
  using L = oracle::Layout;
  static const std::vector<Layout> layouts = [] {
    std::vector<Layout> all = output_layouts();
    all.push_back({"rows broadcast", known<L::broadcast_rows>});
    all.push_back({"columns broadcast", known<L::broadcast_cols>});
    all.push_back({"one element broadcast", known<L::broadcast_both>});
    all.push_back({"every second of a row", [](i64 rows, i64 cols) {
                     return oracle::spanned({2 * cols + 1, 2}, rows, cols, 1);
                   }});
    all.push_back({"every second of a column", [](i64 rows, i64 cols) {
                     return oracle::spanned({2, 2 * rows + 3}, rows, cols, 0);
                   }});
    return all;
  }();
  return layouts;
}

Matrix::Matrix(Worker& worker, int region, Type type, i64 rows, i64 cols, const oracle::Placement& p,
               std::string layout, Edge edge)
    : worker_(&worker), layout_(std::move(layout)), edge_(edge) {
  const i64 element = oracle::format(type).bytes, block = p.span * element;
  const Region& memory = worker.regions[static_cast<std::size_t>(region)];
  if (block + margin > memory.bytes()) {
    throw std::logic_error(fmt::format("a block of {} bytes in a region of {}", block, memory.bytes()));
  }
  mirror_.resize(static_cast<std::size_t>(block + margin));
  const i64 first = edge == Edge::end ? margin : 0;  // of the block in the mirror
  mirrored_ = memory.begin() + static_cast<cuda::Address>(edge == Edge::end ? memory.bytes() - block - margin : 0);
  cells_ = {mirror_.data() + first + p.origin * element, type, rows, cols, p.row_stride, p.col_stride};
  address_ = mirrored_ + static_cast<cuda::Address>(first + p.origin * element);
}

std::string Matrix::describe() const {
  return fmt::format("{} {}x{} {}, strides ({}, {}), {} at an unmapped page", oracle::format(cells_.type).name,
                     cells_.rows, cells_.cols, layout_, cells_.row_stride, cells_.col_stride,
                     edge_ == Edge::end ? "ends" : "begins");
}

void Matrix::poison(std::uint32_t first, std::uint32_t second) {
  const auto step = static_cast<std::size_t>(size());
  for (std::size_t at = 0, n = 0; at + step <= mirror_.size(); at += step, ++n) {
    Cells::keep(&mirror_[at], cells_.type, n % 2 == 0 ? first : second);
  }
}
void Matrix::fill_output() {
  const std::uint32_t guard = oracle::guard_bits(cells_.type);
  poison(guard, guard);
  for (i64 i = 0; i < cells_.rows; ++i) {
    for (i64 j = 0; j < cells_.cols; ++j) cells_.set_bits(i, j, oracle::untouched_bits(cells_.type));
  }
  upload();
}
void Matrix::fill_output_zeros() {
  const std::uint32_t guard = oracle::guard_bits(cells_.type);
  poison(guard, guard);
  for (i64 i = 0; i < cells_.rows; ++i) {
    for (i64 j = 0; j < cells_.cols; ++j) cells_.set_bits(i, j, 0);
  }
  upload();
}
void Matrix::upload() {
  const cuda::CurrentDevice current(0);
  cuda::check(cuda::driver().memcpy_htod_async(mirrored_, mirror_.data(), mirror_.size(), worker_->stream),
              "cuMemcpyHtoDAsync");
}
void Matrix::download() {
  const cuda::CurrentDevice current(0);
  cuda::check(cuda::driver().memcpy_dtoh_async(mirror_.data(), mirrored_, mirror_.size(), worker_->stream),
              "cuMemcpyDtoHAsync");
  worker_->wait();
}
i64 Matrix::overwritten_guards() const {
  const auto step = static_cast<std::size_t>(size());
  const i64 before = (cells_.base - mirror_.data()) / size();
  std::vector<bool> own(mirror_.size() / step, false);
  for (i64 i = 0; i < cells_.rows; ++i) {
    for (i64 j = 0; j < cells_.cols; ++j) {
      own[static_cast<std::size_t>(before + i * cells_.row_stride + j * cells_.col_stride)] = true;
    }
  }
  i64 wrong = 0;
  for (std::size_t n = 0; n < own.size(); ++n) {
    wrong += !own[n] && Cells::load(&mirror_[n * step], cells_.type) != oracle::guard_bits(cells_.type);
  }
  return wrong;
}

}  // namespace device_check
