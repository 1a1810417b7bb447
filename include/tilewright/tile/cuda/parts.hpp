// The arguments of a launch whose programs take one operand's rows by classes (tile/classes.hpp). Host and device share
// them.
#pragma once

#include <tilewright/tile/classes.hpp>
#include <tilewright/tile/cuda/config.hpp>

namespace tilewright::cuda {

inline constexpr int most_class_maps = 16;

template <class Args>
struct Parts {
  Args args;  // of the whole problem
  tile::Classes classes;
  TensorMap maps[most_class_maps];
};

}  // namespace tilewright::cuda
