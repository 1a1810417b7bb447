// The catalogue of errors: one entry a code, in the order of the enumeration.
//
// docs/errors.md says the same at length; tests/core/error_test.cpp keeps the two equal, texts included.
#include <iterator>

#include <tilewright/error.hpp>

namespace tilewright {
namespace {

using enum ErrorCode;

constexpr ErrorEntry catalogue[] = {
    {negative_extent, "negative_extent", "an extent below zero", "give the number of rows and columns, which may be 0"},
    {address_range, "address_range",
     "a view whose byte offsets do not fit in 63 bits, or that wraps around the address space",
     "check the strides: they count elements, not bytes"},
    {slice_syntax, "slice_syntax", "a slice that does not parse, or that gives one index where a range is needed",
     "write start:stop:step for the rows and, after a comma, for the columns; 3:4 keeps one row"},
    {slice_step_zero, "slice_step_zero", "a slice with step 0",
     "give a step of 1 or more, or a negative one to walk backwards"},
    {broadcast, "broadcast", "extents that cannot be broadcast to the asked ones",
     "only an axis of extent 1 can be repeated; slice or transpose the matrix first"},
    {inner_extents, "inner_extents", "the columns of a and the rows of b differ in number",
     "transpose or slice an operand so that the inner extents agree"},
    {output_extents, "output_extents", "c does not have the rows of a and the columns of b",
     "give c the extents M x N"},
    {input_types, "input_types", "a and b have different element types", "convert one operand to the other's type"},
    {unsupported_type, "unsupported_type", "an element type that cannot be multiplied or stored",
     "convert to f16, bf16 or f32"},
    {null_data, "null_data", "a view with elements but no memory", "set the view's data, or make an extent 0"},
    {output_overlaps_itself, "output_overlaps_itself", "two elements of c share memory",
     "give c strides that keep its elements apart; stride 0 is for inputs only"},
    {output_overlaps_input, "output_overlaps_input", "c shares memory with a or b",
     "write to memory of its own, then copy"},
    {workspace, "workspace", "the plan needs more workspace than the budget",
     "raise the budget, or ask for a plan with fewer parts or split=none"},
    {too_large, "too_large", "a matrix that cannot be allocated",
     "multiply in parts, or write into a file or memory you provide"},
    {plan_syntax, "plan_syntax", "plan text that does not parse", "write a plan as `tilewright explain` prints it"},
    {plan_value, "plan_value", "a plan field out of its range", "use one of the values that the message lists"},
    {plan_unavailable, "plan_unavailable", "a valid plan that this machine or build cannot run",
     "leave the field out: the planner chooses one that can run"},
    {problem, "problem", "a program, step or element outside of the problem",
     "use numbers within the grid that the message gives"},
    {target, "target", "an unknown or unavailable target", "choose one that `tilewright info` lists"},
    {device, "device", "operands that are not all on one device",
     "move them to one device, or all of them to the host"},
    {driver, "driver", "a call of the GPU's driver that failed",
     "read the driver's words in the message; after some errors the process must be started again"},
    {kernel, "kernel", "a kernel that does not compile", "read the compiler's log in the message"},
    {file_open, "file_open", "a file that cannot be opened, read, mapped or written",
     "check the path, the permissions and the free space"},
    {npy_magic, "npy_magic", "a file that is not an .npy file", "save one matrix with numpy.save"},
    {npy_version, "npy_version", "an .npy format version other than 1.0, 2.0 and 3.0",
     "save again with a released version of NumPy"},
    {npy_header, "npy_header", "a malformed .npy header", "save the matrix again with numpy.save"},
    {npy_type, "npy_type", "an .npy element type that is not f16, bf16, f32 or f64",
     "convert with astype before saving; for bfloat16, say that two-byte elements are bf16"},
    {npy_rank, "npy_rank", "an .npy array that is not a matrix", "reshape to two axes before saving"},
    {npy_size, "npy_size", "a file shorter or longer than its header says", "copy or save the file again"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(catalogue); ++i) {
    if (static_cast<std::size_t>(catalogue[i].code) != i) return false;
  }
  return true;
}
static_assert(in_order(), "an entry of the catalogue is missing or out of the order of ErrorCode");
static_assert(std::size(catalogue) == static_cast<std::size_t>(npy_size) + 1, "ErrorCode has a code without an entry");

}  // namespace

std::span<const ErrorEntry> error_catalogue() { return catalogue; }

std::string_view name_of(ErrorCode code) { return catalogue[static_cast<std::size_t>(code)].name; }

}  // namespace tilewright
