// A product written in the plainest way, with FP32 accumulation: what the judge's own tests feed it, right or spoiled.
#pragma once

#include "tests/oracle/cells.hpp"

namespace oracle {

inline void naive_gemm(const Cells& a, const Cells& b, const Cells& c) {
  for (i64 i = 0; i < c.rows; ++i) {
    for (i64 j = 0; j < c.cols; ++j) {
      float sum = 0.0f;
      for (i64 k = 0; k < a.cols; ++k) sum += static_cast<float>(a.value(i, k)) * static_cast<float>(b.value(k, j));
      c.set(i, j, static_cast<double>(sum));
    }
  }
}

}  // namespace oracle
