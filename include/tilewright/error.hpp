// Errors: everything the library refuses, as one exception type with a code from a catalogue.
//
// A message is one sentence that holds the actual values and, where it helps, a second that says what to do. Nothing
// has been written when an Error is thrown. docs/errors.md lists the catalogue; a test keeps the two equal.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tilewright {

enum class ErrorCode : unsigned char {
  // views
  negative_extent,  // an extent below zero
  address_range,    // a view whose byte offsets do not fit in 63 bits
  slice_syntax,     // a slice that does not parse, or gives one index where a range is needed
  slice_step_zero,  // a slice with step 0
  broadcast,        // extents that cannot be broadcast to the asked ones
  // the contract of gemm
  inner_extents,           // a's columns and b's rows differ
  output_extents,          // c does not have a's rows and b's columns
  input_types,             // a and b have different element types
  unsupported_type,        // an element type that cannot be multiplied or stored
  null_data,               // a view with elements but no memory
  output_overlaps_itself,  // two elements of c share memory
  output_overlaps_input,   // c shares memory with a or b
  workspace,               // the plan needs more workspace than the budget
  too_large,               // an output that cannot be allocated
  // plans and problems
  plan_syntax,       // plan text that does not parse
  plan_value,        // a plan field out of its range
  plan_unavailable,  // a valid plan that this machine or build cannot run
  problem,           // a program, step or element outside the problem
  target,            // an unknown or unavailable target
  // GPUs
  device,  // operands that are not all on one device
  driver,  // a call of the GPU's driver that failed
  kernel,  // a kernel that does not compile
  // files
  file_open,    // a file that cannot be opened, read, mapped or written
  npy_magic,    // not an .npy file
  npy_version,  // an .npy format version other than 1, 2, 3
  npy_header,   // a malformed .npy header
  npy_type,     // an .npy element type that is not f16, bf16, f32, f64
  npy_rank,     // an .npy array that is not a matrix
  npy_size,     // a file shorter or longer than its header says
};

/// One entry of the catalogue.
struct ErrorEntry {
  ErrorCode code;
  std::string_view name;     // as in the enumeration
  std::string_view trigger;  // what causes it
  std::string_view remedy;   // what to do
};

/// All entries, in the order of the enumeration.
std::span<const ErrorEntry> error_catalogue();

/// The name of a code, as in the enumeration.
std::string_view name_of(ErrorCode code);

/// The one exception type of the library.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace tilewright
