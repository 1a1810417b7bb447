// A program without values: what goes through a kernel's text for its pipelines alone (roles.hpp).
#pragma once

#include <tilewright/tile/cuda/executor.hpp>

namespace tilewright::cuda {

/// A value of such a program.
template <class T, int M, int N>
class Nothing : public tile::Value {
 public:
  using element = T;
  static constexpr int rows = M, cols = N;

  template <class Load>
  __device__ Nothing<typename Load::element, Load::rows, Load::cols> materialize(const Load&) const {
    return {};
  }
  template <class A, class B>
  __device__ void accumulate(const tile::Product<A, B>&) {}
  template <class P, class Mask>
  __device__ void store(const P&, const Mask&) const {}
  template <class P, class Mask>
  __device__ void atomic_add(const P&, const Mask&) const {}
  template <class Op>
  __device__ Nothing<float, M, N> map() const {
    return {};
  }
  template <class F>
  __device__ Nothing<float, M, N> map_function(const F&) const {
    return {};
  }
  template <class Op, bool NumberFirst>
  __device__ Nothing<float, M, N> zip_number(float) const {
    return {};
  }
  template <class E>
  __device__ Nothing<E, M, N> cast() const {
    return {};
  }
  template <class Op, class U>
  __device__ Nothing<float, (M > U::rows ? M : U::rows), (N > U::cols ? N : U::cols)> zip(const U&) const {
    return {};
  }
  template <class Mask, class Y>
  __device__ auto select(const Mask&, const Y& other) const {
    if constexpr (tile::TileValue<Y>) {
      return zip<void>(other);
    } else {
      return Nothing<float, M, N>{};
    }
  }
  __device__ Nothing<T, N, M> transposed() const { return {}; }
  template <class Op, int Along>
  __device__ Nothing<float, (Along == 1 ? M : 1), (Along == 1 ? 1 : N)> reduce() const {
    return {};
  }
};

class Empty : public Numbered {
 public:
  using Numbered::Numbered;

  template <class T, int M, int N>
  __device__ Nothing<T, M, N> full(float) {
    return {};
  }
  template <class P, class Mask>
  __device__ Nothing<typename tile::Load<P, Mask>::element, P::rows, P::cols> load(const tile::Load<P, Mask>&) {
    return {};
  }
};

}  // namespace tilewright::cuda
