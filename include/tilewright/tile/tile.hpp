// The tile language: kernels as plain C++, one source for every target. Start at program.hpp; docs/tile-language.md is
// the tour.
#pragma once

#include <tilewright/tile/program.hpp>
