// The bounded suite: random problems of every kind against FP64, element by element within the one error bound. It
// finds wrong rounding: an accumulation in the wrong precision, a lost subnormal, an early overflow, a second rounding.
//
// TILEWRIGHT_CASES sets the number of cases (2,000 if unset). RapidCheck prints the seed; RC_PARAMS="seed=..." repeats
// a run.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "tests/gemm/harness.hpp"
#include "tests/oracle/random.hpp"

namespace {

using namespace tilewright;
using oracle::Edge;
using oracle::Input;
using oracle::Layout;
using oracle::Output;
using oracle::Type;

enum class Values : unsigned char {
  uniform,  // [-1, 1]
  wide,     // exponents from -12 to 12
  positive,
  subnormal_a,  // A subnormal, B of a size that keeps the products exact
  subnormal_b,
  largest,       // A up to the largest number, B small enough that FP32 does not overflow
  overflowing,   // positive, with sums around the overflow of the output type
  tiny_outputs,  // sums among the output's subnormals
  cancelling,    // each product has an almost equal partner of the other sign
  sparse,        // half of the elements are zeros of either sign
};
constexpr std::array all_values = {Values::uniform,     Values::wide,    Values::positive,    Values::subnormal_a,
                                   Values::subnormal_b, Values::largest, Values::overflowing, Values::tiny_outputs,
                                   Values::cancelling,  Values::sparse};

const char* name_of(Values values) {
  constexpr std::array names = {"uniform", "wide",        "positive",          "subnormal in A", "subnormal in B",
                                "largest", "overflowing", "with tiny outputs", "cancelling",     "sparse"};
  return names[static_cast<std::size_t>(values)];
}

/// Magnitudes 2^low .. 2^(high+1), with so many bits after the first one.
struct Window {
  int low, high, bits;
};

/// The windows of A and B. In each, the product of the two smallest steps is at least 2^-149, so no product is lost to
/// underflow, and unless all are positive no sum overflows FP32: what the bound assumes.
std::pair<Window, Window> windows_of(Values values, Type in, Type out, i64 k) {
  const oracle::Format& f = oracle::format(in);
  const int bits = f.precision - 1;
  const int log_k = std::ilogb(static_cast<double>(k)) + 1;
  const auto inside = [&](Window w) {  // what the type cannot hold is moved into its range
    w.low = std::clamp(w.low, f.emin, f.emax);
    w.high = std::clamp(w.high, w.low, f.emax);
    return w;
  };
  const Window middle = {-4, 3, bits};
  switch (values) {
    case Values::wide:
      return {inside({-12, 12, bits}), inside({-12, 12, bits})};
    case Values::subnormal_a:
    case Values::subnormal_b: {
      const int smallest_step = f.emin - bits;
      const Window subnormal = {smallest_step, f.emin - 1, bits};
      const int low = std::max(-4, -149 - smallest_step + bits);
      const Window other = {low, low + 4, bits};
      return values == Values::subnormal_a ? std::pair{subnormal, other} : std::pair{other, subnormal};
    }
    case Values::largest: {
      const int high = std::min(3, 125 - f.emax - log_k);
      return {{f.emax - 3, f.emax, bits}, inside({high - 4, high, bits})};
    }
    case Values::overflowing: {
      const int high = (oracle::format(out).emax + 1 - log_k) / 2;
      return {inside({high - 1, high, bits}), inside({high - 1, high, bits})};
    }
    case Values::tiny_outputs: {
      const int high = out == Type::f16 ? -9 : -66;
      return {inside({high - 4, high, 4}), inside({high - 4, high, 4})};
    }
    default:
      return {middle, middle};
  }
}

/// Element (l, o) of an operand, l along the sum and o along the output, from nothing but its place and the seed.
double element(Values values, const Window& window, std::uint64_t seed, i64 l, i64 o, bool of_a) {
  const bool pairs = values == Values::cancelling;
  const auto place = static_cast<std::uint64_t>(pairs ? l / 2 : l);
  oracle::Random random(seed * 0xd1342543de82ef95u + place * 0xaf251af3b0f025b5u +
                        static_cast<std::uint64_t>(o) * 0xb564ef22ec7aece5u + (of_a ? 1u : 0u));
  if (values == Values::uniform) return random.symmetric();
  const bool positive = values == Values::positive || values == Values::overflowing;
  const double sign = !positive && (random.next() & 1u) != 0 ? -1.0 : 1.0;
  if (values == Values::sparse && (random.next() & 1u) != 0) return sign * 0.0;
  const int exponent = static_cast<int>(random.whole(window.low, window.high));
  const i64 fraction = random.whole(0, (i64{1} << window.bits) - 1);
  const double value = sign * std::ldexp(1.0 + std::ldexp(static_cast<double>(fraction), -window.bits), exponent);
  if (!pairs || l % 2 == 0) return value;
  return of_a ? -value : value * (1.0 + 0x1p-6);
}

/// The operands of one problem.
struct Operands {
  Input a, b;
  Operands(const auto& c, Edge a_edge, Edge b_edge) {
    const auto [wa, wb] = windows_of(c.values, c.in, c.out, c.k);
    const Window window_a = wa, window_b = wb;
    a = Input(c.in, c.m, c.k, c.a, a_edge,
              [&](i64 i, i64 l) { return element(c.values, window_a, c.seed, l, i, true); });
    b = Input(c.in, c.k, c.n, c.b, b_edge,
              [&](i64 l, i64 j) { return element(c.values, window_b, c.seed, l, j, false); });
  }
};

struct Case {
  i64 m = 1, n = 1, k = 1;
  Type in = Type::f16, out = Type::f16;
  Layout a = Layout::packed, b = Layout::packed, c = Layout::packed;
  bool a_ends = true, b_ends = true, c_ends = true;
  Values values = Values::uniform;
  PlanRequest program;
  i64 parts = 1, group = 0, threads = 1;
  int movers = 0;  // the planner's, gather, direct where possible
  std::uint64_t seed = 0;
};

Edge edge(bool ends) { return ends ? Edge::end : Edge::begin; }

void showValue(const Case& c, std::ostream& out) {
  out << c.m << "x" << c.n << "x" << c.k << " " << oracle::format(c.in).name << " -> " << oracle::format(c.out).name
      << ", A " << oracle::name_of(c.a) << ", B " << oracle::name_of(c.b) << ", C " << oracle::name_of(c.c)
      << ", values " << name_of(c.values) << ", split " << c.parts << ", group " << c.group << ", movers " << c.movers
      << ", threads " << c.threads << ", seed " << c.seed;
}

/// 1..300, primes, and one off a tile, whatever the size RapidCheck is at.
rc::Gen<i64> extent() {
  return rc::gen::resize(rc::kNominalSize,
                         rc::gen::oneOf(rc::gen::inRange<i64>(1, 301), rc::gen::inRange<i64>(1, 40),
                                        rc::gen::element<i64>(2, 3, 13, 31, 61, 97, 127, 193, 251, 293),
                                        rc::gen::element<i64>(15, 17, 33, 63, 65, 129, 223, 225, 255, 257)));
}

rc::Gen<Case> any_case() {
  const auto type = rc::gen::elementOf(oracle::all_types);
  const auto input = rc::gen::elementOf(oracle::input_layouts);
  const auto output =
      rc::gen::elementOf(std::vector<Layout>(oracle::output_layouts.begin(), oracle::output_layouts.end()));
  const auto yes_no = rc::gen::element(true, false);
  return rc::gen::build<Case>(
      rc::gen::set(&Case::m, extent()), rc::gen::set(&Case::n, extent()), rc::gen::set(&Case::k, extent()),
      rc::gen::set(&Case::in, type), rc::gen::set(&Case::out, type), rc::gen::set(&Case::a, input),
      rc::gen::set(&Case::b, input), rc::gen::set(&Case::c, output), rc::gen::set(&Case::a_ends, yes_no),
      rc::gen::set(&Case::b_ends, yes_no), rc::gen::set(&Case::c_ends, yes_no),
      rc::gen::set(&Case::values, rc::gen::elementOf(all_values)),
      rc::gen::set(&Case::program, rc::gen::elementOf(harness::all_programs(Type::bf16))),
      rc::gen::set(&Case::parts, rc::gen::element<i64>(1, 1, 2, 3, 5)),
      rc::gen::set(&Case::group, rc::gen::element<i64>(0, 1, 2, 8)),
      rc::gen::set(&Case::threads, rc::gen::element<i64>(1, 2, 3)),
      rc::gen::set(&Case::movers, rc::gen::element(0, 1, 2)),
      rc::gen::set(&Case::seed, rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, 1u << 30))));
}

