// One well-mixed hash of 64 bits: where values, samples or test data are to look random and be the same every time.
#pragma once

namespace tilewright {

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): a bijection whose every output bit depends on every input bit.
constexpr unsigned long long mix(unsigned long long x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace tilewright
