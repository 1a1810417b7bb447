// The ledger of a check: every buffer and view a kernel may touch, every access it makes, and what was wrong with it.
//
// Memory is never touched: an address is looked up, and an element's value is a random field element that depends on
// nothing but its place. So operands need no memory behind them, and a view of 2^40 elements is checked like any other.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tilewright/tile/check/field.hpp>
#include <tilewright/view.hpp>

namespace tilewright::exact {

/// What a kernel may do with a buffer.
enum class Role : unsigned char {
  input,        // read
  output,       // every element of its views written, once
  accumulated,  // starts as zeros; atomic_add, any number of times
  scratch,      // written by one launch, read by a later one
};

/// An allocation, and the matrices in it that the kernel is meant to touch.
struct Buffer {
  std::string name;
  Role role = Role::input;
  const void* base = nullptr;
  i64 bytes = 0;
  std::vector<MatrixView> views;  // none: all of the buffer
};

/// Kinds of fault, each with its words in fault messages.
enum class FaultKind : unsigned char {
  load_outside_buffer,
  load_outside_view,
  load_from_output,
  store_outside_buffer,
  store_outside_view,
  store_to_input,
  written_by_two_programs,
  written_twice,
  never_written,
  output_overlaps_input,
  wrong_k_count,
  wrong_value,
  wrong_partial_sum,
  refused,
};
std::string_view words(FaultKind kind);

/// The first fault of a kind: the message says what and where with its numbers. count: how many there were of the kind.
struct Fault {
  FaultKind kind;
  std::string message;
  i64 count;
};

/// The place in a kernel an access comes from.
struct Site {
  i64 program;
  i64 step;      // K steps completed by this program so far
  int row, col;  // position in the tile
};

/// The value an element of memory has in this run, before anything is written.
using Source = std::function<Field(std::size_t buffer, i64 element)>;

class Ledger {
 public:
  Ledger(const std::vector<Buffer>& buffers, Source source, bool report = true);

  Field load(const void* address, DType type, const Site& site);
  void store(const void* address, DType type, Field value, const Site& site, bool atomic);
  /// A logical index outside of a view whose very pointer and strides an access uses, though the address may be inside.
  void check_logical(const void* root, i64 row, i64 col, i64 row_stride, i64 col_stride, DType type, const Site& site,
                     bool is_store);

  void fault(FaultKind kind, const std::string& message);
  void begin_launch() { ++launch_; }

  struct Written {
    Field value;
    i64 program = -1;
    i64 launch = 0;
    int times = 0;
  };
  const Written* written(std::size_t buffer, i64 element) const;
  const std::vector<Buffer>& buffers() const { return buffers_; }
  std::vector<Fault>& faults() { return faults_; }
  i64 loads() const { return loads_; }
  i64 stores() const { return stores_; }

  /// The buffer that holds an address, and the element in it; -1 if none does.
  struct Place {
    std::ptrdiff_t buffer;
    i64 element;
  };
  Place find(const void* address, DType type) const;
  Field initial(std::size_t buffer, i64 element) const { return source_(buffer, element); }

 private:
  std::string at(const void* address, DType type) const;
  void check_inside_a_view(const Buffer& buffer, const void* address, DType type, const Site& site, FaultKind kind);

  const std::vector<Buffer>& buffers_;
  Source source_;
  bool report_;
  i64 launch_ = 0;
  i64 loads_ = 0, stores_ = 0;
  std::vector<std::unordered_map<i64, Written>> written_;
  std::vector<Fault> faults_;
};

/// Whether a view has an element at so many elements from its data pointer, and its logical index.
struct Logical {
  bool found;
  i64 row, col;
};
Logical locate(const MatrixView& view, i64 offset);

}  // namespace tilewright::exact
