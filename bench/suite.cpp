// Reading suites, and the memory of a case; see suite.hpp.
#include "bench/suite.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/mix.hpp>

#include "bench/team.hpp"
#include "core/csv.hpp"
#include "core/shown.hpp"

namespace tilewright::bench {
namespace {

constexpr i64 most = std::numeric_limits<int>::max();  // peers take 32-bit extents and leading dimensions

using core::csv::Place;
using core::csv::refuse;
using core::csv::split;

enum class Column : unsigned char { name, group, m, n, k, layout, types, lda, ldb, ldc, offset, step, stepb };
constexpr std::array<std::string_view, 13> column_names = {"name", "group", "m",   "n",      "k",    "layout", "types",
                                                           "lda",  "ldb",   "ldc", "offset", "step", "stepb"};
constexpr auto last_required = Column::types;

std::vector<Column> parse_header(std::string_view line, const Place& place) {
  std::vector<Column> columns;
  for (const std::string_view cell : split(line)) {
    const auto found = std::find(column_names.begin(), column_names.end(), cell);
    if (found == column_names.end()) {
      refuse(place, fmt::format("'{}' is no column; the header names name,group,m,n,k,layout,types and may name "
                                "lda,ldb,ldc,offset,step,stepb",
                                core::shown(cell)));
    }
    const auto column = static_cast<Column>(found - column_names.begin());
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      refuse(place, fmt::format("the column '{}' is named twice", core::shown(cell)));
    columns.push_back(column);
  }
  for (std::size_t i = 0; i <= static_cast<std::size_t>(last_required); ++i) {
    if (std::find(columns.begin(), columns.end(), static_cast<Column>(i)) == columns.end())
      refuse(place, fmt::format("the header lacks the column {}", column_names[i]));
  }
  return columns;
}

i64 parse_number(std::string_view cell, std::string_view what, i64 least, const Place& place) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || value < least || value > most)
    refuse(place, fmt::format("{} is '{}'; give a whole number from {} to {}", what, core::shown(cell), least, most));
  return value;
}

/// Elements from one stored row to the next: as given, or dense.
i64 leading(i64 given, i64 stored_columns, i64 step, std::string_view what, const Place& place) {
  const i64 least = (stored_columns - 1) * step + 1;
  const i64 packed = stored_columns * step;
  if (std::max(least, packed) > most)
    refuse(place, fmt::format("a stored row of {} elements at step {} is longer than {}", stored_columns, step, most));
  if (given == 0) return packed;
  if (given < least)
    refuse(place, fmt::format("{} is {}, but a stored row reaches over {} elements", what, given, least));
  return given;
}

/// The line's case, once for each of its types.
std::vector<Case> parse_line(std::string_view line, const std::vector<Column>& columns, const Place& place) {
  const std::vector<std::string_view> cells = split(line);
  if (cells.size() != columns.size())
    refuse(place, fmt::format("{} cells, but the header names {} columns", cells.size(), columns.size()));
  Case one;
  one.stepb = 0;  // as step, wherever that is told
  std::vector<DType> types;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = cells[i], what = column_names[static_cast<std::size_t>(columns[i])];
    const auto number_or = [&](i64 missing, i64 least) {
      return cell.empty() ? missing : parse_number(cell, what, least, place);
    };
    switch (columns[i]) {
      case Column::name:
      case Column::group:
        if (cell.empty()) refuse(place, fmt::format("the {} is empty", what));
        if (core::printable(cell) != cell)
          refuse(place, fmt::format("the {} '{}' is not printable; give it without control characters", what,
                                    core::shown(cell)));
        (columns[i] == Column::name ? one.name : one.group) = cell;
        break;
      case Column::m:
        one.m = parse_number(cell, what, 1, place);
        break;
      case Column::n:
        one.n = parse_number(cell, what, 1, place);
        break;
      case Column::k:
        one.k = parse_number(cell, what, 1, place);
        break;
      case Column::layout:
        if (cell != "nn" && cell != "nt" && cell != "tn" && cell != "tt")
          refuse(place, fmt::format("the layout is '{}'; it must be nn, nt, tn or tt", core::shown(cell)));
        one.a_transposed = cell[0] == 't';
        one.b_transposed = cell[1] == 't';
        break;
      case Column::types:
        for (const std::string_view word : split(cell, ' ')) {
          const auto type = parse_dtype(word);
          if (!type || *type == DType::f64)
            refuse(place, fmt::format("the types are '{}'; give f16, bf16 or f32, several with one space between",
                                      core::shown(cell)));
          types.push_back(*type);
        }
        break;
      case Column::lda:
        one.lda = number_or(0, 0);
        break;
      case Column::ldb:
        one.ldb = number_or(0, 0);
        break;
      case Column::ldc:
        one.ldc = number_or(0, 0);
        break;
      case Column::offset:
        one.offset = number_or(0, 0);
        break;
      case Column::step:
        one.step = number_or(1, 1);
        break;
      case Column::stepb:
        one.stepb = number_or(0, 1);
        break;
    }
  }
  if (one.stepb == 0) one.stepb = one.step;
  one.lda = leading(one.lda, one.a_transposed ? one.m : one.k, one.step, "lda", place);
  one.ldb = leading(one.ldb, one.b_transposed ? one.k : one.n, one.stepb, "ldb", place);
  one.ldc = leading(one.ldc, one.n, 1, "ldc", place);
  std::vector<Case> cases;
  for (const DType type : types) {
    cases.push_back(one);
    cases.back().type = type;
  }
  return cases;
}

