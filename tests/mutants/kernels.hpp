// Faulty kernels: each is the explicit kernel (examples/kernels/masked.hpp) with one fault that somebody has made
// before.
#pragma once

#include <examples/kernels/args.hpp>
#include <programs/split_k.hpp>

namespace mutants {

using namespace tilewright;

enum class Fault {
  none,
  mask_only_at_the_store,
  m_mask_missing,
  n_mask_missing,
  k_mask_missing_on_a,
  k_mask_missing_on_b,
  k_mask_missing_on_both,
  k_index_modulo_k,
  k_offset_advanced_twice,
  last_k_step_skipped,
  strides_of_a_swapped,
  contiguous_strides_assumed_for_b,
  row_times_stride_in_32_bits,
  two_programs_on_one_tile,
  a_tile_left_out,
  where_in_place_of_a_masked_load,
};

/// What a 32-bit multiplication makes of a row's offset.
constexpr i64 product_in_32_bits(i64 row, i64 stride) {
  return static_cast<std::int32_t>(static_cast<u32>(row) * static_cast<u32>(stride));
}

template <Fault F, int BM = 64, int BN = 32, int BK = 32>
struct Faulty {
  template <class P, class X>
  void operator()(P& p, const X& x) const {
    const i64 grid_n = cdiv(x.n, BN);
    i64 id = p.id(0);
    if (F == Fault::two_programs_on_one_tile && id == 1) id = 0;
    if (F == Fault::a_tile_left_out && id == p.grid(0) - 1) return;
    const auto rm = id / grid_n * BM + tile::arange<BM, 'm'>();
    const auto rn = id % grid_n * BN + tile::arange<BN, 'n'>();
    auto rk = tile::arange<BK, 'k'>();
    auto acc = tile::zeros<float, BM, BN>(p);

    i64 steps = cdiv(x.k, BK);
    if (F == Fault::last_k_step_skipped) steps -= 1;
    for (i64 q = 0; q < steps; ++q) {
      step(p, x, acc, rm, rn, rk);
      rk += F == Fault::k_offset_advanced_twice ? 2 * BK : BK;
    }

    const auto c = x.c.ptr + tile::rows(rm) * x.c.row_stride + tile::cols(rn) * x.c.col_stride;
    const auto rows = tile::rows(rm) < x.m;
    const auto cols = tile::cols(rn) < x.n;
    if constexpr (F == Fault::m_mask_missing) {
      tile::store(c, acc, tile::unchecked(tile::rows(rm)) && cols);
    } else if constexpr (F == Fault::n_mask_missing) {
      tile::store(c, acc, rows && tile::unchecked(tile::cols(rn)));
    } else {
      tile::store(c, acc, rows && cols);
    }
  }

