// Programs over threads, behind one plain function, so that a user's kernel needs no compiler flag.
#pragma once

#include <tilewright/tile/element.hpp>

namespace tilewright::cpu {

/// More threads than this are never started.
inline constexpr i64 most_threads = 1024;

/// Calls run(context, number) for every number in [0, count), each once, in any order, on at most `threads` threads, in
/// the default floating-point environment. The first exception is thrown again here after the others have finished what
/// they began.
void for_each_program(i64 count, i64 threads, void (*run)(void* context, i64 number), void* context);

/// Keeps the code of this library for as long as the process lives, also where it came with a library that is closed:
/// threads of the team run it, and every thread that multiplied when it ends.
void stay_loaded();

}  // namespace tilewright::cpu
