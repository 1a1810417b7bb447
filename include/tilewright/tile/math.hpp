// Elementwise operations by name. An operation is a type: executors compute `apply` on floats, and the exact checker
// gives each name a meaning of its own (field arithmetic for the four rules, a fixed hash for the nonlinear ones).
#pragma once

#include <tilewright/tile/traits.hpp>

namespace tilewright::tile {

inline constexpr float infinity = __builtin_bit_cast(float, 0x7f800000u);

namespace op {

// A host compiler has these functions built in, a device compiler declares them itself.
#ifdef __CUDACC__
__device__ inline float exponential(float a) { return expf(a); }
__device__ inline float hyperbolic_tangent(float a) { return tanhf(a); }
__device__ inline float square_root(float a) { return sqrtf(a); }
#else
inline float exponential(float a) { return __builtin_expf(a); }
inline float hyperbolic_tangent(float a) { return __builtin_tanhf(a); }
inline float square_root(float a) { return __builtin_sqrtf(a); }
#endif

struct Add {
  static constexpr const char* name = "add";
  static constexpr float apply(float a, float b) { return a + b; }
};
struct Sub {
  static constexpr const char* name = "sub";
  static constexpr float apply(float a, float b) { return a - b; }
};
struct Mul {
  static constexpr const char* name = "mul";
  static constexpr float apply(float a, float b) { return a * b; }
};
struct Div {
  static constexpr const char* name = "div";
  static constexpr float apply(float a, float b) { return a / b; }
};
/// NaN if either is NaN.
struct Max {
  static constexpr const char* name = "max";
  static constexpr float apply(float a, float b) { return a != a || a > b ? a : b; }
};
struct Min {
  static constexpr const char* name = "min";
  static constexpr float apply(float a, float b) { return a != a || a < b ? a : b; }
};
struct Neg {
  static constexpr const char* name = "neg";
  static constexpr float apply(float a) { return -a; }
};
struct Exp {
  static constexpr const char* name = "exp";
  TILEWRIGHT_KERNEL static float apply(float a) { return exponential(a); }
};
struct Tanh {
  static constexpr const char* name = "tanh";
  TILEWRIGHT_KERNEL static float apply(float a) { return hyperbolic_tangent(a); }
};
struct Sqrt {
  static constexpr const char* name = "sqrt";
  TILEWRIGHT_KERNEL static float apply(float a) { return square_root(a); }
};
/// max(a, 0); NaN stays NaN.
struct Relu {
  static constexpr const char* name = "relu";
  static constexpr float apply(float a) { return a < 0.0f ? 0.0f : a; }
};
/// a / (1 + exp(-a))
struct Silu {
  static constexpr const char* name = "silu";
  TILEWRIGHT_KERNEL static float apply(float a) { return a / (1.0f + exponential(-a)); }
};
/// The tanh form of the Gaussian error linear unit.
struct Gelu {
  static constexpr const char* name = "gelu";
  TILEWRIGHT_KERNEL static float apply(float a) {
    return 0.5f * a * (1.0f + hyperbolic_tangent(0.7978845608028654f * (a + 0.044715f * a * a * a)));
  }
};

}  // namespace op
}  // namespace tilewright::tile
