// Matrices on a device, laid out in every way a caller may have them, in memory that reveals a stray access: a block
// lies flush against addresses that are reserved and not mapped, what surrounds it on the other side is poison (inputs)
// or a pattern that must still be there afterwards (outputs).
//
// The host holds a mirror of each block and its surroundings, in which the oracle's Cells address elements; it is
// copied to the device before a launch and back after it.
#pragma once

#include <string>
#include <vector>

#include <tilewright/view.hpp>
#include "cuda/device.hpp"
#include "tests/oracle/layouts.hpp"

namespace device_check {

using namespace tilewright;
using oracle::Cells;
using oracle::Edge;
using oracle::Type;

constexpr DType dtype(Type type) {
  return type == Type::f16 ? DType::f16 : type == Type::bf16 ? DType::bf16 : DType::f32;
}

/// The driver's calls for memory at chosen addresses; fixed layouts of its interface.
struct AllocationProperties {
  int type = 1;                         // pinned
  int handle_types = 0;                 // none
  int location_type = 1, location = 0;  // a device
  void* windows_data = nullptr;
  unsigned char compression = 0, rdma = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};
struct AccessDescriptor {
  int location_type = 1, location = 0;
  int flags = 3;  // read and write
};

/// Device memory between two unmapped ranges, each as long as the smallest that can be mapped.
class Region {
 public:
  explicit Region(i64 bytes, int device = 0);
  Region(Region&& other) noexcept { *this = std::move(other); }
  Region& operator=(Region&& other) noexcept;
  ~Region();
  cuda::Address begin() const { return base_ + static_cast<cuda::Address>(guard_); }
  i64 bytes() const { return bytes_; }

 private:
  cuda::Address base_ = 0;
  i64 bytes_ = 0, guard_ = 0;
  unsigned long long handle_ = 0;
};

/// A stream and the regions that one thread's cases use in turn.
struct Worker {
  cuda::Stream stream = nullptr;
  std::vector<Region> regions;
  std::vector<std::string> without;  // of plans that are left out, some part each
  explicit Worker(i64 region_bytes, int regions_of = 4);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();
  /// Throws Error driver if anything enqueued has failed.
  void wait() const;
};

/// Bytes of a region that cases multiply in.
inline constexpr i64 case_bytes = i64{16} << 20;

/// A named layout: oracle's, or rows a few elements further apart than they need be.
struct Layout {
  std::string name;
  oracle::Placement (*place)(i64 rows, i64 cols);
};
const std::vector<Layout>& input_layouts();
const std::vector<Layout>& output_layouts();

/// A matrix on the device and its mirror.
class Matrix {
 public:
  Matrix(Worker& worker, int region, Type type, i64 rows, i64 cols, const Layout& layout, Edge edge)
      : Matrix(worker, region, type, rows, cols, layout.place(rows, cols), layout.name, edge) {}
  Matrix(Worker& worker, int region, Type type, i64 rows, i64 cols, const oracle::Placement& placement,
         std::string layout, Edge edge);

  const Cells& cells() const { return cells_; }  // in the mirror
  MutableMatrixView view() const {
    return {reinterpret_cast<void*>(address_),
            dtype(cells_.type),
            cells_.rows,
            cells_.cols,
            cells_.row_stride,
            cells_.col_stride};
  }
  std::string describe() const;

  /// Poison around, elements by value; then to the device.
  template <class Element>
  void fill_input(const Element& element) {
    fill_input_bits([&](i64 i, i64 j) { return oracle::encode(cells_.type, element(i, j)); });
  }
  /// The same, elements by their bits.
  template <class Bits>
  void fill_input_bits(const Bits& bits) {
    poison(oracle::guard_bits(cells_.type), oracle::encode(cells_.type, std::numeric_limits<double>::infinity()));
    const i64 rows = cells_.row_stride == 0 ? std::min<i64>(cells_.rows, 1) : cells_.rows;
    const i64 cols = cells_.col_stride == 0 ? std::min<i64>(cells_.cols, 1) : cells_.cols;
    for (i64 i = 0; i < rows; ++i) {
      for (i64 j = 0; j < cols; ++j) cells_.set_bits(i, j, bits(i, j));
    }
    upload();
  }
  void fill_output();
  void fill_output_zeros();
  void upload();
  void download();
  /// Cells of the mirror outside of the matrix that no longer hold their pattern.
  i64 overwritten_guards() const;

 private:
  void poison(std::uint32_t first, std::uint32_t second);
  i64 size() const { return oracle::format(cells_.type).bytes; }

  Worker* worker_;
  std::vector<std::byte> mirror_;
  cuda::Address mirrored_ = 0;  // the mirror's first byte on the device
  cuda::Address address_ = 0;   // of element (0, 0)
  Cells cells_;
  std::string layout_;
  Edge edge_;
};

}  // namespace device_check
