// The functions of fmt, compiled once for the whole library. Debian ships fmt's shared library alone, which the relocatable
// binary cannot use, and fmt's header-only mode compiles all of this again in every file: 2.7 of a file's 3.5 seconds.
//
// They are weak, so that a program which brings its own fmt of the same version links with ours. cmake/own_target.cmake says
// for which versions this file is used.
#ifndef FMT_HEADER_ONLY

#include <fmt/format.h>

#undef FMT_FUNC
#define FMT_FUNC [[gnu::weak]]
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE

#endif
