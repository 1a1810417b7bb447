// The text form of plans, both ways. One table of fields serves the parser and its messages.
//
// A word that is no field, or not shaped like one, is plan_syntax; a field whose number or name is out of its range is
// plan_value.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include <tilewright/error.hpp>
#include <tilewright/plan.hpp>

namespace tilewright {
namespace {

constexpr std::string_view all_fields =
    "BMxBNxBK (first), wN, sN, tN, cN, order=linear|grouped(G), split=none|split_k(S)|cluster(S), a= and "
    "b=pack|gather|direct|async_copy|realign|tma, mma=portable|avx2|avx512|avx512_bf16|mma_sync|wgmma|fma, pack(a), "
    "pack(b), pack(a,b), rest=none|rows(R)|cols(R)";

constexpr std::array<std::pair<std::string_view, Mover>, 6> movers = {{{"pack", Mover::pack},
                                                                       {"gather", Mover::gather},
                                                                       {"direct", Mover::direct},
                                                                       {"async_copy", Mover::async_copy},
                                                                       {"realign", Mover::realign},
                                                                       {"tma", Mover::tma}}};
constexpr std::array<std::pair<std::string_view, Mma>, 7> mmas = {{{"portable", Mma::portable},
                                                                   {"avx2", Mma::avx2},
                                                                   {"avx512", Mma::avx512},
                                                                   {"avx512_bf16", Mma::avx512_bf16},
                                                                   {"mma_sync", Mma::mma_sync},
                                                                   {"wgmma", Mma::wgmma},
                                                                   {"fma", Mma::fma}}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [name, entry] : table) {
    if (entry == value) return name;
  }
  return "?";
}

[[noreturn]] void refuse(ErrorCode code, std::string_view word, std::string_view allowed) {
  throw Error(code, fmt::format("plan word '{}': {}.", word, allowed));
}

[[noreturn]] void refuse_unknown(std::string_view word) {
  throw Error(ErrorCode::plan_syntax,
              fmt::format("plan word '{}' is not a field of a plan. The fields are {}.", word, all_fields));
}

/// A whole number from 1 to 2^63 - 1. What is no number is a fault of syntax; a number out of range is one of value.
i64 positive(std::string_view digits, std::string_view word, std::string_view shape) {
  const bool negative = digits.starts_with('-');
  const std::string_view magnitude = digits.substr(negative ? 1 : 0);
  if (magnitude.empty() || magnitude.find_first_not_of("0123456789") != std::string_view::npos) {
    refuse(ErrorCode::plan_syntax, word, fmt::format("'{}' is not a whole number; write {}", digits, shape));
  }
  i64 value = 0;
  const auto [end, error] = std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), value);
  static_cast<void>(end);
  if (negative || error != std::errc{} || value < 1) {
    refuse(ErrorCode::plan_value, word,
           fmt::format("{} is out of range; {} takes numbers from 1 to 9223372036854775807", digits, shape));
  }
  return value;
}

/// The number in "name(number)", or nothing if the text has another shape.
std::optional<std::string_view> argument_of(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
  return text.substr(1, text.size() - 2);
}

TileShape parse_tile(std::string_view word) {
  std::array<i64, 3> extents{};
  std::string_view rest = word;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t end = rest.find('x');
    if ((end == std::string_view::npos) != (axis == 2)) {
      refuse(ErrorCode::plan_syntax, word, "a tile is BMxBNxBK, for example 64x32x32");
    }
    extents[axis] = positive(rest.substr(0, end), word, "BMxBNxBK");
    rest = axis == 2 ? std::string_view{} : rest.substr(end + 1);
  }
  return {extents[0], extents[1], extents[2]};
}

Order parse_order(std::string_view value, std::string_view word) {
  if (value == "linear") return {};
  if (const auto group = argument_of(value, "grouped")) {
    return {OrderKind::grouped, positive(*group, word, "order=grouped(G)")};
  }
  if (value.starts_with("grouped")) refuse(ErrorCode::plan_syntax, word, "a grouped order is order=grouped(G)");
  refuse(ErrorCode::plan_value, word, "allowed are order=linear and order=grouped(G)");
}

Split parse_split(std::string_view value, std::string_view word) {
  if (value == "none") return {};
  if (const auto parts = argument_of(value, "split_k")) {
    return {SplitKind::split_k, positive(*parts, word, "split=split_k(S)")};
  }
  if (const auto parts = argument_of(value, "cluster")) {
    return {SplitKind::cluster, positive(*parts, word, "split=cluster(S)")};
  }
  if (value.starts_with("split_k") || value.starts_with("cluster")) {
    refuse(ErrorCode::plan_syntax, word, "a split of K is split=split_k(S) or split=cluster(S)");
  }
  refuse(ErrorCode::plan_value, word, "allowed are split=none, split=split_k(S) and split=cluster(S)");
}

Rest parse_rest(std::string_view value, std::string_view word) {
  if (value == "none") return {};
  if (const auto count = argument_of(value, "rows")) return {RestKind::rows, positive(*count, word, "rest=rows(R)")};
  if (const auto count = argument_of(value, "cols")) return {RestKind::cols, positive(*count, word, "rest=cols(R)")};
  if (value.starts_with("rows") || value.starts_with("cols")) {
    refuse(ErrorCode::plan_syntax, word, "a rest of C is rest=rows(R) or rest=cols(R)");
  }
  refuse(ErrorCode::plan_value, word, "allowed are rest=none, rest=rows(R) and rest=cols(R)");
}