  template <class P, class X, class Acc, class RM, class RN, class RK>
  static void step(P& p, const X& x, Acc& acc, RM rm, RN rn, RK rk) {
    using tile::cols, tile::rows, tile::unchecked;
    i64 a_row = x.a.row_stride, a_col = x.a.col_stride, b_row = x.b.row_stride, b_col = x.b.col_stride;
    if (F == Fault::strides_of_a_swapped) {
      a_row = x.a.col_stride;
      a_col = x.a.row_stride;
    }
    if (F == Fault::contiguous_strides_assumed_for_b) {
      b_row = x.n;
      b_col = 1;
    }
    const auto a = x.a.ptr + rows(rm) * a_row + cols(rk) * a_col;
    const auto b = x.b.ptr + rows(rk) * b_row + cols(rn) * b_col;
    const auto m = rows(rm) < x.m;
    const auto n = cols(rn) < x.n;
    const auto k_of_a = cols(rk) < x.k;
    const auto k_of_b = rows(rk) < x.k;
    const auto any_m = unchecked(rows(rm));
    const auto any_n = unchecked(cols(rn));
    const auto any_k_of_a = unchecked(cols(rk));
    const auto any_k_of_b = unchecked(rows(rk));

    if constexpr (F == Fault::mask_only_at_the_store) {
      acc += tile::dot(tile::load(a, any_m && any_k_of_a), tile::load(b, any_k_of_b && any_n));
    } else if constexpr (F == Fault::m_mask_missing) {
      acc += tile::dot(tile::load(a, any_m && k_of_a), tile::load(b, k_of_b && n));
    } else if constexpr (F == Fault::n_mask_missing) {
      acc += tile::dot(tile::load(a, m && k_of_a), tile::load(b, k_of_b && any_n));
    } else if constexpr (F == Fault::k_mask_missing_on_a) {
      acc += tile::dot(tile::load(a, m && any_k_of_a), tile::load(b, k_of_b && n));
    } else if constexpr (F == Fault::k_mask_missing_on_b) {
      acc += tile::dot(tile::load(a, m && k_of_a), tile::load(b, any_k_of_b && n));
    } else if constexpr (F == Fault::k_mask_missing_on_both) {
      acc += tile::dot(tile::load(a, m && any_k_of_a), tile::load(b, any_k_of_b && n));
    } else if constexpr (F == Fault::k_index_modulo_k) {
      const auto wrapped_a = x.a.ptr + rows(rm) * a_row + cols(rk % x.k) * a_col;
      const auto wrapped_b = x.b.ptr + rows(rk % x.k) * b_row + cols(rn) * b_col;
      const auto left =
          tile::trans(tile::load(wrapped_a, m));  // read by value: a lookup along K has no range of its own
      acc += tile::dot(p.load(tile::trans(left)), p.load(tile::load(wrapped_b, n)));
    } else if constexpr (F == Fault::row_times_stride_in_32_bits) {
      const i64 first_row = rm.at(0);
      const auto local = rm - first_row;
      const auto narrow = x.a.ptr + rows(local) * a_row + cols(rk) * a_col + product_in_32_bits(first_row, a_row);
      acc += tile::dot(tile::load(narrow, rows(local) < x.m - first_row && k_of_a), tile::load(b, k_of_b && n));
    } else if constexpr (F == Fault::where_in_place_of_a_masked_load) {
      const auto all = p.load(tile::load(a, any_m && any_k_of_a));  // the mask comes too late: the load has happened
      acc += tile::dot(tile::cast<f16>(tile::where(m && k_of_a, all, 0.0f)), p.load(tile::load(b, k_of_b && n)));
    } else {
      acc += tile::dot(tile::load(a, m && k_of_a), tile::load(b, k_of_b && n));
    }
  }
};

/// The operator's program with a grouped order that forgets that the last group may be short.
template <int BM = 64, int BN = 32, int BK = 32>
struct GroupedAlwaysFull {
  i64 group;
  template <class P, class X>
  void operator()(P& p, const X& x) const {
    const i64 grid_n = cdiv(x.n, BN);
    const i64 within = p.id(0) % (group * grid_n);
    const i64 pm =
        p.id(0) / (group * grid_n) * group + within % group;  // right only while all groups have `group` rows
    const i64 pn = within / group;
    const auto rm = pm * BM + tile::arange<BM, 'm'>();
    const auto rn = pn * BN + tile::arange<BN, 'n'>();
    auto acc = tile::zeros<float, BM, BN>(p);
    for (const auto rk : tile::steps<BK>(x.k)) acc += tile::dot(tile::load(x.a, rm, rk), tile::load(x.b, rk, rn));
    tile::store(x.c, rm, rn, acc);
  }
};

/// The sum of split-K's parts with the last part added once more.
template <programs::Tiles T>
struct SplitPartAddedTwice {
  template <class P, class X>
  void operator()(P& p, const X& x) const {
    const auto out = tile::output_ranges<T.m, T.n>(p, x.m, x.n);
    auto sum = p.load(tile::load(x.part(0), out.rows, out.cols));
    for (i64 s = 1; s < x.count; ++s) sum = sum + tile::load(x.part(s), out.rows, out.cols);
    sum = sum + tile::load(x.part(x.count - 1), out.rows, out.cols);
    tile::store(x.c, out.rows, out.cols, sum);
  }
};

}  // namespace mutants
