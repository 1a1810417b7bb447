// The checker's run: launches of kernels over one ledger, the comparison with what was expected, and the search for the
// K index at fault. The tile language's part of it is executor.hpp; what a user calls is <tilewright/check.hpp>.
#pragma once

#include <tilewright/tile/check/ledger.hpp>
#include <tilewright/tile/order.hpp>

namespace tilewright::exact {

/// Reads the value of element (row, col) of an input view, for expected values.
using Values = std::function<Field(const MatrixView& view, i64 row, i64 col)>;

/// An element of an operand: which view, where.
struct Factor {
  MatrixView view;
  i64 row, col;
};

/// What a kernel should leave in one output view.
struct Expected {
  MatrixView output;
  /// The value of output(row, col).
  std::function<Field(const Values&, i64 row, i64 col)> value;
  /// Of a sum along K: the part of k_begin <= k < k_end of the accumulator of output(row, col), without any epilogue.
  /// If given, the accumulator is compared after every K step. Leave it empty for a kernel that sums in another order
  /// than k = 0, 1, ..., that shares one sum between accumulators, or that starts one at another value than zero.
  std::function<Field(const Values&, i64 row, i64 col, i64 k_begin, i64 k_end)> partial;
  /// Of a sum along K: the K indices that output(row, col) sums, and the two factors of one. If given, a wrong element
  /// is probed, which names the K indices at fault where the output is linear in the sum but for named functions.
  std::function<std::pair<i64, i64>(i64 row, i64 col)> k_range;
  std::function<std::pair<Factor, Factor>(i64 row, i64 col, i64 k)> factors;
  i64 k = 0;
};

/// C = A * B.
Expected product(const MatrixView& a, const MatrixView& b, const MatrixView& c);
/// The planes of a split K: output row s * m + i holds the s-th part, K steps of bk shared out as the language's
/// split_steps does.
Expected split_parts(const MatrixView& a, const MatrixView& b, const MatrixView& planes, i64 parts, i64 bk);

/// An accumulator after one K step: its first rows and columns, as many as the step's masks admit anything of.
struct Snapshot {
  int accumulator;
  i64 k_begin, k_end;  // covered so far
  int rows, cols;
  std::vector<Field> values;  // (rows, cols)

  Field at(int row, int col) const {
    if (row >= rows || col >= cols) return {};
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col)];
  }
};

/// What the checker says.
struct Report {
  std::vector<Fault> faults;
  i64 programs = 0, loads = 0, stores = 0, outputs = 0, partial_sums = 0;
  bool passed() const { return faults.empty(); }
  bool has(FaultKind kind) const;
  std::string text() const;  // one line a fault, or "passed: …"
};

struct Options {
  u64 seed = 1;
};

/// What a launch runs on: the ledger, and, unless it is a probe, the partial sums to compare.
struct Run {
  Ledger& ledger;
  const std::vector<Expected>* expected;  // null where no partial sums are to be compared
  i64 partial_sums = 0;
  bool probe = false;  // named functions are the identity then, so that the counts in a sum come through them
};

class Checker {
 public:
  Checker(std::vector<Buffer> buffers, std::vector<Expected> expected, Options options = {});
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;
  /// Runs `launch` now, and again for every probe.
  void run(std::function<i64(Run&)> launch);
  Report finish();

 private:
  Field initial_value(std::size_t buffer, i64 element) const;
  Field random_value(std::size_t buffer, i64 element) const;
  void compare(const Expected& expected);
  /// What a probe found of one operand: the K indices not used once, or why it cannot tell.
  struct Uses {
    std::string counts;  // empty: each once
    std::string unknown;
  };
  Uses probe(const Expected& expected, i64 row, i64 col);
  Uses count_uses(const Expected& expected, i64 row, i64 col, bool of_a);

  std::vector<Buffer> buffers_;
  std::vector<Expected> expected_;
  Options options_;
  std::vector<std::vector<Field>> initial_;  // (buffer, element) of small inputs
  Ledger ledger_;
  Run run_;
  std::vector<std::function<i64(Run&)>> launches_;
  Report report_;
};

/// Compares the snapshots of an accumulator at a stored tile position with the expected partial sums.
void check_partials(Run& run, const std::vector<Snapshot>& snapshots, int accumulator, int row, int col,
                    const void* address, DType type, const Site& site);

}  // namespace tilewright::exact
