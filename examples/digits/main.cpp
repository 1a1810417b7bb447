// Digits: the Gram matrix of real images, checked bit for bit, and a classifier in a few lines.
//
// X holds one image a row. G = X * X^T holds the inner product of every pair of images; the second operand is a
// transposed view of the same memory, so nothing is copied. Pixels are integers from 0 to 16 and the largest inner
// product is 5,913: every sum is exact in FP32, and only storing it as FP16 rounds. So G can be compared with integers
// rounded once, without a tolerance.
//
// Euclidean distances follow from inner products: |x - y|^2 = x.x + y.y - 2 x.y. FP16 holds integers exactly only up to
// 2,048 and the difference of large products is small, so the distances are made from a second G, stored as FP32, where
// they are exact.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <tilewright/gemm.hpp>
#include <tilewright/npy.hpp>

namespace {

using namespace tilewright;

/// The value of element (i, j) of an f16 or f32 matrix view.
float at(const MatrixView& view, i64 i, i64 j) {
  const i64 offset = i * view.row_stride + j * view.col_stride;
  return view.type == DType::f16 ? to_float(static_cast<const f16*>(view.data)[offset])
                                 : static_cast<const float*>(view.data)[offset];
}

/// An integer below 65,504 rounded to the nearest FP16 value, ties to even: FP16 keeps 11 significant bits. Written
/// apart from the library's conversions, which it judges.
int nearest_f16(int value) {
  int unit = 1;
  while (value / unit >= 2048) unit *= 2;
  return static_cast<int>(std::nearbyint(static_cast<double>(value) / unit)) * unit;
}

/// Elements of g that are not the inner products of x's rows, rounded once to FP16; and the largest inner product.
struct Comparison {
  i64 wrong = 0;
  int largest = 0;
};
Comparison compare(const MatrixView& x, const MatrixView& g) {
  std::vector<int> pixels;
  for (i64 i = 0; i < x.rows; ++i) {
    for (i64 k = 0; k < x.cols; ++k) pixels.push_back(static_cast<int>(at(x, i, k)));
  }
  const auto width = static_cast<std::size_t>(x.cols);
  Comparison result;
  for (i64 i = 0; i < g.rows; ++i) {
    for (i64 j = 0; j < g.cols; ++j) {
      const int* a = pixels.data() + static_cast<std::size_t>(i) * width;
      const int* b = pixels.data() + static_cast<std::size_t>(j) * width;
      int sum = 0;
      for (std::size_t k = 0; k < width; ++k) sum += a[k] * b[k];
      result.largest = std::max(result.largest, sum);
      const auto expected = static_cast<float>(nearest_f16(sum));
      if (std::bit_cast<u32>(at(g, i, j)) != std::bit_cast<u32>(expected)) ++result.wrong;
    }
  }
  return result;
}

/// How many images have the label of their nearest other image; the lowest index wins a tie.
i64 nearest_neighbours_right(const MatrixView& g, const std::vector<int>& labels) {
  i64 right = 0;
  for (i64 i = 0; i < g.rows; ++i) {
    i64 nearest = -1;
    float least = INFINITY;
    for (i64 j = 0; j < g.rows; ++j) {
      const float distance = at(g, i, i) + at(g, j, j) - 2 * at(g, i, j);
      if (j != i && distance < least) {
        least = distance;
        nearest = j;
      }
    }
    if (labels[static_cast<std::size_t>(nearest)] == labels[static_cast<std::size_t>(i)]) ++right;
  }
  return right;
}

std::vector<int> read_labels(const std::string& path) {
  std::ifstream file(path);
  std::vector<int> labels;
  for (int label; file >> label;) labels.push_back(label);
  return labels;
}

int report(const std::string& folder) {
  const NpyMatrix file = read_npy(folder + "/digits.npy");
  const MatrixView x = file.view();                // (images, pixels)
  const MatrixView x_transposed = x.transposed();  // (pixels, images), the same memory
  const std::vector<int> labels = read_labels(folder + "/labels.txt");
  if (x.rows < 2 || std::ssize(labels) != x.rows) {
    std::fprintf(stderr, "digits: %s/labels.txt holds %td labels for %ld images; make both files again.\n",
                 folder.c_str(), std::ssize(labels), x.rows);
    return 2;
  }
  std::printf("X    %s\nX^T  %s: a view of the same memory\n", to_string(x).c_str(), to_string(x_transposed).c_str());

  Matrix gram = gemm(x, x_transposed);  // the first multiplication also starts the threads; it is not timed
  double seconds = INFINITY;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    gemm_into(x, x_transposed, gram);
    seconds = std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double flops = 2.0 * static_cast<double>(x.rows) * static_cast<double>(x.rows) * static_cast<double>(x.cols);
  std::printf("G    %s = X * X^T\n     in %.2f ms: %.1f GFLOP/s, threads: %ld, best of 5\n", to_string(gram).c_str(),
              seconds * 1e3, flops / seconds * 1e-9, available_threads());

  const Comparison comparison = compare(x, gram);
  const i64 elements = gram.rows() * gram.cols();
  std::printf(
      "verified: %ld of %ld elements equal the exact integers,\n"
      "     rounded once to FP16, bit for bit; the largest is %d\n",
      elements - comparison.wrong, elements, comparison.largest);

  GemmOptions exact;
  exact.output = DType::f32;
  const i64 right = nearest_neighbours_right(gemm(x, x_transposed, exact), labels);
  std::printf("nearest neighbour: %ld of %ld digits are right (%.2f %%)\n", right, x.rows,
              100.0 * static_cast<double>(right) / static_cast<double>(x.rows));
  return comparison.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: digits FOLDER   (the folder that holds digits.npy and labels.txt)\n");
    return 2;
  }
  try {
    return report(argv[1]);
  } catch (const tilewright::Error& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 2;
  }
}
