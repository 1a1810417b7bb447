// Sweeps: one product under leading dimensions, or base addresses, that go up element by element. They are told by the
// cases themselves, whatever suite these are of: bench/suites/layout-sweep.csv is made of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bench/harness.hpp"

namespace tilewright::bench {

/// Whether so many cases differ in one leading dimension, in all three of them or in the base address alone that a line
/// can be drawn.
bool holds_sweep(std::span<const Case> cases);

/// For each product and transposition that was swept, what part of its best point each contender's worst one reaches.
/// Empty where nothing was.
std::string sweep_text(std::span<const Outcome> outcomes);

/// A record as one SVG that needs nothing else: for each product a panel for each transposition and for each thing that
/// moves, in it a line for each contender, all on one scale. `name` is the file's, for messages. Throws Error problem
/// for a text that is no record, and for a record without a sweep.
std::string sweep_picture(std::string_view record, std::string_view name);

}  // namespace tilewright::bench
