// The last product of a sum, put off until somebody wants it: a store then rounds the sums on their way out of
// registers, and they never pass through the accumulator.
//
// A product that is put off reads A and B later than its program says: the launch has promised that they stay, and a
// store of the program itself that writes to their memory has it done before. Start at Pending.
#pragma once

#include <algorithm>

#include <tilewright/tile/cpu/arena.hpp>
#include <tilewright/tile/cpu/kernels.hpp>

namespace tilewright::cpu {

/// The addresses from first up to last.
struct Extent {
  unsigned long long first = 0, last = ~0ull;  // any

  /// Of `rows` rows of `cols` elements of `size` bytes; strides in elements.
  static Extent of(const void* base, i64 size, i64 rows, i64 row_stride, i64 cols, i64 col_stride = 1) {
    const i64 down = rows > 1 ? (rows - 1) * row_stride : 0;  // one row's stride may be anything
    const i64 across = cols > 1 ? (cols - 1) * col_stride : 0;
    const auto at = reinterpret_cast<unsigned long long>(base);
    const auto bytes = [&](i64 elements) { return static_cast<unsigned long long>(elements * size); };
    return {at + bytes(std::min<i64>(down, 0) + std::min<i64>(across, 0)),
            at + bytes(std::max<i64>(down, 0) + std::max<i64>(across, 0) + 1)};
  }
  /// Of a plain operand.
  static Extent of(const Operand& x, int strips, int k) {
    return of(x.base, size_of(x.type), strips, x.strip_stride, k, x.k_stride);
  }
  bool meets(const Extent& other) const { return first < other.last && other.first < last; }
};

/// A product of plain operands, which is to be added to an accumulator or replaces it.
class Pending {
 public:
  /// acc += a * b, or = if not add, as Kernels::multiply_direct_a has it.
  struct Product {
    const Kernels* kernels = nullptr;
    Operand a, b;
    float* b_panel = nullptr;  // room for b packed: of the arena, which gets it back
    int m = 0, n = 0, k = 0;
    float* acc = nullptr;
    i64 ld = 0;
    bool add = false;
  };

  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { drop(); }

  /// Nothing else may be put off.
  void put_off(Arena& arena, const Product& product) {
    arena_ = &arena;
    product_ = product;
    older_ = newest_;
    newest_ = this;
  }
  /// Does what was put off.
  void settle() {
    if (arena_ == nullptr) return;
    const Product& p = product_;
    p.kernels->multiply_direct_a(p.a, p.b, p.b_panel, p.m, p.n, p.k, p.acc, p.ld, p.add);
    drop();
  }
  /// Nobody wants it any more.
  void drop() {
    if (arena_ == nullptr) return;
    arena_->give(product_.b_panel);
    arena_ = nullptr;
    Pending** at = &newest_;
    while (*at != this) at = &(*at)->older_;
    *at = older_;
  }
  /// Writes the sums, rounded, to a block that is just as large, and leaves the product put off. False if there is none
  /// or the block is another.
  bool store(void* base, DType type, const Block& block) const {
    if (arena_ == nullptr || block.row_offsets != nullptr || block.col_offsets != nullptr || block.col_stride != 1 ||
        block.row_begin != 0 || block.row_end != product_.m || block.col_begin != 0 || block.col_end != product_.n) {
      return false;
    }
    const Product& p = product_;
    p.kernels->multiply_direct_a_to(p.a, p.b, p.b_panel, p.m, p.n, p.k, p.acc, p.ld, p.add,
                                    {base, type, block.row_stride});
    return true;
  }

  /// Has everything done that this thread has put off and that reads there.
  static void before_write(const Extent& memory) {
    for (Pending* it = newest_; it != nullptr;) {
      Pending* const older = it->older_;
      const Product& p = it->product_;
      if (Extent::of(p.a, p.m, p.k).meets(memory) || Extent::of(p.b, p.n, p.k).meets(memory)) it->settle();
      it = older;
    }
  }

 private:
  static inline thread_local Pending* newest_ = nullptr;

  Arena* arena_ = nullptr;  // null: nothing is put off
  Product product_;
  Pending* older_ = nullptr;
};

}  // namespace tilewright::cpu
