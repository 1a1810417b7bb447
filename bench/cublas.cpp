// cuBLAS and cuBLASLt as peers; see cublas.hpp.
#include "bench/cublas.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "bench/gpu.hpp"
#include "bench/peers.hpp"

namespace tilewright::bench {
namespace cublas {
namespace {

/// The form of a matrix of the host's kind, as its transpose in columns: rows of unit stride are columns there.
std::optional<Form> form_of(i64 row_stride, i64 col_stride) {
  if (col_stride == 1) return Form{false, row_stride};
  if (row_stride == 1) return Form{true, col_stride};
  return std::nullopt;
}

}  // namespace

int type_of(DType type) { return type == DType::f16 ? f16 : type == DType::bf16 ? bf16 : f32; }

std::optional<Forms> forms_of(const Job& job) {
  const auto a = form_of(job.a.row_stride, job.a.col_stride), b = form_of(job.b.row_stride, job.b.col_stride);
  if (!a || !b) return std::nullopt;
  return Forms{*a, *b, {false, job.c.row_stride}};
}

void check(int status, const char* call) {
  if (status == 0) return;
  constexpr std::pair<int, const char*> known[] = {
      {1, "not initialized"},       {3, "out of memory"},  {7, "invalid value"},
      {8, "architecture mismatch"}, {11, "mapping error"}, {13, "execution failed"},
      {14, "internal error"},       {15, "not supported"}, {16, "license error"}};
  const auto found =
      std::find_if(std::begin(known), std::end(known), [&](const auto& one) { return one.first == status; });
  throw std::runtime_error(
      fmt::format("{} gives status {} ({})", call, status, found != std::end(known) ? found->second : "unknown"));
}

}  // namespace cublas

namespace {

using cublas::check;

const std::vector<std::string> blas_names = {"libcublas.so.13", "libcublas.so.12"};
const std::vector<std::string> lt_names = {"libcublasLt.so.13", "libcublasLt.so.12"};

/// "13.0.2", of a function that is asked for its major, minor and patch number.
std::string version_by(int (*property)(int, int*)) {
  int parts[3] = {};
  for (int i = 0; i < 3; ++i) property(i, &parts[i]);
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

class Cublas : public Peer {
 public:
  Cublas()
      : lt_(open_cuda_library(lt_names)),  // first: it is needed by, and lies beside, the other
        library_(open_cuda_library(blas_names)),
        gemm_(library_.get<Gemm>("cublasGemmEx")),
        workspace_(0, static_cast<i64>(cublas::workspace_bytes)) {
    check(library_.get<int(void**)>("cublasCreate_v2")(&handle_), "cublasCreate");
  }
  ~Cublas() override { library_.get<int(void*)>("cublasDestroy_v2")(handle_); }

  std::string name() const override { return "cublas"; }
  std::string version() const override {
    return "cuBLAS " + version_by(library_.get<int(int, int*)>("cublasGetProperty"));
  }
  std::string file() const override { return library_.file(); }

  std::vector<Way> ways(const Job& job) override {
    const auto forms = cublas::forms_of(job);
    if (!forms) return {};
    check(library_.get<int(void*, cuda::Stream)>("cublasSetStream_v2")(handle_, job.turns->stream()),
          "cublasSetStream");
    // Its own, since it would otherwise allocate while a graph is captured.
    check(library_.get<int(void*, void*, std::size_t)>("cublasSetWorkspace_v2")(handle_, workspace_.data(),
                                                                                cublas::workspace_bytes),
          "cublasSetWorkspace");
    const auto run = [this, turns = job.turns, f = *forms, type = cublas::type_of(job.a.type)] {
      const Job set = turns->next();
      const float one = 1, zero = 0;
      check(gemm_(handle_, f.b.transposed ? 1 : 0, f.a.transposed ? 1 : 0, static_cast<int>(set.c.cols),
                  static_cast<int>(set.c.rows), static_cast<int>(set.a.cols), &one, set.b.data, type,
                  static_cast<int>(f.b.ld), set.a.data, type, static_cast<int>(f.a.ld), &zero, set.c.data, type,
                  static_cast<int>(f.c.ld), cublas::compute_f32, cublas::any_algorithm),
            "cublasGemmEx");
    };
    // Left alone, it may add the parts of a split K in half precision, which can miss the bound.
    constexpr int default_math = 0, full_reductions = 16;  // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
    const auto set_math = [this](int mode) {
      return [this, mode] {
        check(library_.get<int(void*, int)>("cublasSetMathMode")(handle_, mode), "cublasSetMathMode");
      };
    };
    return {{"cublasGemmEx, FP32 compute", set_math(default_math), run},
            {"cublasGemmEx, FP32 compute and reductions", set_math(full_reductions), run}};
  }

 private:
  using Gemm = int(void* handle, int a_form, int b_form, int m, int n, int k, const void* alpha, const void* a,
                   int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
                   int ldc, int compute, int algorithm);

  Library lt_, library_;
  Gemm* gemm_;
  void* handle_ = nullptr;
  cuda::Buffer workspace_;
};

class CublasLt : public Peer {
 public:
  std::string name() const override { return "cublaslt"; }
  std::string version() const override { return "cuBLASLt " + lt_.version(); }
  std::string file() const override { return lt_.file(); }

  /// One way for each algorithm.
  std::vector<Way> ways(const Job& job) override {
    const auto forms = cublas::forms_of(job);
    if (!forms) return {};
    const auto product = lt_.product(job.c.rows, job.c.cols, job.a.cols, job.a.type, *forms, alignment_of(job));
    std::vector<Way> ways;
    for (const LtProduct::Algorithm& algorithm : product->algorithms(most_algorithms)) {
      ways.push_back({algorithm.name, {}, [this, product, algorithm, turns = job.turns] {
                        const Job set = turns->next();
                        product->enqueue(algorithm, set.a.data, set.b.data, set.c.data, lt_.workspace(),
                                         turns->stream());
                      }});
    }
    return ways;
  }

 private:
  Lt lt_{0};
};

}  // namespace

/// The entry points of cuBLASLt.
struct LtProduct::Functions {
  int (*desc_create)(void** desc, int compute, int scale_type);
  int (*desc_destroy)(void* desc);
  int (*desc_set)(void* desc, int attribute, const void* value, std::size_t bytes);
  int (*layout_create)(void** layout, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld);
  int (*layout_destroy)(void* layout);
  int (*preference_create)(void** preference);
  int (*preference_destroy)(void* preference);
  int (*preference_set)(void* preference, int attribute, const void* value, std::size_t bytes);
  int (*heuristic)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference, int asked,
                   void* results, int* returned);
  int (*matmul)(void* handle, void* desc, const void* alpha, const void* a, void* a_layout, const void* b,
                void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
                const void* algorithm, void* workspace, std::size_t workspace_bytes, cuda::Stream stream);
  int (*config_get)(const void* algorithm, int attribute, void* value, std::size_t bytes, std::size_t* written);
};

LtProduct::LtProduct(const Library& library, void* handle, i64 m, i64 n, i64 k, DType type, const cublas::Forms& forms,
                     unsigned alignment)
    : handle_(handle), alignment_(alignment) {
  Functions f{};
  const auto find = [&](auto& function, const char* name) {
    function = library.get<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(name);
  };
  find(f.desc_create, "cublasLtMatmulDescCreate");
  find(f.desc_destroy, "cublasLtMatmulDescDestroy");
  find(f.desc_set, "cublasLtMatmulDescSetAttribute");
  find(f.layout_create, "cublasLtMatrixLayoutCreate");
  find(f.layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(f.preference_create, "cublasLtMatmulPreferenceCreate");
  find(f.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(f.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  find(f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(f.matmul, "cublasLtMatmul");
  find(f.config_get, "cublasLtMatmulAlgoConfigGetAttribute");
  lt_ = std::make_unique<const Functions>(f);

  constexpr int a_form = 3, b_form = 4;  // CUBLASLT_MATMUL_DESC_TRANSA, _TRANSB
  check(f.desc_create(&operation_, cublas::compute_f32, cublas::f32), "cublasLtMatmulDescCreate");
  const int first = forms.b.transposed ? 1 : 0, second = forms.a.transposed ? 1 : 0;
  check(f.desc_set(operation_, a_form, &first, sizeof first), "cublasLtMatmulDescSetAttribute");
  check(f.desc_set(operation_, b_form, &second, sizeof second), "cublasLtMatmulDescSetAttribute");
  const auto layout = [&](void*& made, const cublas::Form& form, i64 rows, i64 cols) {  // of the operand, column-major
    if (form.transposed) std::swap(rows, cols);
    check(f.layout_create(&made, cublas::type_of(type), static_cast<std::uint64_t>(rows),
                          static_cast<std::uint64_t>(cols), form.ld),
          "cublasLtMatrixLayoutCreate");
  };
  layout(b_, forms.b, n, k);
  layout(a_, forms.a, k, m);
  layout(c_, forms.c, n, m);
}

LtProduct::~LtProduct() {
  for (void* const made : {a_, b_, c_}) {
    if (made != nullptr) lt_->layout_destroy(made);
  }
  if (operation_ != nullptr) lt_->desc_destroy(operation_);
}

std::vector<LtProduct::Algorithm> LtProduct::algorithms(int most) const {
  struct Result {  // cublasLtMatmulHeuristicResult_t
    alignas(8) unsigned char algorithm[64];
    std::size_t workspace;
    int state;
    float waves;
    int reserved[4];
  };
  static_assert(sizeof(Result) == 96);
  constexpr int workspace_limit = 1, alignments[] = {5, 6, 7, 8};  // CUBLASLT_MATMUL_PREF_…; a, b, c, d
  void* preference = nullptr;
  check(lt_->preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  lt_->preference_set(preference, workspace_limit, &cublas::workspace_bytes, sizeof cublas::workspace_bytes);
  for (const int which : alignments) lt_->preference_set(preference, which, &alignment_, sizeof alignment_);
  std::vector<Result> results(static_cast<std::size_t>(most));
  int returned = 0;
  const int status = lt_->heuristic(handle_, operation_, b_, a_, c_, c_, preference, most, results.data(), &returned);
  lt_->preference_destroy(preference);
  constexpr int none = 15;  // CUBLAS_STATUS_NOT_SUPPORTED
  if (status == none) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");

  std::vector<Algorithm> algorithms;
  for (int i = 0; i < returned; ++i) {
    const Result& result = results[static_cast<std::size_t>(i)];
    if (result.state != 0) continue;
    Algorithm algorithm{};
    std::copy(std::begin(result.algorithm), std::end(result.algorithm), algorithm.bytes);
    const auto config = [&](int attribute) {
      int value = -1;
      std::size_t written = 0;
      lt_->config_get(algorithm.bytes, attribute, &value, sizeof value, &written);
      return value;
    };
    // CUBLASLT_ALGO_CONFIG_ID, _TILE_ID, _STAGES_ID, _SPLITK_NUM
    algorithm.name = fmt::format("choice {}: algorithm {}, tile {}, stages {}, split-K {}", i + 1, config(0), config(1),
                                 config(6), config(2));
    algorithms.push_back(algorithm);
  }
  return algorithms;
}

void LtProduct::enqueue(const Algorithm& algorithm, const void* a, const void* b, void* c, void* workspace,
                        cuda::Stream stream) const {
  const float one = 1, zero = 0;
  check(lt_->matmul(handle_, operation_, &one, b, b_, a, a_, &zero, c, c_, c, c_, algorithm.bytes, workspace,
                    cublas::workspace_bytes, stream),
        "cublasLtMatmul");
}

Lt::Lt(int device)
    : library_(open_cuda_library(lt_names)), workspace_(device, static_cast<i64>(cublas::workspace_bytes)) {
  check(library_.get<int(void**)>("cublasLtCreate")(&handle_), "cublasLtCreate");
}
Lt::~Lt() { library_.get<int(void*)>("cublasLtDestroy")(handle_); }

std::shared_ptr<const LtProduct> Lt::product(i64 m, i64 n, i64 k, DType type, const cublas::Forms& forms,
                                             unsigned alignment) const {
  return std::make_shared<const LtProduct>(library_, handle_, m, n, k, type, forms, alignment);
}

std::string Lt::version() const { return version_by(library_.get<int(int, int*)>("cublasLtGetProperty")); }

unsigned alignment_of(const Job& job) {
  const auto address = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data); };
  const std::uintptr_t all = address(job.a.data) | address(job.b.data) | address(job.c.data) | 256u;
  return static_cast<unsigned>(all & (~all + 1));
}

std::unique_ptr<Peer> open_cublas() { return std::make_unique<Cublas>(); }
std::unique_ptr<Peer> open_cublaslt() { return std::make_unique<CublasLt>(); }

}  // namespace tilewright::bench
