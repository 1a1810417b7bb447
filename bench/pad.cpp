// The peer `pad`: what a careful user does today about odd leading dimensions. Operands whose rows are not aligned to 16
// bytes are copied into memory where they are, cuBLASLt multiplies, and C is copied back; each call copies. The padded
// memory is there before: only its copies are timed.
//
// Two ways. One rounds M, N and K up to multiples of 8 and copies every operand that grows; the other keeps the extents
// and rounds leading dimensions only, so it copies less.
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "bench/cublas.hpp"
#include "bench/gpu.hpp"
#include "bench/peers.hpp"
#include "cuda/row_copy.hpp"

namespace tilewright::bench {
namespace {

constexpr i64 multiple = 8;  // elements: 16 bytes of a half precision
constexpr i64 rounded_up(i64 extent) { return cdiv(extent, multiple) * multiple; }

/// An operand as it is stored: rows of unit stride.
struct Rows {
  i64 rows, cols, ld;
};
Rows rows_of(const MatrixView& view) {
  return view.col_stride == 1 ? Rows{view.rows, view.cols, view.row_stride}
                              : Rows{view.cols, view.rows, view.col_stride};
}

/// Whether all rows begin at multiples of 16 bytes.
bool aligned(const MatrixView& view) {
  return reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 && rows_of(view).ld * size_of(view.type) % 16 == 0;
}

/// One operand of a way: the padded memory it is copied to or from, or none where it is used as it lies.
struct Operand {
  Rows stored{}, padded{};
  std::unique_ptr<cuda::Buffer> memory;

  const void* place(const void* own) const { return memory ? memory->data() : own; }
  i64 ld() const { return memory ? padded.ld : stored.ld; }
};

/// The operand, padded if its rows are not aligned or if it has grown to `rows` x `cols`.
Operand padded_operand(const MatrixView& view, i64 rows, i64 cols, int device) {
  Operand operand;
  operand.stored = rows_of(view);
  const bool by_rows = view.col_stride == 1;
  operand.padded = {by_rows ? rows : cols, by_rows ? cols : rows, rounded_up(by_rows ? cols : rows)};
  const bool grown = operand.padded.rows != operand.stored.rows || operand.padded.cols != operand.stored.cols;
  if (!grown && aligned(view)) return operand;
  const i64 bytes = operand.padded.rows * operand.padded.ld * size_of(view.type);
  operand.memory = std::make_unique<cuda::Buffer>(device, bytes);
  // What lies beyond the stored part is zero from the start and stays so.
  const auto address = reinterpret_cast<cuda::Address>(operand.memory->data());
  cuda::check(cuda::driver().memset_d8_async(address, 0, static_cast<std::size_t>(bytes), nullptr), "cuMemsetD8Async");
  cuda::wait_for(device);
  return operand;
}

/// A product with padded operands.
struct Padded {
  cuda::RowCopy copy;
  DType type;
  Operand a, b, c;
  std::shared_ptr<const LtProduct> product;

  Padded(int device, DType elements) : copy(device, size_of(elements)), type(elements) {}

  void enqueue(const Lt& lt, const LtProduct::Algorithm& algorithm, const Job& set, cuda::Stream stream) const {
    const auto in = [&](const Operand& operand, const void* data) {
      const auto& [rows, cols, ld] = operand.stored;
      if (operand.memory)
        copy.enqueue({data, type, rows, cols, ld, 1}, operand.memory->data(), operand.padded.ld, stream);
    };
    in(a, set.a.data);
    in(b, set.b.data);
    product->enqueue(algorithm, a.place(set.a.data), b.place(set.b.data), const_cast<void*>(c.place(set.c.data)),
                     lt.workspace(), stream);
    if (c.memory)
      copy.enqueue({c.memory->data(), type, c.stored.rows, c.stored.cols, c.padded.ld, 1}, set.c.data, c.stored.ld,
                   stream);
  }
};

class Pad : public Peer {
 public:
  std::string name() const override { return "pad"; }
  std::string version() const override { return "copies around cuBLASLt " + lt_.version(); }
  std::string file() const override { return lt_.file(); }
  std::string no_way() const override { return "no operand needs padding"; }

  std::vector<Way> ways(const Job& job) override {
    const auto forms = cublas::forms_of(job);
    const bool all_aligned = aligned(job.a) && aligned(job.b) && aligned(job.c);
    if (!forms || all_aligned) return {};
    std::vector<Way> ways;
    add_ways("extents", rounded_up(job.c.rows), rounded_up(job.c.cols), rounded_up(job.a.cols), job, *forms, ways);
    const bool grows = job.c.rows % multiple != 0 || job.c.cols % multiple != 0 || job.a.cols % multiple != 0;
    if (grows) add_ways("leading dimensions", job.c.rows, job.c.cols, job.a.cols, job, *forms, ways);
    return ways;
  }

 private:
  void add_ways(const char* what, i64 m, i64 n, i64 k, const Job& job, const cublas::Forms& forms,
                std::vector<Way>& ways) {
    const int device = job.turns->device();
    const auto padded = std::make_shared<Padded>(device, job.a.type);
    padded->a = padded_operand(job.a, m, k, device);
    padded->b = padded_operand(job.b, k, n, device);
    padded->c = padded_operand(job.c, m, n, device);
    if (!padded->a.memory && !padded->b.memory && !padded->c.memory) return;
    const cublas::Forms aligned_forms{
        {forms.a.transposed, padded->a.ld()}, {forms.b.transposed, padded->b.ld()}, {false, padded->c.ld()}};
    constexpr unsigned alignment = 16;
    padded->product = lt_.product(m, n, k, job.a.type, aligned_forms, alignment);
    for (const LtProduct::Algorithm& algorithm : padded->product->algorithms(most_algorithms / 2)) {
      ways.push_back(
          {fmt::format("{} rounded up, {}", what, algorithm.name), {}, [this, padded, algorithm, turns = job.turns] {
             padded->enqueue(lt_, algorithm, turns->next(), turns->stream());
           }});
    }
  }

  Lt lt_{0};
};

}  // namespace

std::unique_ptr<Peer> open_pad() { return std::make_unique<Pad>(); }

}  // namespace tilewright::bench