oracle::Verdict run(const Case& c) {
  const Operands operands(c, edge(c.a_ends), edge(c.b_ends));
  const Output out(c.out, c.m, c.n, c.c, edge(c.c_ends));
  PlanRequest request = c.program;
  if (!multiplies(*request.mma, harness::dtype_of(c.in))) request.mma.reset();
  request.split = harness::split_of(c.parts, c.k, request.tile->k);
  request.order = c.group == 0 ? Order{} : Order{OrderKind::grouped, c.group};
  if (c.movers == 1) request.a = request.b = Mover::gather;
  if (c.movers == 2) {
    harness::move_directly(request, harness::view_of(operands.a.cells()), harness::view_of(operands.b.cells()));
    if (c.seed % 2 == 0) request.a.reset();  // of both, A alone would be direct
  }
  const oracle::Claim claim = harness::multiply(operands.a, operands.b, out, harness::options_of(request, c.threads));
  return oracle::judge(claim, oracle::reference_of(operands.a.cells(), operands.b.cells(), claim.flushed), out);
}

TEST(Bounded, random_problems_agree_with_fp64) {
  const char* asked = std::getenv("TILEWRIGHT_CASES");
  const int cases = asked != nullptr ? std::atoi(asked) : 2000;
  ASSERT_GE(cases, 1) << "TILEWRIGHT_CASES is \"" << asked << "\"; give a number of cases";
  // RapidCheck reads this when the first property of the process runs, and prints it with the seed it chose.
  const char* given = std::getenv("RC_PARAMS");
  const std::string params =
      "max_success=" + std::to_string(cases) + " max_size=100 " + (given != nullptr ? given : "");
  ASSERT_EQ(::setenv("RC_PARAMS", params.c_str(), 1), 0);
  int run_cases = 0;
  EXPECT_TRUE(rc::check("random problems agree with FP64", [&run_cases] {
    const Case c = *any_case();
    ++run_cases;
    const oracle::Verdict verdict = run(c);
    if (!verdict.right()) RC_FAIL(verdict.report);
  }));
  EXPECT_GE(run_cases, cases);
}

