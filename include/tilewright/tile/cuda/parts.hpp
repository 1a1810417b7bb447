// The arguments of a launch that takes one operand's rows by classes (tile/classes.hpp): a program one of them, or each
// program all, in phases. Host and device share them.
#pragma once

#include <tilewright/tile/classes.hpp>
#include <tilewright/tile/cuda/config.hpp>

namespace tilewright::cuda {

inline constexpr int most_class_maps = 16;

template <class Args>
struct Parts {
  Args args;  // of the whole problem
  tile::Classes classes;
  u32 columns = 0;  // of C that a program owns, if classes are phases
  TensorMap maps[most_class_maps];
};

}  // namespace tilewright::cuda
