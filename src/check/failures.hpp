// What the batteries tell of checks that failed: one fault of a kernel fails on hundreds of shapes and layouts in the
// same words, which are said once, with how often.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "check/layouts.hpp"

namespace tilewright::exact {

/// Extents of one check. A kernel without K ignores k.
struct Shape {
  i64 m, n, k;
};

/// How the operands lie.
struct LayoutChoice {
  Layout a, b, c;
};

/// Checks of one kernel that failed in the same words.
struct BatteryFailure {
  std::string kernel;
  Shape shape;          // the first check's, in the battery's order
  LayoutChoice layout;  // its too
  std::string text;
  i64 count = 1;
};

/// The failures of a battery.
class Failures {
 public:
  /// number: the check's place in the battery's order; checks may come in any.
  void add(i64 number, const BatteryFailure& failure);
  /// How many different ones there are.
  i64 different() const { return static_cast<i64>(by_words_.size()); }
  /// The first of them, at most so many.
  std::vector<BatteryFailure> first(std::size_t most) const;

 private:
  struct Numbered {
    i64 number;
    BatteryFailure failure;
  };
  std::map<std::pair<std::string, std::string>, Numbered> by_words_;  // kernel and text
};

}  // namespace tilewright::exact
