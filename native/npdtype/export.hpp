// Functions on tracked arrays for Python.
#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// Raises the error that explains why tracked values cannot be `done`, and what to do instead.
PyObject* refuse(const char* done);

// Returns [(name, index), ...] of a handle, by the function that was passed to set_naming().
PyObject* parents_of(Handle h);

PyObject* set_naming(PyObject* module, PyObject* function);
PyObject* track(PyObject* module, PyObject* array);
PyObject* values(PyObject* module, PyObject* array);
PyObject* handles(PyObject* module, PyObject* array);
PyObject* intervals(PyObject* module, PyObject* handle);
PyObject* runs(PyObject* module, PyObject* args);
PyObject* read_losses(PyObject* module, PyObject*);
PyObject* live_cells(PyObject* module, PyObject*);
PyObject* stored(PyObject* module, PyObject* objects);
PyObject* look(PyObject* module, PyObject*);
PyObject* statistics(PyObject* module, PyObject*);
PyObject* forget(PyObject* module, PyObject*);

// Returns the argument as an array of tracked cells, or nullptr with a TypeError.
PyArrayObject* tracked_array(PyObject* object);

}  // namespace whence::tracked
