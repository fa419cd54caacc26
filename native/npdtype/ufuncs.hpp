#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// register_ufunc(ufunc) -> number of loops: adds loops for tracked operands to a ufunc that has float64 loops.
PyObject* register_ufunc(PyObject* module, PyObject* ufunc);

}  // namespace whence::tracked
