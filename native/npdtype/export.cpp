#include "npdtype/export.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "npdtype/arena.hpp"
#include "npdtype/runs.hpp"
#include "npdtype/sets.hpp"

namespace whence::tracked {

namespace {

PyObject* naming = nullptr;

void raise(const char* error, const char* text) {
  Ref errors(PyImport_ImportModule("whence.errors"));
  Ref type(errors ? PyObject_GetAttrString(errors.get(), error) : nullptr);
  if (type) PyErr_SetString(type.get(), text);
}

PyObject* interval_list(Handle h) {
  std::vector<Block> blocks;
  std::vector<Interval> found;
  try {
    read(h, blocks);
    to_intervals(blocks, found);
  } catch (...) {
    set_error();
    return nullptr;
  }
  npy_intp shape[2] = {static_cast<npy_intp>(found.size()), 2};
  PyObject* out = PyArray_SimpleNew(2, shape, NPY_INT64);
  if (out == nullptr) return nullptr;
  auto* to = static_cast<int64_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(out)));
  for (const Interval& each : found) {
    *to++ = static_cast<int64_t>(each.start);
    *to++ = static_cast<int64_t>(each.end);
  }
  return out;
}

// Returns the half of each cell that begins at `offset`, as an array that shares its memory.
PyObject* half(PyObject* object, int type, size_t offset) {
  PyArrayObject* array = tracked_array(object);
  if (array == nullptr) return nullptr;
  PyObject* out = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type), PyArray_NDIM(array),
                                       PyArray_DIMS(array), PyArray_STRIDES(array), PyArray_BYTES(array) + offset, 0, nullptr);
  if (out == nullptr) return nullptr;
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(out), Py_NewRef(object)) < 0) {
    Py_DECREF(out);
    return nullptr;
  }
  return out;
}

}  // namespace