/// Calls work(begin, end) for parts of 0 .. count, on all threads if there is work for them.
void in_parts(i64 count, i64 worth_a_thread, const std::function<void(i64, i64)>& work) {
  Team team(std::clamp<i64>(count / worth_a_thread, 1, available_threads()));
  team.run([&](i64 member) { work(count * member / team.size(), count * (member + 1) / team.size()); });
}

template <class E>
void fill_uniform(Matrix& memory, unsigned long long seed) {
  E* const elements = memory.elements<E>();
  in_parts(memory.cols(), i64{1} << 18, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const unsigned long long bits = mix(seed + static_cast<unsigned long long>(i)) >> 40;  // 24 of them
      elements[i] = from_float<E>(static_cast<float>(bits) * 0x1p-23f - 1);
    }
  });
}

void fill_uniform(Matrix& memory, unsigned long long seed) {
  switch (memory.type()) {
    case DType::f16:
      return fill_uniform<f16>(memory, seed);
    case DType::bf16:
      return fill_uniform<bf16>(memory, seed);
    default:
      return fill_uniform<float>(memory, seed);
  }
}

Matrix memory_of(i64 offset, i64 stored_rows, i64 leading_dimension, DType type) {
  return Matrix(1, offset + stored_rows * leading_dimension, type);
}

}  // namespace

double Case::bytes() const {
  const auto product = [](i64 x, i64 y) { return static_cast<double>(x) * static_cast<double>(y); };
  return (product(m, k) + product(k, n)) * static_cast<double>(size_of(type)) +
         product(m, n) * static_cast<double>(size_of(output()));
}

std::vector<Case> parse_suite(std::string_view csv, std::string_view source) {
  std::vector<Column> columns;
  std::vector<Case> cases;
  std::set<std::pair<std::string, DType>> seen;
  core::csv::for_each_line(csv, source, [&](std::string_view line, const Place& place) {
    if (line.starts_with('#')) return;
    if (columns.empty()) {
      columns = parse_header(line, place);
      return;
    }
    for (Case& one : parse_line(line, columns, place)) {
      if (!seen.emplace(one.name, one.type).second)
        refuse(place, fmt::format("there is a case {} of type {} already", core::shown(one.name), name_of(one.type)));
      cases.push_back(std::move(one));
    }
  });
  if (cases.empty()) throw Error(ErrorCode::problem, fmt::format("{} holds no cases", source));
  return cases;
}

Job job_at(const Case& which, const void* a, const void* b, void* c, i64 threads) {
  const auto stored = [&](const void* memory, bool transposed, i64 rows, i64 cols, i64 ld, i64 step) {
    const void* const data = static_cast<const std::byte*>(memory) + which.offset * size_of(which.type);
    return transposed ? MatrixView{data, which.type, rows, cols, step, ld}
                      : MatrixView{data, which.type, rows, cols, ld, step};
  };
  void* const out = static_cast<std::byte*>(c) + which.offset * size_of(which.output());
  return {stored(a, which.a_transposed, which.m, which.k, which.lda, which.step),
          stored(b, which.b_transposed, which.k, which.n, which.ldb, which.stepb),
          {out, which.output(), which.m, which.n, which.ldc, 1},
          threads};
}

Problem problem_of(const Case& which) {
  alignas(256) static std::byte aligned[256];  // as an allocation is; nothing reads it: an address alone decides
  const Job job = job_at(which, aligned, aligned, aligned, 1);
  return tilewright::problem_of(job.a, job.b, job.c);
}

Operands::Operands(const Case& which)
    : case_(which),
      a_(memory_of(which.offset, which.a_transposed ? which.k : which.m, which.lda, which.type)),
      b_(memory_of(which.offset, which.b_transposed ? which.n : which.k, which.ldb, which.type)),
      c_(memory_of(which.offset, which.m, which.ldc, which.output())) {
  fill_uniform(a_, mix(1));
  fill_uniform(b_, mix(2));
  poison_output();
}

Job Operands::on_host(i64 threads) const {
  return job_at(case_, a_.view().data, b_.view().data, const_cast<void*>(c_.view().data), threads);
}

void Operands::poison_output() {
  std::memset(c_.view().data, poison, static_cast<std::size_t>(c_.cols() * size_of(c_.type())));
}

i64 Operands::untouched() const {
  const auto* const bytes = static_cast<const unsigned char*>(on_host(1).c.data);
  const i64 size = size_of(case_.output());
  std::atomic<i64> count = 0;
  in_parts(case_.m, cdiv(i64{1} << 18, case_.n), [&](i64 begin, i64 end) {
    i64 own = 0;
    for (i64 i = begin; i < end; ++i) {
      for (i64 j = 0; j < case_.n; ++j) {
        const unsigned char* const element = bytes + (i * case_.ldc + j) * size;
        own += std::all_of(element, element + size, [](unsigned char byte) { return byte == poison; }) ? 1 : 0;
      }
    }
    count += own;
  });
  return count;
}

}  // namespace tilewright::bench
