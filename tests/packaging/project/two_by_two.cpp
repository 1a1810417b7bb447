// The smallest use of an installed Tilewright: [[1, 2], [3, 4]] times 2 I is [[2, 4], [6, 8]], by the operator and by a
// kernel of this project's own, which runs on the CPU and in the exact checker.
#include <cstdio>

#include <tilewright/check.hpp>
#include <tilewright/explain.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/npy.hpp>
#include <tilewright/tile/cpu/executor.hpp>
#include <tilewright/verify.hpp>

namespace {

using namespace tilewright;

struct Args {
  i64 m, n, k;
  tile::Matrix<const float> a, b;
  tile::Matrix<float> c;
};

/// One program per 16 x 16 tile of C.
struct Multiply {
  template <class P, class X>
  TILEWRIGHT_KERNEL void operator()(P& p, const X& x) const {
    const auto out = tile::output_ranges<16, 16>(p, x.m, x.n);
    auto acc = tile::zeros<float, 16, 16>(p);
    tile::pipeline(
        p, tile::steps<16>(x.k),
        [&](auto rk) { return tile::both(tile::load(x.a, out.rows, rk), tile::load(x.b, rk, out.cols)); },
        [&](auto a, auto b) { acc += tile::dot(a, b); });
    tile::store(x.c, out.rows, out.cols, acc);
  }
};

int differs(const char* what, const float* c) {
  const float expected[] = {2, 4, 6, 8};
  for (int i = 0; i < 4; ++i) {
    if (c[i] == expected[i]) continue;
    std::printf("%s: element %d is %g, not %g\n", what, i, static_cast<double>(c[i]), static_cast<double>(expected[i]));
    return 1;
  }
  return 0;
}

}  // namespace

int main() {
  const float a[] = {1, 2, 3, 4}, b[] = {2, 0, 0, 2};
  float c[] = {-1, -1, -1, -1};
  const MatrixView a_view = view_of(a, 2, 2, 2), b_view = view_of(b, 2, 2, 2);
  const MutableMatrixView c_view = mutable_view_of(c, 2, 2, 2);
  if (differs("gemm", gemm(a_view, b_view).elements<float>()) != 0) return 1;

  const Args args{2, 2, 2, {a, 2, 2, 2, 1}, {b, 2, 2, 2, 1}, {c, 2, 2, 2, 1}};
  cpu::launch(Multiply{}, {.grid = {.x = 1}}, args);
  if (differs("the kernel", c) != 0) return 1;

  const auto report = check(Multiply{}, {.x = 1}, args,
                            {buffer_of("a", exact::Role::input, a_view), buffer_of("b", exact::Role::input, b_view),
                             buffer_of("c", exact::Role::output, c_view)},
                            {exact::product(a_view, b_view, c_view)});
  std::printf("%s\n", report.text().c_str());
  return report.passed() ? 0 : 1;
}
