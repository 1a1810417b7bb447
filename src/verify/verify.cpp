// Verification in FP64.
//
// A product of two f16, bf16 or f32 values is exact in FP64, and a sum of K of them is off by at most K * 2^-53 of
// |A||B|: 2^-29 of the bound it is held against (verify/bound.hpp). Each element needs two sums, C and |A||B|. Blocks
// of sampled rows and columns are converted once into panels of doubles and multiplied by a kernel of its own, so
// nothing of the operator under test takes part in the verdict but the element types' conversions to float. Start with
// verify() at the end.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/tile/cpu/launch.hpp>
#include <tilewright/verify.hpp>

#include "gemm/contract.hpp"
#include "verify/bound.hpp"
#include "verify/sample.hpp"

namespace tilewright {
namespace {

using verification::SampledAxis;

constexpr i64 depth = 64;     // K indices a panel holds
constexpr i64 row_strip = 2;  // rows and columns of the kernel's register tile
constexpr i64 col_strip = 4;

// Four doubles; without AVX the compiler makes two registers of two. Only ever a local variable.
typedef double Quad __attribute__((vector_size(32)));
typedef i64 QuadBits __attribute__((vector_size(32)));

/// One operand as rows of K: a as it is, b transposed.
struct Rows {
  const std::byte* data;
  i64 stride, k_stride;  // bytes
};

template <class E>
double element(const std::byte* address) {
  E value;
  std::memcpy(&value, address, sizeof value);
  return static_cast<double>(to_float(value));
}

double element(DType type, const std::byte* address) {
  switch (type) {
    case DType::f16:
      return element<f16>(address);
    case DType::bf16:
      return element<bf16>(address);
    default:
      return element<float>(address);
  }
}

/// Converts `count` rows from the `first`-th of the axis, K indices k .. k+length-1, into strips: [row / strip][K][row
/// % strip]. Rows beyond count up to a whole strip become zeros.
template <class E>
void fill_panel(const Rows& rows, const SampledAxis& axis, i64 first, i64 count, i64 strip, i64 k, i64 length,
                double* panel) {  // (count rounded up to strip, length)
  for (i64 i = 0; i < (count + strip - 1) / strip * strip; ++i) {
    double* out = panel + i / strip * strip * depth + i % strip;
    if (i >= count) {
      for (i64 q = 0; q < length; ++q) out[q * strip] = 0;
      continue;
    }
    const std::byte* in = rows.data + axis[first + i] * rows.stride + k * rows.k_stride;
    for (i64 q = 0; q < length; ++q) out[q * strip] = element<E>(in + q * rows.k_stride);
  }
}

void fill_panel(DType type, const Rows& rows, const SampledAxis& axis, i64 first, i64 count, i64 strip, i64 k,
                i64 length, double* panel) {
  switch (type) {
    case DType::f16:
      return fill_panel<f16>(rows, axis, first, count, strip, k, length, panel);
    case DType::bf16:
      return fill_panel<bf16>(rows, axis, first, count, strip, k, length, panel);
    default:
      return fill_panel<float>(rows, axis, first, count, strip, k, length, panel);
  }
}

/// Adds length products to a row_strip x col_strip tile of both sums.
void add_products(const double* a, const double* b, i64 length, double* sum, double* magnitude, i64 ld) {
  const QuadBits not_sign = QuadBits{} + 0x7fffffffffffffff;
  Quad sums[row_strip], magnitudes[row_strip];
  for (i64 i = 0; i < row_strip; ++i) {
    std::memcpy(&sums[i], sum + i * ld, sizeof(Quad));
    std::memcpy(&magnitudes[i], magnitude + i * ld, sizeof(Quad));
  }
  for (i64 q = 0; q < length; ++q) {
    Quad right;
    std::memcpy(&right, b + q * col_strip, sizeof right);
    for (i64 i = 0; i < row_strip; ++i) {
      const Quad product = right * a[q * row_strip + i];
      sums[i] += product;
      magnitudes[i] += (Quad)((QuadBits)product & not_sign);
    }
  }
  for (i64 i = 0; i < row_strip; ++i) {
    std::memcpy(sum + i * ld, &sums[i], sizeof(Quad));
    std::memcpy(magnitude + i * ld, &magnitudes[i], sizeof(Quad));
  }
}

/// What one thread works in. edge is the extent of a block of elements, a multiple of both strips.
struct Scratch {
  explicit Scratch(i64 edge)
      : a(static_cast<std::size_t>(edge * depth)),
        b(a.size()),
        sum(static_cast<std::size_t>(edge * edge)),
        magnitude(sum) {}
  std::vector<double> a, b;            // (edge, depth) in strips
  std::vector<double> sum, magnitude;  // (edge, edge)
};

/// The worse of two verdicts; of equal ones the earlier element, so that the result does not depend on the threads.
void merge(VerifyResult& total, const VerifyResult& part) {
  const bool earlier = part.row < total.row || (part.row == total.row && part.col < total.col);
  if (total.checked == 0 ||
      (part.checked > 0 && (part.worst > total.worst || (part.worst == total.worst && earlier)))) {
    total.worst = part.worst;
    total.row = part.row, total.col = part.col;
    total.expected = part.expected, total.got = part.got;
  }
  total.checked += part.checked;
  total.failures += part.failures;
  total.overflows += part.overflows;
  total.passed = total.failures == 0;
}

/// c may lie anywhere, over a and b as well: it is only read.
void check_product(const MatrixView& a, const MatrixView& b, const MatrixView& c) {
  gemm_detail::check_operands(a, b);
  byte_range(c);  // throws for negative extents and for addresses that do not fit
  if (c.type == DType::f64) {
    throw Error(ErrorCode::unsupported_type, "c is f64, which is no product of gemm; verify f32, f16 or bf16");
  }
  if (c.rows != a.rows || c.cols != b.cols) {
    throw Error(ErrorCode::output_extents, fmt::format("c is {}×{} but a is {}×{} and b is {}×{}: c must be {}×{}",
                                                       c.rows, c.cols, a.rows, a.cols, b.rows, b.cols, a.rows, b.cols));
  }
  if (c.data == nullptr && c.rows > 0 && c.cols > 0) {
    throw Error(ErrorCode::null_data, fmt::format("c is {}×{} but its data pointer is null", c.rows, c.cols));
  }
}

/// Everything that is the same for all blocks.
struct Verification {
  MatrixView a, b, c;
  verification::Sample sample;
  verification::SumError sum_error;
  verification::Rounding output;
  bool flushed;  // inputs below 2^-126 were taken for zeros

