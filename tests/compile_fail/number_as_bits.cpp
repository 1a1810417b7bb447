// expect: deleted
// A number where the bits of a half-precision element belong.
#include <tilewright/tile/element.hpp>

using namespace tilewright;

f16 half() { return f16(0.375f); }
