#include <unordered_set>

#include "npdtype/export.hpp"

namespace whence::tracked {

namespace {

using Found = std::unordered_set<PyObject*>;

bool holds_lineage(PyObject* object) {
  if (PyArray_Check(object)) return is_tracked(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object)));
  return PyObject_TypeCheck(object, &ScalarType);
}

// The garbage collector does not track containers of numbers and arrays alone, so that no list of its objects has them.
bool is_apart(PyObject* object) {
  return (PyDict_Check(object) || PyTuple_Check(object)) && PyObject_GC_IsTracked(object) == 0;
}

int visit(PyObject* object, void* found) {
  if (holds_lineage(object)) {
    try {
      static_cast<Found*>(found)->insert(object);
    } catch (...) {
      return -1;
    }
    return 0;
  }
  return is_apart(object) ? Py_TYPE(object)->tp_traverse(object, visit, found) : 0;
}

}  // namespace

PyObject* stored(PyObject*, PyObject* objects) {
  if (!PyList_Check(objects)) {
    PyErr_SetString(PyExc_TypeError, "stored() takes a list of objects");
    return nullptr;
  }
  Found found;  // nothing below runs Python code until all are found, so that borrowed references stay good
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(objects); ++k) {
    PyObject* object = PyList_GET_ITEM(objects, k);
    const traverseproc traverse = PyObject_IS_GC(object) ? Py_TYPE(object)->tp_traverse : nullptr;
    if (traverse != nullptr && traverse(object, visit, &found) != 0) return PyErr_NoMemory();
  }
  Ref out(PyList_New(static_cast<Py_ssize_t>(found.size())));
  if (!out) return nullptr;
  Py_ssize_t at = 0;
  for (PyObject* each : found) PyList_SET_ITEM(out.get(), at++, Py_NewRef(each));
  return out.release();
}

}  // namespace whence::tracked
