// Runs a long loop in pieces, on this thread and on a second one if it is free.
#pragma once

#include <functional>

#include "npdtype/api.hpp"

namespace whence::tracked {

// Loops over fewer cells are not worth a second thread.
inline constexpr npy_intp kLarge = npy_intp{1} << 17;

// Calls part(0, n), or part for pieces of that on two threads. Floating-point flags and exceptions of both are set or
// thrown here. `part` must not use Python.
void in_pieces(npy_intp n, const std::function<void(npy_intp, npy_intp)>& part);

}  // namespace whence::tracked
