#include "cuda/lz.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace tilewright::cuda {
namespace {

constexpr std::size_t hashed_bytes = 6, shortest_repeat = 4;  // of a new distance; of the last distance again
constexpr int most_tried = 32;                                // places that share a hash
constexpr int hash_bits = 20;

void put_number(std::string& out, std::size_t value) {
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>((value & 127) | 128));
  out.push_back(static_cast<char>(value));
}

struct Repeat {
  std::size_t length = 0, distance = 0;
  std::size_t gain = 0;  // bytes that it saves, about
};

/// Finds repetitions of what was entered before.
class Finder {
 public:
  explicit Finder(std::string_view bytes)
      : bytes_(bytes), first_(std::size_t{1} << hash_bits, none), next_(bytes.size(), none) {}

  void enter(std::size_t at) {
    if (at + sizeof(std::uint64_t) > bytes_.size()) return;
    std::size_t& first = first_[hash(at)];
    next_[at] = first;
    first = at;
  }
  Repeat find(std::size_t at, std::size_t last_distance) const {
    Repeat best;
    if (at + sizeof(std::uint64_t) > bytes_.size()) return best;
    if (last_distance > 0) {
      const std::size_t length = common(at, at - last_distance);
      if (length >= shortest_repeat) best = {length, last_distance, length - 2};
    }
    std::size_t from = first_[hash(at)];
    for (int tried = 0; tried < most_tried && from != none; ++tried, from = next_[from]) {
      const std::size_t length = common(at, from), distance = at - from;
      const std::size_t cost = 2 + (distance >= 128) + (distance >= 1 << 14) + (distance >= 1 << 21);
      if (length >= hashed_bytes && length > best.gain + cost) best = {length, distance, length - cost};
    }
    return best;
  }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);

  std::size_t hash(std::size_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + at, hashed_bytes);
    return static_cast<std::size_t>(word * 0x9e3779b97f4a7c15u >> (64 - hash_bits));
  }
  std::size_t common(std::size_t at, std::size_t from) const {
    std::size_t length = 0;
    while (at + length < bytes_.size() && bytes_[at + length] == bytes_[from + length]) ++length;
    return length;
  }

  std::string_view bytes_;
  std::vector<std::size_t> first_, next_;
};

/// Reads integers and literals; every read that does not fit fails, and all after it.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool failed() const { return failed_; }
  bool at_end() const { return bytes_.empty(); }

  std::size_t number() {
    std::size_t value = 0;
    for (int shift = 0; shift < 56; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::size_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    failed_ = true;
    return 0;
  }
  std::string_view literals(std::size_t count) {
    if (count > bytes_.size()) failed_ = true;
    const std::string_view taken = bytes_.substr(0, failed_ ? 0 : count);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace

std::string compress(std::string_view bytes) {
  std::string out;
  Finder finder(bytes);
  std::size_t literals_from = 0, last_distance = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Repeat repeat = finder.find(at, last_distance);
    finder.enter(at);
    // One byte later there may be a better one.
    if (repeat.length == 0 || finder.find(at + 1, last_distance).gain > repeat.gain + 1) {
      ++at;
      continue;
    }
    put_number(out, at - literals_from);
    out += bytes.substr(literals_from, at - literals_from);
    put_number(out, repeat.length);
    put_number(out, repeat.distance == last_distance ? 0 : repeat.distance);
    last_distance = repeat.distance;
    for (std::size_t i = 1; i < repeat.length; ++i) finder.enter(at + i);
    literals_from = at += repeat.length;
  }
  put_number(out, bytes.size() - literals_from);
  out += bytes.substr(literals_from);
  return out;
}

std::optional<std::string> decompress(std::string_view packed, std::size_t size, std::size_t needed) {
  Reader reader(packed);
  std::string out;
  out.reserve(size);
  const auto enough = [&] { return out.size() >= needed; };
  std::size_t distance = 0;
  while (true) {
    const std::size_t count = reader.number();
    out += reader.literals(count);
    if (reader.failed() || out.size() > size) return std::nullopt;
    if (reader.at_end() || enough()) break;
    const std::size_t length = reader.number(), given = reader.number();
    if (given != 0) distance = given;
    if (reader.failed() || distance == 0 || distance > out.size() || length > size - out.size()) return std::nullopt;
    if (distance >= length) {
      out.append(out, out.size() - distance, length);
    } else {  // it repeats what it writes
      for (std::size_t i = 0; i < length; ++i) out.push_back(out[out.size() - distance]);
    }
  }
  if (out.size() != size && !enough()) return std::nullopt;
  return out;
}

}  // namespace tilewright::cuda
