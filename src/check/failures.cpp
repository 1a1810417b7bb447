#include "check/failures.hpp"

#include <algorithm>

namespace tilewright::exact {

void Failures::add(i64 number, const BatteryFailure& failure) {
  const auto [at, is_new] = by_words_.try_emplace({failure.kernel, failure.text}, Numbered{number, failure});
  if (is_new) return;
  Numbered& known = at->second;
  const i64 count = known.failure.count + failure.count;
  if (number < known.number) known = {number, failure};
  known.failure.count = count;
}

std::vector<BatteryFailure> Failures::first(std::size_t most) const {
  std::vector<const Numbered*> all;
  for (const auto& [words, numbered] : by_words_) all.push_back(&numbered);
  std::ranges::sort(all, {}, [](const Numbered* numbered) { return numbered->number; });
  std::vector<BatteryFailure> told;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) told.push_back(all[i]->failure);
  return told;
}

}  // namespace tilewright::exact
