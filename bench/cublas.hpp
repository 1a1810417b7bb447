// NVIDIA's libraries cuBLAS and cuBLASLt, opened at run time: the few declarations that are called, and the products
// as they want them.
//
// They are column-major, so a row-major C = A·B is asked for as Cᵀ = Bᵀ·Aᵀ: the first operand is B.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/gpu_calls.hpp"
#include "bench/library.hpp"
#include "bench/suite.hpp"
#include "cuda/memory.hpp"

namespace tilewright::bench {

/// Opens the first of these libraries that is there: by the loader's rules, else in the folders where CUDA and Python's
/// packages of it lie. Throws std::runtime_error that says where was looked.
Library open_cuda_library(const std::vector<std::string>& names);

namespace cublas {

constexpr int f16 = 2, bf16 = 14, f32 = 0;                      // cudaDataType
constexpr int compute_f32 = 68, any_algorithm = -1;             // cublasComputeType_t, cublasGemmAlgo_t
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what NVIDIA recommends for Hopper

int type_of(DType type);

/// An operand as a column-major library sees it: a matrix whose columns lie `ld` apart, taken transposed or not.
struct Form {
  bool transposed = false;
  i64 ld = 0;
};
/// Of A, B and C of a job; nothing where a step makes one of them strided along both axes.
struct Forms {
  Form a, b, c;
};
std::optional<Forms> forms_of(const Job& job);

/// Throws std::runtime_error with the call's name and its status in words.
void check(int status, const char* call);

}  // namespace cublas

/// A product with cuBLASLt, its descriptors made for one shape and its operands' places given with each call.
class LtProduct {
 public:
  /// What the library has to say about one way to do it.
  struct Algorithm {
    alignas(8) unsigned char bytes[64];
    std::string name;
  };

  /// a (m, k) · b (k, n) = c (m, n), row-major with these forms. alignment: of all base addresses, in bytes.
  LtProduct(const Library& library, void* handle, i64 m, i64 n, i64 k, DType type, const cublas::Forms& forms,
            unsigned alignment);
  ~LtProduct();
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  /// All that its heuristic returns, at most so many.
  std::vector<Algorithm> algorithms(int most) const;
  void enqueue(const Algorithm& algorithm, const void* a, const void* b, void* c, void* workspace,
               cuda::Stream stream) const;

 private:
  struct Functions;
  std::unique_ptr<const Functions> lt_;
  void* handle_;
  void *operation_ = nullptr, *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;  // descriptors
  unsigned alignment_;
};

/// cuBLASLt, opened, with a workspace on the current device.
class Lt {
 public:
  explicit Lt(int device);
  ~Lt();
  Lt(const Lt&) = delete;
  Lt& operator=(const Lt&) = delete;

  std::shared_ptr<const LtProduct> product(i64 m, i64 n, i64 k, DType type, const cublas::Forms& forms,
                                           unsigned alignment) const;
  void* workspace() const { return workspace_.data(); }
  std::string version() const;
  const std::string& file() const { return library_.file(); }

 private:
  Library library_;
  void* handle_ = nullptr;
  cuda::Buffer workspace_;
};

/// How many algorithms the heuristic is asked for.
constexpr int most_algorithms = 16;

/// The largest power of two up to 256 that divides all base addresses of a job's operands.
unsigned alignment_of(const Job& job);

}  // namespace tilewright::bench
