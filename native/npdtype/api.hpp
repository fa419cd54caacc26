// NumPy's C API, included the same way by every file; only module.cpp imports it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_4_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL whence_tracked_array_api
#define PY_UFUNC_UNIQUE_SYMBOL whence_tracked_ufunc_api
#ifndef WHENCE_TRACKED_IMPORTS
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/ndarraytypes.h>
#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#include <memory>
#include <utility>

#include "npdtype/handle.hpp"

namespace whence::tracked {

struct Release {
  void operator()(PyObject* o) const { Py_XDECREF(o); }
};
using Ref = std::unique_ptr<PyObject, Release>;  // an owned reference

// The DType class, its only instance, and the type of its scalars.
extern PyArray_DTypeMeta DType;
extern PyArray_Descr* descriptor;
extern PyTypeObject ScalarType;

inline bool is_tracked(const PyArray_Descr* d) { return d == descriptor; }

struct Scalar {
  PyObject_HEAD
  Cell cell;
};
PyObject* new_scalar(Cell cell);
Py_ssize_t live_scalars();  // how many there are

// Losses of lineage in this thread.
struct Losses {
  uint64_t cast_cells = 0;  // cast to a plain dtype
  uint64_t floats = 0;      // float() and int() of a cell
  uint64_t decisions = 0;   // bool() of a cell, and comparisons of one
  uint64_t looks = 0;       // other results that depend on values and are not cells: masks, orders, indices, strings
};
Losses& losses();

// Converts the current C++ exception to a Python one. Needs the GIL.
void set_error();

// Runs the body of a loop without the GIL; returns -1 if it threw.
template <class Body>
int guarded(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    NPY_ALLOW_C_API_DEF
    NPY_ALLOW_C_API;
    set_error();
    NPY_DISABLE_C_API;
    return -1;
  }
}

// Each part of the module adds itself; returns -1 with a Python error if it cannot.
int init_scalar();
int init_dtype();
int init_sorting();
PyArrayMethod_Spec** cast_specs();
PyArray_ArrFuncs* legacy_functions();

// Sets the error for an address between two cells, which strides for float64 may lead to. Needs the GIL.
void set_cut_error();

PyObject* get_item(char* cell);
int set_item(PyObject* value, char* cell);

}  // namespace whence::tracked
