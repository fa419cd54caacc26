// whence._tracked: the dtype and its functions for Python.
#define WHENCE_TRACKED_IMPORTS
#include "npdtype/api.hpp"

#include "npdtype/arena.hpp"
#include "npdtype/calls.hpp"
#include "npdtype/export.hpp"
#include "npdtype/ufuncs.hpp"

namespace {

using namespace whence::tracked;

PyMethodDef functions[] = {
    {"track", track, METH_O, "A float64 array as a tracked one, and the number of its first cell."},
    {"register_ufunc", register_ufunc, METH_O, "Teach a ufunc tracked operands; how many loops it got."},
    {"values", values, METH_O, "The numbers of a tracked array, read-only, sharing its memory."},
    {"handles", handles, METH_O, "The handles of a tracked array, read-only, sharing its memory."},
    {"intervals", intervals, METH_O, "The cells of a handle: (n, 2) first numbers and ends, sorted."},
    {"runs", runs, METH_VARARGS, "Rows of moving boxes: runs(array, first, size, view, inner, start, limit)."},
    {"set_naming", set_naming, METH_O, "The function that turns intervals into names and indices."},
    {"losses", read_losses, METH_NOARGS, "(cells cast, floats taken, decisions, looks) of this thread so far."},
    {"live_cells", live_cells, METH_NOARGS, "How many cells there are on their own, outside of arrays."},
    {"stored", stored, METH_O, "The tracked arrays and cells that one of these objects refers to."},
    {"look", look, METH_NOARGS, "Counts one more look at values."},
    {"statistics", statistics, METH_NOARGS, "How much the lineage takes."},
    {"forget", forget, METH_NOARGS, "Drop all lineage."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_tracked", "The tracked dtype.", -1, functions,
                          nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__tracked() {
  import_array();
  import_umath();
  try {
    Arena::get();
  } catch (const std::exception&) {
    return PyErr_NoMemory();
  }
  if (init_scalar() < 0 || init_dtype() < 0 || init_sorting() < 0) return nullptr;
  Ref module(PyModule_Create(&definition));
  if (!module) return nullptr;
  if (PyModule_AddObjectRef(module.get(), "dtype", reinterpret_cast<PyObject*>(descriptor)) < 0) return nullptr;
  if (PyModule_AddObjectRef(module.get(), "scalar", reinterpret_cast<PyObject*>(&ScalarType)) < 0) return nullptr;
  Ref held(make_held_type());
  if (!held || PyModule_AddObjectRef(module.get(), "Held", held.get()) < 0) return nullptr;
  return module.release();
}
