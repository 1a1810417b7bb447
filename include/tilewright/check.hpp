// The exact checker, for anybody's kernel: the same source that runs on a CPU or a GPU, over a prime field, with every
// address looked up.
//
//   const auto report = tilewright::check(kernel, {.x = programs}, args,
//                                         {{"a", exact::Role::input, ...}, ..., {"c", exact::Role::output, ...}},
//                                         {exact::product(a, b, c)});
//   if (!report.passed()) puts(report.text().c_str());
//
// It finds, with certainty up to 2^-61 for the values: a K index counted twice, missed or wrapped (and names it); any
// mix-up of strides; a load or store outside of a buffer, or inside of it but outside of its view; two programs that
// write one element; an element never written; an output that shares memory with an input; an accumulator that after
// some K step holds anything but the products so far. It cannot say anything of rounding, which is tested apart, nor of
// timing. No memory behind the views is touched (index tables of lookups excepted).
#pragma once

#include <tilewright/tile/check/executor.hpp>

namespace tilewright {

/// One launch. args as the kernel takes them; buffers with the views the kernel may touch; expected: one entry per
/// output.
template <class Kernel, class Args>
exact::Report check(const Kernel& kernel, tile::Grid grid, const Args& args, std::vector<exact::Buffer> buffers,
                    std::vector<exact::Expected> expected, Order order = {}, exact::Options options = {}) {
  exact::Checker checker(std::move(buffers), std::move(expected), options);
  checker.run([&](exact::Run& run) { return exact::launch(kernel, grid, order, args, run); });
  return checker.finish();
}

/// A buffer that holds exactly one matrix view, from its lowest to its highest element.
inline exact::Buffer buffer_of(std::string name, exact::Role role, const MatrixView& view) {
  const ByteRange range = byte_range(view);
  return {std::move(name), role, range.begin, range.end - range.begin, {view}};
}

}  // namespace tilewright
