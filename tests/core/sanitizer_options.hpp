// Under the address sanitizer a failed allocation is a null pointer, as without it, instead of the end of the program:
// the refusal of a matrix too large to allocate is tested. Included once in a test program that does so.
#pragma once

extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
