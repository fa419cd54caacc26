// The class of tracked arrays, which handles calls of ufuncs first.
#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// Returns an ndarray subclass whose ufunc calls return the same class. New reference.
PyObject* make_held_type();

}  // namespace whence::tracked
