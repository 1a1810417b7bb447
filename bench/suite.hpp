// Suites: the cases that are measured, as a CSV file.
//
//   name,group,m,n,k,layout,types,lda,ldb,ldc,offset,step,stepb
//
// The header names the columns, in any order; name, group, m, n, k, layout and types must be there. layout is a letter
// for A and one for B: n stored row by row as named, t stored transposed. types is f16, bf16 or f32 of inputs and
// output, or several with spaces between them: a case each. lda, ldb and ldc are leading dimensions in elements (0 or
// empty: packed), offset shifts the base address of all three matrices by so many elements, step is the distance of
// neighbours within a stored row of A and B (1 or empty: dense), stepb that of B alone. Lines that start with # are
// remarks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tilewright/matrix.hpp>
#include <tilewright/plan.hpp>

namespace tilewright::bench {

struct Case {
  std::string name, group;
  i64 m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;  // as stored
  DType type = DType::f16;                          // of inputs and output ...
  std::optional<DType> own_output = {};             // ... but for an output of its own type, which no suite has
  i64 lda = 0, ldb = 0, ldc = 0;                    // elements; never 0 after parsing
  i64 offset = 0, step = 1, stepb = 1;              // elements; step: A's

  DType output() const { return own_output.value_or(type); }
  i64 packed_lda() const { return (a_transposed ? m : k) * step; }
  i64 packed_ldb() const { return (b_transposed ? k : n) * stepb; }
  i64 packed_ldc() const { return n; }
  std::string layout() const { return {a_transposed ? 't' : 'n', b_transposed ? 't' : 'n'}; }
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  /// Of the elements of A, B and C, each counted once.
  double bytes() const;
};

/// The cases of a file's text. Throws Error problem with source and line for what is malformed, and for two cases of
/// one name and type.
std::vector<Case> parse_suite(std::string_view csv, std::string_view source);

class Turns;  // bench/gpu.hpp

/// What is multiplied: views, and how many threads may do it.
struct Job {
  MatrixView a, b;      // (m, k), (k, n)
  MutableMatrixView c;  // (m, n)
  i64 threads = 1;
  Turns* turns = nullptr;  // on a GPU: where each call gets its operands; the views are those of the first set
};

/// A case whose three matrices begin at these addresses, the offset not counted.
Job job_at(const Case& which, const void* a, const void* b, void* c, i64 threads);
/// The problem of a case in memory as Operands have it.
Problem problem_of(const Case& which);

/// The memory of a case, with A and B uniform in [-1, 1]; the gaps between their elements as well. A GPU's operands
/// derive from the host's, which the verification reads.
class Operands {
 public:
  /// Throws Error too_large where memory does not suffice.
  explicit Operands(const Case& which);
  virtual ~Operands() = default;
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  /// What ways are made for.
  virtual Job job(i64 threads) const { return on_host(threads); }
  /// Makes every element of C a NaN that no product of the operands is.
  virtual void poison_output();
  /// Brings C to the host, if it is elsewhere.
  virtual void fetch_output() {}

  /// The operands, and C as it was fetched.
  Job on_host(i64 threads) const;
  /// Elements of C that are still poisoned.
  i64 untouched() const;

 protected:
  Case case_;
  Matrix a_, b_, c_;                             // (1, elements): the memory behind the views
  static constexpr unsigned char poison = 0xff;  // in every byte: a NaN of all types, and not what arithmetic makes
};

}  // namespace tilewright::bench
