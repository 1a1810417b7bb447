// OpenBLAS: sgemm and sgemv between conversions, and its bf16 product where the build has one (Debian's has not).
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "bench/cblas.hpp"
#include "bench/library.hpp"
#include "bench/peers.hpp"

namespace tilewright::bench {
namespace {

using Sbgemm = void(int order, int a_form, int b_form, int m, int n, int k, float alpha, const bf16* a, int lda,
                    const bf16* b, int ldb, float beta, float* c, int ldc);

class OpenBlas : public Peer {
 public:
  OpenBlas()
      : library_("libopenblas.so.0"),
        set_threads_(library_.get<void(int)>("openblas_set_num_threads")),
        sbgemm_(library_.find<Sbgemm>("cblas_sbgemm")),
        blas_(cblas::functions_of(library_, [set = set_threads_](i64 threads) { set(static_cast<int>(threads)); })) {}

  std::string name() const override { return "openblas"; }
  std::string file() const override { return library_.file(); }

  std::string version() const override {
    using Text = char*();
    std::string text = "OpenBLAS";
    if (auto* const config = library_.find<Text>("openblas_get_config")) text = config();
    if (auto* const core = library_.find<Text>("openblas_get_corename"))
      text += fmt::format(", kernels for {}", core());
    return text;
  }

  std::vector<Way> ways(const Job& job) override {
    std::vector<Way> ways = blas_ways(blas_, job);
    if (sbgemm_ != nullptr && job.a.type == DType::bf16) add_sbgemm(job, ways);
    return ways;
  }

 private:
  /// Takes dense rows or columns alone.
  void add_sbgemm(const Job& job, std::vector<Way>& ways) const {
    const auto dense = [](const MatrixView& view) { return view.row_stride == 1 || view.col_stride == 1; };
    if (!dense(job.a) || !dense(job.b)) return;
    const auto sum = std::make_shared<Matrix>(job.c.rows, job.c.cols, DType::f32);
    const auto form = [](const MatrixView& view) { return cblas::form_of(view.col_stride != 1); };
    const auto ld = [](const MatrixView& view) { return static_cast<int>(std::max(view.row_stride, view.col_stride)); };
    ways.push_back({"sbgemm, the sums converted", [set = set_threads_, job] { set(static_cast<int>(job.threads)); },
                    [sbgemm = sbgemm_, job, sum, form, ld] {
                      sbgemm(cblas::row_major, form(job.a), form(job.b), static_cast<int>(job.a.rows),
                             static_cast<int>(job.b.cols), static_cast<int>(job.a.cols), 1.0f,
                             static_cast<const bf16*>(job.a.data), ld(job.a), static_cast<const bf16*>(job.b.data),
                             ld(job.b), 0.0f, sum->elements<float>(), static_cast<int>(sum->cols()));
                      convert_back(sum->elements<float>(), sum->cols(), job.c);
                    }});
  }

  Library library_;
  void (*set_threads_)(int);
  Sbgemm* sbgemm_;
  Blas blas_;
};

}  // namespace

std::unique_ptr<Peer> open_openblas() { return std::make_unique<OpenBlas>(); }

}  // namespace tilewright::bench
