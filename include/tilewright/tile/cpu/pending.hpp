// The last product of a sum, put off until somebody wants it: a store then rounds the sums on their way out of
// registers, and they never pass through the accumulator.
//
// A product that is put off reads A later than its program says: the launch has promised that A stays, and a store of
// the program itself that writes to A's memory has it done before.
// Its block of B is packed already. Start at Pending.
#pragma once

#include <algorithm>

#include <tilewright/tile/cpu/arena.hpp>
#include <tilewright/tile/cpu/kernels.hpp>

namespace tilewright::cpu {

/// The addresses from first up to last.
struct Extent {
  unsigned long long first = 0, last = ~0ull;  // any

  /// Of `rows` rows of `cols` contiguous elements of `size` bytes, `stride` elements apart.
  static Extent of(const void* base, i64 size, i64 rows, i64 stride, i64 cols) {
    using Address = unsigned long long;  // wraps: one row's stride may be anything
    const auto at = reinterpret_cast<Address>(base);
    const Address end = at + static_cast<Address>(rows - 1) * static_cast<Address>(stride) * static_cast<Address>(size);
    return {std::min(at, end), std::max(at, end) + static_cast<Address>(cols) * static_cast<Address>(size)};
  }
  bool meets(const Extent& other) const { return first < other.last && other.first < last; }
};

/// A product of one operand where it lies and a packed one, which is to be added to an accumulator or replaces it.
class Pending {
 public:
  /// acc += a * b_panel, or = if not add, as Kernels::multiply_direct_a has it.
  struct Product {
    const Kernels* kernels = nullptr;
    Operand a;
    const float* b_panel = nullptr;  // of the arena, which gets it back
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
    p.kernels->multiply_direct_a(p.a, p.b_panel, p.m, p.n, p.k, p.acc, p.ld, p.add);
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
    p.kernels->multiply_direct_a_to(p.a, p.b_panel, p.m, p.n, p.k, p.acc, p.ld, p.add, {base, type, block.row_stride});
    return true;
  }

  /// Has everything done that this thread has put off and that reads there.
  static void before_write(const Extent& memory) {
    for (Pending* it = newest_; it != nullptr;) {
      Pending* const older = it->older_;
      const Operand& a = it->product_.a;
      if (Extent::of(a.base, size_of(a.type), it->product_.m, a.strip_stride, it->product_.k).meets(memory))
        it->settle();
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
