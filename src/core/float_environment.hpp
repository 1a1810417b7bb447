// The floating-point environment in which the library computes: rounding to nearest, subnormals kept, nothing trapped,
// whatever the caller has set. A thread of a pool keeps what was set when it started, so each thread's work is wrapped,
// not only the caller's.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace tilewright::core {

/// The default environment for a scope; the one before is restored at its end.
class FloatEnvironment {
 public:
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

#if defined(__SSE2__)
  FloatEnvironment() : before_(_mm_getcsr()) { _mm_setcsr(0x1f80); }  // the value after a reset
  ~FloatEnvironment() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#else
  FloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
#endif
};

}  // namespace tilewright::core