  /// The verdict on a block of count_m x count_n sampled elements from the (m, n)-th on.
  VerifyResult block(i64 m, i64 n, i64 count_m, i64 count_n, i64 edge, Scratch& scratch) const {
    std::fill(scratch.sum.begin(), scratch.sum.end(), 0.0);
    std::fill(scratch.magnitude.begin(), scratch.magnitude.end(), 0.0);
    const i64 size = size_of(a.type);
    const Rows a_rows{static_cast<const std::byte*>(a.data), a.row_stride * size, a.col_stride * size};
    const Rows b_cols{static_cast<const std::byte*>(b.data), b.col_stride * size, b.row_stride * size};
    for (i64 k = 0; k < a.cols; k += depth) {
      const i64 length = std::min(depth, a.cols - k);
      fill_panel(a.type, a_rows, sample.rows, m, count_m, row_strip, k, length, scratch.a.data());
      fill_panel(b.type, b_cols, sample.cols, n, count_n, col_strip, k, length, scratch.b.data());
      if (flushed) {
        std::ranges::transform(scratch.a, scratch.a.begin(), verification::flush);
        std::ranges::transform(scratch.b, scratch.b.begin(), verification::flush);
      }
      for (i64 i = 0; i < count_m; i += row_strip) {
        for (i64 j = 0; j < count_n; j += col_strip) {
          add_products(scratch.a.data() + i * depth, scratch.b.data() + j * depth, length,
                       scratch.sum.data() + i * edge + j, scratch.magnitude.data() + i * edge + j, edge);
        }
      }
    }
    return judge(m, n, count_m, count_n, edge, scratch);
  }

