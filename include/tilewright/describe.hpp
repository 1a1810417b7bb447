// What a kernel loads and stores, in words: the describe target of the tile language for a host program.
//
//   const std::string text = tilewright::describe_program(kernel, {.x = programs}, 0, args,
//                                                         {{"a", a_ptr}, {"b", b_ptr}, {"c", c_ptr}});
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tilewright/tile/describe/executor.hpp>

namespace tilewright {

/// A root pointer by its name in the text.
struct RootName {
  std::string_view name;
  const void* root;
};

/// One access a line: "step 0: load a[rows 128 + 0..63 of stride 65, cols 0..31 of stride 1], admitted 2 x 32".
std::string describe_access(const describe::Access& access, std::span<const RootName> names);

/// Every access of one program of a launch, in the order in which the kernel states them.
template <class Kernel, class Args>
std::vector<describe::Access> accesses_of(const Kernel& kernel, tile::Grid grid, i64 program, const Args& args,
                                          Order order = {}) {
  describe::Record count{nullptr, 0};
  describe::record(kernel, grid, order, program, args, count);
  std::vector<describe::Access> accesses(static_cast<std::size_t>(count.count));
  describe::Record record{accesses.data(), count.count};
  describe::record(kernel, grid, order, program, args, record);
  return accesses;
}

template <class Kernel, class Args>
std::string describe_program(const Kernel& kernel, tile::Grid grid, i64 program, const Args& args,
                             const std::vector<RootName>& names, Order order = {}) {
  std::string text;
  for (const describe::Access& access : accesses_of(kernel, grid, program, args, order))
    text += describe_access(access, names).append("\n");
  return text;
}

}  // namespace tilewright
