// Figures of a multiplication as numbers and as text.
//
// Work counts pass 2^63 soon (2*M*N*K does at M = N = K = 2^21), so a Count is exact while it fits and the nearest
// double beyond.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include <tilewright/tile/element.hpp>

namespace tilewright::plan {

/// A number of things, never negative.
struct Count {
  double value = 0;  // exact below 2^53, else rounded
  i64 exact = 0;     // if fits
  bool fits = true;  // below 2^63
};

Count count_of(i64 value);
/// The product of factors that are not negative.
Count product(std::initializer_list<i64> factors);
Count operator+(const Count& x, const Count& y);

/// "1,183,000"; "-8,450"; "2.66e+36" for a count beyond 2^63.
std::string with_separators(i64 value);
std::string with_separators(const Count& count);
/// "512 B", "16 KiB", "1.5 MiB".
std::string bytes_text(double bytes);
/// "12.3 us", "4.56 ms", "7.89 s".
std::string time_text(double microseconds);
/// A number rounded to so many decimal digits, for JSON.
double rounded(double value, int digits);

/// Text broken at spaces into lines of at most 80 columns; every line but the first starts with `indent` spaces, and
/// the first is taken to start at that column.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace tilewright::plan
