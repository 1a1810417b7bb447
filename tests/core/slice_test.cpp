// Slices: NumPy's rules against two references, and the parser of their text.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <tilewright/view.hpp>

#include "tests/core/errors.hpp"

namespace tilewright {
namespace {

using Index = std::optional<i64>;

/// The indices that a slice names, by the wording of the Python documentation: x = i + n*k that lie before j.
std::vector<i64> named_indices(i64 extent, const Slice& slice) {
  const i64 k = slice.step.value_or(1);
  const auto from_the_front = [&](i64 index) { return index < 0 ? index + extent : index; };
  i64 i = 0, j = 0;
  if (k > 0) {
    i = slice.start ? std::max<i64>(from_the_front(*slice.start), 0) : 0;
    j = slice.stop ? std::min(from_the_front(*slice.stop), extent) : extent;
  } else {
    i = slice.start ? std::min(from_the_front(*slice.start), extent - 1) : extent - 1;
    j = slice.stop ? std::max<i64>(from_the_front(*slice.stop), -1) : -1;
  }
  std::vector<i64> indices;
  for (i64 x = i; k > 0 ? x < j : x > j; x += k) indices.push_back(x);
  return indices;
}

/// The elements of the first row, or column, of a view over the numbers 0, 1, 2, ...
std::vector<i64> row_elements(const MatrixView& view) {
  std::vector<i64> elements;
  if (view.rows == 0) return elements;
  for (i64 j = 0; j < view.cols; ++j) {
    elements.push_back(static_cast<i64>(static_cast<const float*>(view.data)[j * view.col_stride]));
  }
  return elements;
}

std::vector<float> counting(i64 count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  return numbers;
}

std::vector<Index> small_indices() {
  std::vector<Index> indices = {std::nullopt};
  for (i64 i = -8; i <= 8; ++i) indices.push_back(i);
  return indices;
}

/// Calls use(extent, slice) for all small extents, starts, stops and steps, in the order of the Python script below.
template <class Use>
void for_all_small_slices(Use use) {
  const std::vector<Index> places = small_indices();
  for (i64 extent = 0; extent < 7; ++extent) {
    for (const Index start : places) {
      for (const Index stop : places) {
        for (const Index step : std::initializer_list<Index>{{}, -4, -3, -2, -1, 1, 2, 3, 4}) {
          use(extent, Slice{start, stop, step});
        }
      }
    }
  }
}

TEST(Slice, AgreesWithTheDocumentedRuleForAllSmallExtents) {
  const std::vector<float> numbers = counting(8);
  for_all_small_slices([&](i64 extent, const Slice& slice) {
    const std::vector<i64> expected = named_indices(extent, slice);
    const MatrixView row = view_of(numbers.data(), 1, extent, 8);
    const auto what = [&] {
      const auto text = [](Index index) { return index ? std::to_string(*index) : "None"; };
      return std::to_string(extent) + " [" + text(slice.start) + ":" + text(slice.stop) + ":" + text(slice.step) + "]";
    };
    ASSERT_EQ(row_elements(row.slice({}, slice)), expected) << what();
    // The rows of a column are the same elements.
    ASSERT_EQ(row_elements(row.transposed().slice(slice, {}).transposed()), expected) << what();
  });
}

TEST(Slice, AgreesWithPython) {
  // FNV-1a over all results, each ended by 255. The constant is what Python itself prints:
  //   h = 0xcbf29ce484222325
  //   places = [None] + list(range(-8, 9))
  //   for n in range(7):
  //     for a in places:
  //       for b in places:
  //         for c in [None, -4, -3, -2, -1, 1, 2, 3, 4]:
  //           for x in [*range(n)[a:b:c], 255]: h = (h ^ x) * 0x100000001b3 % 2**64
  //   print(hex(h))
  std::uint64_t hash = 0xcbf29ce484222325u;
  const std::vector<float> numbers = counting(8);
  for_all_small_slices([&](i64 extent, const Slice& slice) {
    std::vector<i64> results = row_elements(view_of(numbers.data(), 1, extent, 8).slice({}, slice));
    results.push_back(255);
    for (const i64 x : results) hash = (hash ^ static_cast<std::uint64_t>(x)) * 0x100000001b3u;
  });
  EXPECT_EQ(hash, 0x5d7d29c175fceeffu);
}

TEST(Slice, ExtremeNumbersAreClamped) {
  constexpr i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();
  const std::vector<float> numbers = counting(5);
  const MatrixView row = view_of(numbers.data(), 1, 5, 5);
  EXPECT_EQ(row_elements(row.slice({}, {least, most, {}})), (std::vector<i64>{0, 1, 2, 3, 4}));
  EXPECT_EQ(row_elements(row.slice({}, {most, least, -1})), (std::vector<i64>{4, 3, 2, 1, 0}));
  EXPECT_EQ(row_elements(row.slice({}, {{}, {}, most})), (std::vector<i64>{0}));
  EXPECT_EQ(row_elements(row.slice({}, {{}, {}, least})), (std::vector<i64>{4}));
  EXPECT_EQ(row.slice({}, {most, least, {}}).cols, 0);
  EXPECT_EQ(row.slice({}, {{}, {}, least}).col_stride, 1) << "an axis of one element keeps its stride";
  EXPECT_EQ(row.transposed().slice({{}, {}, 7}, {}).row_stride, 1);
}

TEST(Slice, StepZeroIsRefused) {
  const std::vector<float> numbers = counting(4);
  expect_error(ErrorCode::slice_step_zero, {"step 0", "negative"}, [&] {
    view_of(numbers.data(), 2, 2, 2).slice({{}, {}, 0}, {});
  });
}

bool same(const Slice& a, const Slice& b) { return a.start == b.start && a.stop == b.stop && a.step == b.step; }

TEST(ParseSlices, ReadsNumPysSyntax) {
  const auto rows = [](std::string_view text) { return parse_slices(text).rows; };
  EXPECT_TRUE(same(rows(":"), {}));
  EXPECT_TRUE(same(rows("::"), {}));
  EXPECT_TRUE(same(rows("1:2:3"), {1, 2, 3}));
  EXPECT_TRUE(same(rows("::-1"), {{}, {}, -1}));
  EXPECT_TRUE(same(rows("-3:"), {-3, {}, {}}));
  EXPECT_TRUE(same(rows(" +1 : None : 2 "), {1, {}, 2}));
  EXPECT_TRUE(same(parse_slices(":5").cols, {}));
  EXPECT_TRUE(same(parse_slices("1:2,3:4").rows, {1, 2, {}}));
  EXPECT_TRUE(same(parse_slices("1:2,3:4").cols, {3, 4, {}}));
  EXPECT_TRUE(same(parse_slices(":, ::2").cols, {{}, {}, 2}));
}

TEST(ParseSlices, LongNumbersSaturate) {
  const Slice slice = parse_slices("-99999999999999999999:99999999999999999999:9223372036854775807").rows;
  EXPECT_TRUE(
      same(slice, {std::numeric_limits<i64>::min(), std::numeric_limits<i64>::max(), std::numeric_limits<i64>::max()}));
}

TEST(ParseSlices, SingleIndicesAreRefusedWithTheRangeToWrite) {
  expect_error(ErrorCode::slice_syntax, {"\"3\"", "single index 3", "rows", "one-dimensional", "write 3:4"},
               [] { parse_slices("3"); });
  expect_error(ErrorCode::slice_syntax, {"columns", "write -2:-1"}, [] { parse_slices(":,-2"); });
  // -1:0 would be empty, so the whole message counts.
  try {
    parse_slices("-1");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).ends_with("write -1:")) << error.what();
  }
  EXPECT_TRUE(same(parse_slices("-1:").rows, {-1, {}, {}}));
}

