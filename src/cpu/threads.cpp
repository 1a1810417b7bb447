// How many threads an operation takes if its caller does not say: the cores that this process may use, or what the user
// set.
#include <cstdlib>

#include <tilewright/gemm.hpp>

#include "cpu/machine.hpp"

namespace tilewright {

i64 available_threads() {
  const char* const asked = std::getenv("TILEWRIGHT_THREADS");
  return asked == nullptr || *asked == '\0' ? this_cpu().cores : cpu::parse_thread_count(asked);
}

}  // namespace tilewright
