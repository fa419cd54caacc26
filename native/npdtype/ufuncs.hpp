#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// register_ufunc(ufunc) -> how many loops: teaches a ufunc that has float64 loops to take tracked operands.
PyObject* register_ufunc(PyObject* module, PyObject* ufunc);

}  // namespace whence::tracked