void set_error() {
  try {
    throw;
  } catch (const Forgotten& error) {
    raise("NoLineage", error.what());
  } catch (const NoHandle& error) {
    raise("BadType", error.what());
  } catch (const Full& error) {
    raise("TooLarge", error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void set_cut_error() {
  raise("BadType",
        "these strides cut tracked cells of 16 bytes apart: count in x.strides and x.itemsize of the tracked array itself");
}

PyObject* refuse(const char* done) {
  char text[400];
  snprintf(text, sizeof text,
           "a tracked array cannot be %s: its lineage lives in this process only; keep the numbers with "
           "whence.arrays.values(x) and the lineage with whence.relation_of(x, name).save(path)",
           done);
  raise("BadType", text);
  return nullptr;
}

PyArrayObject* tracked_array(PyObject* object) {
  if (PyArray_Check(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (is_tracked(PyArray_DESCR(array))) return array;
  }
  raise("BadType", "this is no tracked array; whence.tracked(array, name) makes one");
  return nullptr;
}

PyObject* set_naming(PyObject*, PyObject* function) {
  Py_XSETREF(naming, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyObject* parents_of(Handle h) {
  if (naming == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "import whence.arrays before asking for parents");
    return nullptr;
  }
  Ref found(interval_list(h));
  return found ? PyObject_CallOneArg(naming, found.get()) : nullptr;
}

PyObject* intervals(PyObject*, PyObject* handle) {
  const unsigned long long h = PyLong_AsUnsignedLongLong(handle);
  return PyErr_Occurred() ? nullptr : interval_list(h);
}

// track(float64 array) -> (tracked array, number of its first cell)
PyObject* track(PyObject*, PyObject* object) {
  Ref plain(PyArray_FROM_OTF(object, NPY_DOUBLE, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED));
  if (!plain) return nullptr;
  auto* in = reinterpret_cast<PyArrayObject*>(plain.get());
  const npy_intp n = PyArray_SIZE(in);
  uint64_t first = 0;
  try {
    first = Arena::get().number(static_cast<uint64_t>(n));
  } catch (...) {
    set_error();
    return nullptr;
  }
  Py_INCREF(descriptor);
  Ref out(PyArray_NewFromDescr(&PyArray_Type, descriptor, PyArray_NDIM(in), PyArray_DIMS(in), nullptr, nullptr, 0, nullptr));
  if (!out) return nullptr;
  const double* from = static_cast<const double*>(PyArray_DATA(in));
  Cell* to = static_cast<Cell*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(out.get())));
  Py_BEGIN_ALLOW_THREADS
  for (npy_intp i = 0; i < n; ++i) to[i] = {from[i], one_cell(first + static_cast<uint64_t>(i))};
  Py_END_ALLOW_THREADS
  return Py_BuildValue("NK", out.release(), static_cast<unsigned long long>(first));
}

// runs(array, first, size, view, inner, start, limit) -> (rows, index where it stopped)
PyObject* runs(PyObject*, PyObject* args) {
  PyObject *object, *view;
  unsigned long long first, size;
  Py_ssize_t inner, start, limit;
  if (!PyArg_ParseTuple(args, "OKKO!nnn", &object, &first, &size, &PyTuple_Type, &view, &inner, &start, &limit)) return nullptr;
  PyArrayObject* array = tracked_array(object);
  if (array == nullptr) return nullptr;
  if (!PyArray_IS_C_CONTIGUOUS(array) || inner < 1 || start < 0) {
    PyErr_SetString(PyExc_ValueError, "runs() needs a C-contiguous array and a positive inner length");
    return nullptr;
  }
  std::vector<int64_t> dims;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(view); ++k) dims.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(view, k)));
  if (PyErr_Occurred()) return nullptr;
  std::vector<int64_t> rows;
  size_t stopped = 0;
  const size_t width = 2 + 4 * dims.size();
  try {
    RunReader reader(first, size, dims, static_cast<size_t>(inner));
    stopped = reader.read(static_cast<const Cell*>(PyArray_DATA(array)), static_cast<size_t>(PyArray_SIZE(array)),
                          static_cast<size_t>(start), static_cast<size_t>(limit), rows);
  } catch (...) {
    set_error();
    return nullptr;
  }
  npy_intp shape[2] = {static_cast<npy_intp>(rows.size() / width), static_cast<npy_intp>(width)};
  PyObject* out = PyArray_SimpleNew(2, shape, NPY_INT64);
  if (out == nullptr) return nullptr;
  std::copy(rows.begin(), rows.end(), static_cast<int64_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(out))));
  return Py_BuildValue("Nn", out, static_cast<Py_ssize_t>(stopped));
}

PyObject* values(PyObject*, PyObject* array) { return half(array, NPY_DOUBLE, offsetof(Cell, value)); }
PyObject* handles(PyObject*, PyObject* array) { return half(array, NPY_UINT64, offsetof(Cell, handle)); }

PyObject* read_losses(PyObject*, PyObject*) {
  const Losses& mine = losses();
  return Py_BuildValue("KKKK", static_cast<unsigned long long>(mine.cast_cells),
                       static_cast<unsigned long long>(mine.floats), static_cast<unsigned long long>(mine.decisions),
                       static_cast<unsigned long long>(mine.looks));
}

PyObject* live_cells(PyObject*, PyObject*) { return PyLong_FromSsize_t(live_scalars()); }

PyObject* look(PyObject*, PyObject*) {
  ++losses().looks;
  Py_RETURN_NONE;
}

PyObject* statistics(PyObject*, PyObject*) {
  const Counts counts = Arena::get().counts();
  return Py_BuildValue("{s:K,s:K,s:K,s:K}", "arena_bytes", static_cast<unsigned long long>(counts.words * 8), "shapes",
                       static_cast<unsigned long long>(counts.shapes), "nodes",
                       static_cast<unsigned long long>(counts.nodes), "cells",
                       static_cast<unsigned long long>(counts.cells));
}

PyObject* forget(PyObject*, PyObject*) {
  Arena::get().forget();
  Py_RETURN_NONE;
}

}  // namespace whence::tracked