  VerifyResult judge(i64 m, i64 n, i64 count_m, i64 count_n, i64 edge, const Scratch& scratch) const {
    VerifyResult result{};
    result.worst = -1;
    for (i64 i = 0; i < count_m; ++i) {
      const i64 row = sample.rows[m + i];
      for (i64 j = 0; j < count_n; ++j) {
        const i64 col = sample.cols[n + j];
        const auto* address =
            static_cast<const std::byte*>(c.data) + (row * c.row_stride + col * c.col_stride) * size_of(c.type);
        const double got = element(c.type, address);
        const auto at = static_cast<std::size_t>(i * edge + j);
        const double expected = scratch.sum[at];
        const double fraction = verification::error_fraction(expected, scratch.magnitude[at], sum_error, output, got);
        if (!(fraction <= 1)) {
          ++result.failures;
        } else if (std::isinf(got) && std::isfinite(expected)) {
          ++result.overflows;
        }
        if (fraction > result.worst) {
          result.worst = fraction;
          result.row = row, result.col = col;
          result.expected = expected, result.got = got;
        }
      }
    }
    result.checked = count_m * count_n;
    return result;
  }
};

}  // namespace

VerifyResult verify(const MatrixView& a, const MatrixView& b, const MatrixView& c, const VerifyOptions& options) {
  check_product(a, b, c);
  const bool flushed = options.mma == Mma::avx512_bf16;
  const Verification verification{
      a,
      b,
      c,
      verification::choose_sample(c.rows, c.cols, a.cols, options.most_products, options.seed),
      verification::sum_error(a.cols, flushed, on_tensor_cores(options.mma)),
      verification::rounding_of(c.type),
      flushed};
  VerifyResult result;
  result.total = verification::product_or_most(c.rows, c.cols);
  if (result.total == 0) return result;

  // Blocks of 128 x 128 elements read each converted value 128 times; few elements are shared out in smaller ones.
  const i64 rows = verification.sample.rows.picked, cols = verification.sample.cols.picked;
  const i64 threads = options.threads > 0 ? options.threads : available_threads();
  i64 edge = 128;
  const auto blocks = [&] { return cdiv(rows, edge) * cdiv(cols, edge); };
  while (edge > 8 && blocks() < 4 * threads) edge /= 2;
  const i64 block_cols = cdiv(cols, edge), count = blocks();
  const i64 team = std::min({threads, count, cpu::most_threads});

  struct Shared {
    const Verification& verification;
    const std::function<void(double)>& progress;
    const std::thread::id caller;
    i64 rows, cols, edge, block_cols, count;
    std::vector<Scratch> scratch;  // one a member of the team
    std::atomic<i64> next = 0, done = 0;
    std::mutex mutex{};
    VerifyResult result{};
  } shared{verification, options.progress, std::this_thread::get_id(), rows, cols, edge, block_cols, count, {}};
  shared.scratch.assign(static_cast<std::size_t>(team), Scratch(edge));
  shared.result = result;
  cpu::for_each_program(
      team, team,
      [](void* context, i64 member) {
        Shared& all = *static_cast<Shared*>(context);
        for (i64 t = all.next++; t < all.count; t = all.next++) {
          const i64 m = t / all.block_cols * all.edge, n = t % all.block_cols * all.edge;
          const VerifyResult part =
              all.verification.block(m, n, std::min(all.edge, all.rows - m), std::min(all.edge, all.cols - n), all.edge,
                                     all.scratch[static_cast<std::size_t>(member)]);
          {
            const std::lock_guard one(all.mutex);
            merge(all.result, part);
          }
          const i64 finished = ++all.done;
          if (all.progress && std::this_thread::get_id() == all.caller) {
            all.progress(static_cast<double>(finished) / static_cast<double>(all.count));
          }
        }
      },
      &shared);
  return shared.result;
}

}  // namespace tilewright
