// The judge: compares a result, element by element, with what it must be, and says what is wrong in a form that points
// at the cause (whole rows, one tile, the last columns).
//
// It knows nothing of who computed: the caller hands in the name of the target and the plan as text. Every element
// counts; there is no average over a matrix in which a few wrong ones could drown. Start at judge.
#pragma once

#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/oracle/layouts.hpp"
#include "tests/oracle/reference.hpp"

namespace oracle {

/// Who computed what, for the report.
struct Claim {
  std::string target;  // "cpu"
  std::string plan;    // the plan's text
  std::string what;    // operands, layouts, seed
  i64 k = 0;
  double unit = ieee_unit;  // of the target's accumulation
  bool flushed = false;     // it takes subnormals for zeros, and so should the reference
};

struct Verdict {
  i64 wrong = 0;       // elements
  i64 guards = 0;      // overwritten guard cells
  std::string report;  // empty if right
  bool right() const { return wrong == 0 && guards == 0; }
};

/// "0..31, 64 (33 of 70)", at most eight ranges.
inline std::string ranges(const std::set<i64>& numbers, i64 extent) {
  std::ostringstream out;
  int shown = 0;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const i64 first = *at;
    i64 last = first;
    for (++at; at != numbers.end() && *at == last + 1; ++at) last = *at;
    if (++shown > 8) {
      out << ", ...";
      break;
    }
    out << (shown > 1 ? ", " : "") << first;
    if (last != first) out << ".." << last;
  }
  out << " (" << numbers.size() << " of " << extent << ")";
  return out.str();
}

/// The one loop of all comparisons. wrong(i, j) says whether an element is; want(i, j) what it should be, as text.
template <class Wrong, class Want>
Verdict compare(const Claim& claim, const Cells& got, const Wrong& wrong, const Want& want) {
  Verdict verdict;
  std::set<i64> rows, cols;
  i64 first_row = 0, first_col = 0, untouched = 0;
  for (i64 i = 0; i < got.rows; ++i) {
    for (i64 j = 0; j < got.cols; ++j) {
      if (!wrong(i, j)) continue;
      if (verdict.wrong++ == 0) first_row = i, first_col = j;
      if (got.bits(i, j) == untouched_bits(got.type)) ++untouched;
      rows.insert(i);
      cols.insert(j);
    }
  }
  if (verdict.wrong == 0) return verdict;
  std::ostringstream out;
  out.precision(9);
  out << "C is wrong in " << verdict.wrong << " of " << got.rows * got.cols << " elements";
  if (untouched > 0) out << ", of which " << untouched << " were never written";
  out << "\n  target   " << claim.target << ", plan " << claim.plan << "\n  shape    " << got.rows << "x" << got.cols
      << "x" << claim.k << " (M x N x K), C is " << format(got.type).name << "; " << claim.what << "\n  rows     "
      << ranges(rows, got.rows) << "\n  columns  " << ranges(cols, got.cols) << "\n  first    C[" << first_row << ", "
      << first_col << "] is " << got.value(first_row, first_col) << ", must be " << want(first_row, first_col)
      << "\n  around it, wrong ones marked !:\n";
  for (i64 i = std::max<i64>(first_row - 2, 0); i < std::min(first_row + 4, got.rows); ++i) {
    out << "    row " << i << ":";
    for (i64 j = std::max<i64>(first_col - 2, 0); j < std::min(first_col + 4, got.cols); ++j) {
      out << "  " << got.value(i, j) << (wrong(i, j) ? "!" : "");
    }
    out << "\n";
  }
  verdict.report = out.str();
  return verdict;
}

/// Adds what happened to the cells around an output.
inline Verdict with_guards(Verdict verdict, const Claim& claim, const Output& output) {
  const std::vector<i64> wrong = output.overwritten_guards();
  verdict.guards = static_cast<i64>(wrong.size());
  if (wrong.empty()) return verdict;
  std::ostringstream out;
  out << wrong.size() << " guard cells outside of C were overwritten, at element offsets";
  for (std::size_t n = 0; n < wrong.size() && n < 8; ++n) out << " " << wrong[n];
  out << (wrong.size() > 8 ? " ..." : "") << " from C[0, 0]\n  target   " << claim.target << ", plan " << claim.plan
      << "\n  output   " << output.describe() << "\n";
  verdict.report += out.str();
  return verdict;
}

/// Against FP64 within the bound.
inline Verdict judge(const Claim& claim, const Reference& reference, const Cells& got) {
  if (reference.m != got.rows || reference.n != got.cols || reference.k != claim.k) {
    throw std::logic_error("the reference is of another shape than the result");
  }
  const auto judged = [&](i64 i, i64 j) {
    const auto at = static_cast<std::size_t>(i * got.cols + j);
    return judge_element(got.value(i, j), reference.value[at], reference.magnitude[at], reference.k, got.type,
                         claim.unit, reference.lost);
  };
  return compare(
      claim, got, [&](i64 i, i64 j) { return !judged(i, j).right; },
      [&](i64 i, i64 j) {
        const Judged element = judged(i, j);
        std::ostringstream out;
        out.precision(9);
        out << reference.value[static_cast<std::size_t>(i * got.cols + j)] << " (error " << element.error << ", bound "
            << element.bound << ")";
        return out.str();
      });
}
inline Verdict judge(const Claim& claim, const Reference& reference, const Output& got) {
  return with_guards(judge(claim, reference, got.cells()), claim, got);
}

/// Against exact bits.
inline Verdict judge(const Claim& claim, const std::vector<std::uint32_t>& bits, const Cells& got) {
  if (bits.size() != static_cast<std::size_t>(got.rows * got.cols)) {
    throw std::logic_error("the expected bits are of another shape than the result");
  }
  return compare(
      claim, got, [&](i64 i, i64 j) { return got.bits(i, j) != bits[static_cast<std::size_t>(i * got.cols + j)]; },
      [&](i64 i, i64 j) {
        const std::uint32_t expected = bits[static_cast<std::size_t>(i * got.cols + j)];
        std::ostringstream out;
        out.precision(9);
        out << decode(got.type, expected) << std::hex << " (bits 0x" << expected << ", got 0x" << got.bits(i, j) << ")";
        return out.str();
      });
}
inline Verdict judge(const Claim& claim, const std::vector<std::uint32_t>& bits, const Output& got) {
  return with_guards(judge(claim, bits, got.cells()), claim, got);
}

}  // namespace oracle
