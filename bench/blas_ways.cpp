// See blas_ways.hpp. Whole operands: whole_way(). Slices: Sliced.
#include "bench/blas_ways.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include <fmt/format.h>

#include <tilewright/tile/cpu/kernels.hpp>
#include "bench/team.hpp"

namespace tilewright::bench {
namespace {

const cpu::Kernels& conversions() { return cpu::kernels(cpu::instruction_sets().front()); }

/// The part of rows x cols elements from (row, col) on.
template <class View>
View part_of(const View& view, i64 row, i64 col, i64 rows, i64 cols) {
  View part = view;
  part.data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(view.data))) +
              (row * view.row_stride + col * view.col_stride) * size_of(view.type);
  part.rows = rows;
  part.cols = cols;
  return part;
}

cpu::Block block_of(const MatrixView& view) {
  cpu::Block block;
  block.row_stride = view.row_stride;
  block.col_stride = view.col_stride;
  block.row_end = static_cast<int>(view.rows);
  block.col_end = static_cast<int>(view.cols);
  return block;
}

/// Converts the view's elements to FP32 rows `ld` apart.
void convert(const MatrixView& view, float* to, i64 ld) {
  conversions().load(view.data, view.type, block_of(view), static_cast<int>(view.rows), static_cast<int>(view.cols), 0,
                     to, ld);
}

/// Whether an operand is converted row by row of its transpose, which is how it lies in memory. A single row or column
/// becomes one row.
bool lies_transposed(const MatrixView& view) {
  if (view.rows == 1 || view.cols == 1) return view.rows != 1;
  return view.row_stride < view.col_stride;
}

/// Rows of floats start at whole cache lines; a single column stays dense, because it is a vector to a BLAS.
i64 float_ld(i64 cols) { return cols == 1 ? 1 : cdiv(cols, 16) * 16; }

/// An operand in FP32, and its memory.
class Converted {
 public:
  explicit Converted(const MatrixView& view)
      : transposed_(lies_transposed(view)),
        source_(transposed_ ? view.transposed() : view),
        ld_(float_ld(source_.cols)) {
    memory_ = Matrix(source_.rows, ld_, DType::f32);
  }

  /// The part-th of `parts` equal parts.
  void convert_part(i64 part, i64 parts) {
    // A single row is divided along its elements, at cache lines.
    const bool by_rows = source_.rows > 1;
    const i64 unit = by_rows ? 1 : 64, units = cdiv(by_rows ? source_.rows : source_.cols, unit);
    const i64 begin = units * part / parts * unit;
    const i64 end = std::min(units * (part + 1) / parts * unit, by_rows ? source_.rows : source_.cols);
    if (begin >= end) return;
    float* const to = memory_.elements<float>();
    if (by_rows) convert(part_of(source_, begin, 0, end - begin, source_.cols), to + begin * ld_, ld_);
    if (!by_rows) convert(part_of(source_, 0, begin, 1, end - begin), to + begin, ld_);
  }

  /// From element (row, col) of the operand on.
  Stored from(i64 row, i64 col) const {
    const i64 offset = transposed_ ? col * ld_ + row : row * ld_ + col;
    return {memory_.elements<float>() + offset, ld_, transposed_};
  }

 private:
  bool transposed_;
  MatrixView source_;  // as it lies in memory
  i64 ld_;
  Matrix memory_;
};

using Gemm = decltype(Blas::gemm);

/// A product with a vector by gemv, in the form of gemm.
Gemm gemm_by_gemv(const decltype(Blas::gemv)& gemv) {
  return [gemv](i64 m, i64 n, i64 k, const Stored& a, const Stored& b, float beta, float* c, i64) {
    if (m == 1) {  // c = b^T a, and a is one row
      const Stored matrix{b.data, b.ld, !b.transposed};
      gemv(matrix, b.transposed ? n : k, b.transposed ? k : n, a.data, beta, c);
    } else {  // c = a b, and b is one row in memory
      gemv(a, a.transposed ? k : m, a.transposed ? m : k, b.data, beta, c);
    }
  };
}

/// How the larger operand is sliced: `length` along its output axis, `depth` along K.
struct SliceShape {
  i64 length, depth;
  friend bool operator==(const SliceShape&, const SliceShape&) = default;
};

/// Slices of the operand with the larger output axis, one thread each, multiplied by single-threaded calls. The other
/// operand is converted whole before.
class Sliced {
 public:
  Sliced(Gemm gemm, const Job& job, SliceShape shape, std::shared_ptr<Team> team)
      : gemm_(std::move(gemm)),
        job_(job),
        shape_(shape),
        team_(std::move(team)),
        along_n_(job.b.cols >= job.a.rows),
        whole_(along_n_ ? job.a : job.b) {
    const i64 other = along_n_ ? job.a.rows : job.b.cols;
    for (i64 i = 0; i < team_->size(); ++i) {
      slices_.emplace_back(1, float_ld(shape.length) * float_ld(shape.depth), DType::f32);
      sums_.emplace_back(1, along_n_ ? other * float_ld(shape.length) : shape.length * float_ld(other), DType::f32);
    }
  }

  void run() {
    team_->run([this](i64 member) { whole_.convert_part(member, team_->size()); });
    next_ = 0;
    team_->run([this](i64 member) {
      const i64 extent = along_n_ ? job_.b.cols : job_.a.rows;
      for (i64 begin; (begin = next_.fetch_add(shape_.length)) < extent;)
        multiply(begin, std::min(shape_.length, extent - begin), static_cast<std::size_t>(member));
    });
  }