template <class Table>
auto parse_name(const Table& table, std::string_view value, std::string_view word) {
  std::string allowed;
  for (const auto& [name, entry] : table) {
    if (name == value) return entry;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name);
  }
  refuse(ErrorCode::plan_value, word, fmt::format("'{}' is unknown; allowed are {}", value, allowed));
}

template <class Field, class Value>
void set_once(std::optional<Field>& field, const Value& value, std::string_view word, std::string_view name) {
  if (field) refuse(ErrorCode::plan_syntax, word, fmt::format("the field {} is given twice; give it once", name));
  field = value;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "w4", "s3": a letter and a number. "split=…" and "s" alone are not.
bool is_counted(std::string_view word, char letter) {
  return word.size() > 1 && word[0] == letter && (is_digit(word[1]) || word[1] == '-');
}

Packing parse_packing(std::string_view word) {
  for (const Packing packing : {Packing{true, false}, Packing{false, true}, Packing{true, true}}) {
    if (word == to_string(packing)) return packing;
  }
  refuse(ErrorCode::plan_value, word, "allowed are pack(a), pack(b) and pack(a,b)");
}

void parse_word(std::string_view word, bool first, PlanRequest& request) {
  if (is_digit(word[0]) || word[0] == '-') {
    if (request.tile) refuse(ErrorCode::plan_syntax, word, "the field BMxBNxBK is given twice; give it once");
    if (!first) refuse(ErrorCode::plan_syntax, word, "the tile BMxBNxBK comes first in a plan");
    request.tile = parse_tile(word);
  } else if (is_counted(word, 'w')) {
    set_once(request.warps, positive(word.substr(1), word, "wN"), word, "wN");
  } else if (is_counted(word, 's')) {
    set_once(request.stages, positive(word.substr(1), word, "sN"), word, "sN");
  } else if (is_counted(word, 't')) {
    set_once(request.teams, positive(word.substr(1), word, "tN"), word, "tN");
  } else if (is_counted(word, 'c')) {
    set_once(request.cluster, positive(word.substr(1), word, "cN"), word, "cN");
  } else if (word.starts_with("pack(")) {
    set_once(request.packing, parse_packing(word), word, "pack(…)");
  } else {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) refuse_unknown(word);
    const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "order") {
      set_once(request.order, parse_order(value, word), word, name);
    } else if (name == "split") {
      set_once(request.split, parse_split(value, word), word, name);
    } else if (name == "rest") {
      set_once(request.rest, parse_rest(value, word), word, name);
    } else if (name == "a") {
      set_once(request.a, parse_name(movers, value, word), word, name);
    } else if (name == "b") {
      set_once(request.b, parse_name(movers, value, word), word, name);
    } else if (name == "mma") {
      set_once(request.mma, parse_name(mmas, value, word), word, name);
    } else {
      refuse_unknown(word);
    }
  }
}

}  // namespace

PlanRequest parse_plan(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  PlanRequest request;
  bool first = true;
  for (std::size_t at = text.find_first_not_of(spaces); at != std::string_view::npos;) {
    const std::size_t end = text.find_first_of(spaces, at);
    parse_word(text.substr(at, end - at), first, request);
    first = false;
    at = end == std::string_view::npos ? end : text.find_first_not_of(spaces, end);
  }
  return request;
}

std::string to_string(const Packing& packing) {
  return packing.a && packing.b ? "pack(a,b)" : packing.a ? "pack(a)" : packing.b ? "pack(b)" : "";
}
std::string to_string(const Split& split) {
  return split.kind == SplitKind::none      ? "none"
         : split.kind == SplitKind::split_k ? fmt::format("split_k({})", split.parts)
                                            : fmt::format("cluster({})", split.parts);
}
std::string to_string(const Rest& rest) {
  return rest.kind == RestKind::none ? "none"
                                     : fmt::format("{}({})", rest.kind == RestKind::rows ? "rows" : "cols", rest.count);
}
std::string to_string(Mma mma) { return std::string(name_in(mmas, mma)); }
std::string to_string(Mover mover) { return std::string(name_in(movers, mover)); }

std::string to_string(const Plan& plan) {
  const std::string order =
      plan.order.kind == OrderKind::linear ? "linear" : fmt::format("grouped({})", plan.order.group);
  // Teams and clusters are a matter of plans by tma alone.
  const bool boxed = plan.a == Mover::tma || plan.b == Mover::tma;
  std::string teams = plan.teams > 1 || boxed ? fmt::format(" t{}", plan.teams) : "";
  if (plan.cluster > 1 || boxed) teams += fmt::format(" c{}", plan.cluster);
  std::string beside = plan.packing.any() ? " " + to_string(plan.packing) : "";
  if (plan.rest.any()) beside += " rest=" + to_string(plan.rest);
  return fmt::format("{}x{}x{} w{} s{}{} order={} split={} a={} b={} mma={}{}", plan.tile.m, plan.tile.n, plan.tile.k,
                     plan.warps, plan.stages, teams, order, to_string(plan.split), name_in(movers, plan.a),
                     name_in(movers, plan.b), name_in(mmas, plan.mma), beside);
}

}  // namespace tilewright
