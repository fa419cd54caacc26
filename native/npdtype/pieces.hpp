// A long loop in pieces, on this thread and on a second one that helps where it can.
#pragma once

#include <functional>

#include "npdtype/api.hpp"

namespace whence::tracked {

// Loops over fewer cells than these are not worth a second thread.
inline constexpr npy_intp kLarge = npy_intp{1} << 17;

// Calls part(0, n), or part for pieces of that on two threads. Floating-point flags and exceptions of both come out here.
// `part` must not touch Python.
void in_pieces(npy_intp n, const std::function<void(npy_intp, npy_intp)>& part);

}  // namespace whence::tracked