 private:
  void multiply(i64 begin, i64 length, std::size_t member) {
    float* const slice = slices_[member].elements<float>();
    float* const sum = sums_[member].elements<float>();
    const i64 m = along_n_ ? job_.a.rows : length, n = along_n_ ? length : job_.b.cols, k = job_.a.cols;
    const i64 ldc = float_ld(n);
    for (i64 at = 0; at < k; at += shape_.depth) {
      const i64 depth = std::min(shape_.depth, k - at);
      const MatrixView part =
          along_n_ ? part_of(job_.b, at, begin, depth, length) : part_of(job_.a, begin, at, length, depth);
      const bool transposed = lies_transposed(part);
      const MatrixView lying = transposed ? part.transposed() : part;
      const Stored sliced{slice, float_ld(lying.cols), transposed};
      convert(lying, slice, sliced.ld);
      const Stored other = along_n_ ? whole_.from(0, at) : whole_.from(at, 0);
      gemm_(m, n, depth, along_n_ ? other : sliced, along_n_ ? sliced : other, at > 0 ? 1.0f : 0.0f, sum, ldc);
    }
    convert_back(sum, ldc, along_n_ ? part_of(job_.c, 0, begin, m, n) : part_of(job_.c, begin, 0, m, n));
  }

  Gemm gemm_;
  Job job_;
  SliceShape shape_;
  std::shared_ptr<Team> team_;
  bool along_n_;
  Converted whole_;
  std::vector<Matrix> slices_, sums_;  // of each thread
  std::atomic<i64> next_ = 0;
};

/// Slices that take half of the L2: of middling depth, of the whole depth, and as long as a thread's share.
std::vector<SliceShape> slice_shapes(const Job& job) {
  const i64 extent = std::max(job.a.rows, job.b.cols), depth = job.a.cols;
  const i64 floats = this_cpu().l2_bytes / 2 / static_cast<i64>(sizeof(float));
  const i64 share = cdiv(cdiv(extent, job.threads), 16) * 16;
  std::vector<SliceShape> shapes;
  for (const i64 wanted : {std::min<i64>(512, depth), depth, std::max<i64>(16, floats / share)}) {
    const i64 deep = std::min(wanted, depth);
    const i64 length = std::min({std::max<i64>(16, floats / deep / 16 * 16), share, extent});
    if (std::find(shapes.begin(), shapes.end(), SliceShape{length, deep}) == shapes.end())
      shapes.push_back({length, deep});
  }
  return shapes;
}

}  // namespace

void convert_back(const float* from, i64 ld, const MutableMatrixView& c) {
  conversions().store(from, ld, static_cast<int>(c.rows), static_cast<int>(c.cols), c.data, c.type, block_of(c));
}

Way whole_way(std::string name, const Job& job, i64 converting, std::function<void()> prepare, const Bind& bind) {
  struct Whole {
    Whole(const Job& of, i64 threads)
        : job(of), team(threads), a(of.a), b(of.b), ldc(float_ld(of.c.cols)), c(of.c.rows, ldc, DType::f32) {}
    Job job;
    Team team;
    Converted a, b;
    i64 ldc;
    Matrix c;  // (m, ldc) FP32
    Bound multiply;
  };
  const auto whole = std::make_shared<Whole>(job, converting);
  whole->multiply = bind(whole->a.from(0, 0), whole->b.from(0, 0), whole->c.elements<float>(), whole->ldc);
  return {std::move(name), std::move(prepare), [whole] {
            const i64 parts = whole->team.size();
            whole->team.run([&](i64 part) {
              whole->a.convert_part(part, parts);
              whole->b.convert_part(part, parts);
            });
            whole->multiply();
            whole->team.run([&](i64 part) {
              const MutableMatrixView& c = whole->job.c;
              const i64 begin = c.rows * part / parts, end = c.rows * (part + 1) / parts;
              const float* const from = whole->c.elements<float>() + begin * whole->ldc;
              if (end > begin) convert_back(from, whole->ldc, part_of(c, begin, 0, end - begin, c.cols));
            });
          }};
}

std::vector<Way> blas_ways(const Blas& blas, const Job& job) {
  const i64 m = job.a.rows, n = job.b.cols, k = job.a.cols;
  std::vector<std::pair<std::string, Gemm>> multipliers = {{"sgemm", blas.gemm}};
  if (blas.gemv && (m == 1 || n == 1)) multipliers.emplace_back("sgemv", gemm_by_gemv(blas.gemv));
  std::vector<Way> ways;
  for (const auto& [function, gemm] : multipliers) {
    const auto all_threads = [set = blas.set_threads, threads = job.threads] { set(threads); };
    const Bind bind = [gemm = gemm, m, n, k](const Stored& a, const Stored& b, float* c, i64 ldc) {
      return [=] { gemm(m, n, k, a, b, 0.0f, c, ldc); };
    };
    ways.push_back(
        whole_way(fmt::format("{}, whole operands converted", function), job, job.threads, all_threads, bind));
    if (job.threads > 1) {
      ways.push_back(
          whole_way(fmt::format("{}, whole operands converted on one thread", function), job, 1, all_threads, bind));
    }
    const auto team = std::make_shared<Team>(job.threads);
    const auto one_thread = [set = blas.set_threads, team] { team->run([&](i64) { set(1); }); };
    for (const SliceShape& shape : slice_shapes(job)) {
      const auto sliced = std::make_shared<Sliced>(gemm, job, shape, team);
      ways.push_back({fmt::format("{}, slices of {} by {} along K", function, shape.length, shape.depth), one_thread,
                      [sliced] { sliced->run(); }});
    }
  }
  return ways;
}

}  // namespace tilewright::bench
