// What becomes of a sum before it is rounded and stored: a function of the accumulator and of the indices m and n in C
// that its rows and columns stand for. The operator's own is Identity; any other is compiled into the same program, so
// it runs under every plan and on every target, and needs no kernel of its own:
//
//   Gemm<tiles, Then<AddPerColumn, Relu>>{{{bias}, {}}}   // C = relu(A * B + bias)
//
// m and n say for themselves along which axis of the accumulator they lie: a plan that computes C transposed has m along
// its columns. So an epilogue loads what it needs by them, and lets the load be repeated over the other axis. They need
// not be adjacent either: a program may own every eighth row of C (tile/classes.hpp).
#pragma once

#include <tilewright/tile/tile.hpp>

namespace tilewright::programs {

/// The sum as it is.
struct Identity {
  template <class Acc, class M, class N>
  TILEWRIGHT_KERNEL constexpr Acc operator()(Acc&& acc, const M&, const N&) const {
    return static_cast<Acc&&>(acc);
  }
};

/// Second after First.
template <class First, class Second>
struct Then {
  First first;
  Second second;

  template <class Acc, class M, class N>
  TILEWRIGHT_KERNEL decltype(auto) operator()(Acc&& acc, const M& m, const N& n) const {
    return second(first(static_cast<Acc&&>(acc), m, n), m, n);
  }
};

/// An epilogue of C for a program that computes C transposed.
template <class Epilogue>
struct OfTransposed {
  Epilogue epilogue;

  template <class Acc, class N, class M>
  TILEWRIGHT_KERNEL decltype(auto) operator()(Acc&& acc, const N& n, const M& m) const {
    return epilogue(static_cast<Acc&&>(acc), m, n);
  }
};

struct Scale {
  float factor;

  template <class Acc, class M, class N>
  TILEWRIGHT_KERNEL auto operator()(Acc&& acc, const M&, const N&) const {
    return static_cast<Acc&&>(acc) * factor;
  }
};

/// A bias: one number for each column of C.
struct AddPerColumn {
  tile::Vector<const float> bias;  // (n)

  template <class Acc, class M, class N>
  TILEWRIGHT_KERNEL auto operator()(Acc&& acc, const M&, const N& n) const {
    return static_cast<Acc&&>(acc) + tile::load(bias, n);
  }
};

/// One number for each row of C.
struct AddPerRow {
  tile::Vector<const float> bias;  // (m)

  template <class Acc, class M, class N>
  TILEWRIGHT_KERNEL auto operator()(Acc&& acc, const M& m, const N&) const {
    return static_cast<Acc&&>(acc) + tile::load(bias, m);
  }
};

struct Relu {
  template <class Acc, class M, class N>
  TILEWRIGHT_KERNEL auto operator()(Acc&& acc, const M&, const N&) const {
    return tile::relu(static_cast<Acc&&>(acc));
  }
};

}  // namespace tilewright::programs