/// The windows above do what their names say: the suite would be worth little if no output were ever subnormal or
/// infinite.
TEST(Bounded, values_reach_the_ends_of_the_formats) {
  for (const Type type : oracle::all_types) {
    Case c;
    c.m = c.n = 20;
    c.k = 50;
    c.in = c.out = type;
    const auto count = [&](Values values, const auto& which) {
      c.values = values;
      const Operands operands(c, Edge::end, Edge::end);
      i64 found = 0;
      const oracle::Reference reference = oracle::reference_of(operands.a.cells(), operands.b.cells());
      for (std::size_t at = 0; at < reference.value.size(); ++at) {
        if (which(operands.a.cells(), oracle::rounded(type, reference.value[at]), reference.magnitude[at])) ++found;
      }
      return found;
    };
    const double smallest_normal = std::ldexp(1.0, oracle::format(type).emin);
    EXPECT_GT(count(Values::subnormal_a,
                    [&](const oracle::Cells& a, double, double) {
                      return a.value(0, 0) != 0.0 && std::fabs(a.value(0, 0)) < smallest_normal;
                    }),
              0);
    EXPECT_GT(count(Values::tiny_outputs, [&](const oracle::Cells&, double value,
                                              double) { return value != 0 && std::fabs(value) < smallest_normal; }),
              100)
        << oracle::format(type).name;
    const i64 infinite =
        count(Values::overflowing, [](const oracle::Cells&, double value, double) { return std::isinf(value); });
    EXPECT_GT(infinite, 10) << oracle::format(type).name;
    EXPECT_LT(infinite, 390) << oracle::format(type).name;
    EXPECT_GT(count(Values::cancelling, [](const oracle::Cells&, double value,
                                           double magnitude) { return std::fabs(value) < magnitude / 20; }),
              300);
  }
}

}  // namespace