TEST(ParseSlices, EverythingElseIsRefusedWithWhatToWrite) {
  expect_error(ErrorCode::slice_syntax, {"nothing is given for the rows", "write :"}, [] { parse_slices(""); });
  expect_error(ErrorCode::slice_syntax, {"nothing is given for the columns"}, [] { parse_slices("1:2,"); });
  expect_error(ErrorCode::slice_syntax, {"\"1:2:3:4\"", "3 colons"}, [] { parse_slices("1:2:3:4"); });
  expect_error(ErrorCode::slice_syntax, {"3 axes", "rows and columns"}, [] { parse_slices(":,:,:"); });
  expect_error(ErrorCode::slice_syntax, {"\"x\"", "not an integer"}, [] { parse_slices("x:3"); });
  expect_error(ErrorCode::slice_syntax, {"\"1.5\"", "not an integer"}, [] { parse_slices("0:1.5"); });
  expect_error(ErrorCode::slice_syntax, {"\"1 2\"", "not an integer"}, [] { parse_slices("1 2:3"); });
  expect_error(ErrorCode::slice_syntax, {"\"-\"", "not an integer"}, [] { parse_slices("-:3"); });
  expect_error(ErrorCode::slice_syntax, {"\"...\"", "not a range"}, [] { parse_slices("..."); });
  expect_error(ErrorCode::slice_step_zero, {"\":,1:2:0\"", "columns", "step 0"}, [] { parse_slices(":,1:2:0"); });
}

RC_GTEST_PROP(ParseSlices, AnyTextGivesSlicesOrAnError, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789:::,-+ Nonex\n\xff")));
  try {
    parse_slices(text);
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::slice_syntax || error.code() == ErrorCode::slice_step_zero);
  }
}

}  // namespace
}  // namespace tilewright
