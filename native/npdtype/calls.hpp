// The class that tracked arrays are made of, so that calls of ufuncs come here first.
#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// An ndarray whose calls of ufuncs give its own class again. New reference.
PyObject* make_held_type();

}  // namespace whence::tracked
