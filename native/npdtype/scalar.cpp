// One tracked cell as a Python object. It is a np.floating, so that NumPy's own functions treat it as a number, and its
// arithmetic uses the ufuncs, so that it keeps its lineage.
#include "npdtype/api.hpp"

#include <atomic>

#include "npdtype/export.hpp"

namespace whence::tracked {

PyTypeObject ScalarType = {PyVarObject_HEAD_INIT(nullptr, 0)};

Losses& losses() {
  static thread_local Losses mine;
  return mine;
}

namespace {
std::atomic<Py_ssize_t> alive{0};
}
Py_ssize_t live_scalars() { return alive.load(std::memory_order_relaxed); }

PyObject* new_scalar(Cell cell) {
  Scalar* s = PyObject_New(Scalar, &ScalarType);
  if (s != nullptr) alive.fetch_add(1, std::memory_order_relaxed);
  if (s == nullptr) return nullptr;
  s->cell = cell;
  return reinterpret_cast<PyObject*>(s);
}

namespace {

void free_scalar(PyObject* self) {
  alive.fetch_sub(1, std::memory_order_relaxed);
  PyObject_Free(self);
}

const Cell& cell_of(PyObject* self) { return reinterpret_cast<Scalar*>(self)->cell; }

PyObject* numpy_function(const char* name) {
  static PyObject* numpy = PyImport_ImportModule("numpy");
  return numpy ? PyObject_GetAttrString(numpy, name) : nullptr;
}

PyObject* call(const char* ufunc, PyObject* a, PyObject* b = nullptr) {
  Ref f(numpy_function(ufunc));
  return f ? PyObject_CallFunctionObjArgs(f.get(), a, b, nullptr) : nullptr;
}

PyObject* add(PyObject* a, PyObject* b) { return call("add", a, b); }
PyObject* subtract(PyObject* a, PyObject* b) { return call("subtract", a, b); }
PyObject* multiply(PyObject* a, PyObject* b) { return call("multiply", a, b); }
PyObject* divide(PyObject* a, PyObject* b) { return call("true_divide", a, b); }
PyObject* floor_divide(PyObject* a, PyObject* b) { return call("floor_divide", a, b); }
PyObject* remainder(PyObject* a, PyObject* b) { return call("remainder", a, b); }
PyObject* div_mod(PyObject* a, PyObject* b) { return call("divmod", a, b); }
PyObject* matrix(PyObject* a, PyObject* b) { return call("matmul", a, b); }
PyObject* negative(PyObject* a) { return call("negative", a); }
PyObject* absolute(PyObject* a) { return call("absolute", a); }
PyObject* positive(PyObject* a) { return Py_NewRef(a); }

PyObject* power(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call("power", a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  static const char* const names[] = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};
  ++losses().decisions;
  return call(names[op], a, b);
}

PyObject* to_float(PyObject* self) {
  ++losses().floats;
  return PyFloat_FromDouble(cell_of(self).value);
}

PyObject* to_int(PyObject* self) {
  ++losses().floats;
  return PyLong_FromDouble(cell_of(self).value);
}

int to_bool(PyObject* self) {
  ++losses().decisions;
  return cell_of(self).value != 0;
}

// Returns the number for a string.
PyObject* told(PyObject* self) {
  ++losses().looks;
  return PyFloat_FromDouble(cell_of(self).value);
}

Py_hash_t hash(PyObject* self) {
  ++losses().looks;
  return _Py_HashDouble(self, cell_of(self).value);
}

PyObject* repr(PyObject* self) {
  Ref value(told(self));
  return value ? PyUnicode_FromFormat("tracked(%R)", value.get()) : nullptr;
}

PyObject* str(PyObject* self) {
  Ref value(told(self));
  return value ? PyObject_Str(value.get()) : nullptr;
}

PyObject* format(PyObject* self, PyObject* spec) {
  Ref value(told(self));
  return value ? PyObject_Format(value.get(), spec) : nullptr;
}

// tracked(x) for a cell, a tracked array (like np.float64 for arrays) or a number.
PyObject* create(PyTypeObject*, PyObject* args, PyObject* keywords) {
  PyObject* value = nullptr;
  if (keywords != nullptr && PyDict_GET_SIZE(keywords) != 0) {
    PyErr_SetString(PyExc_TypeError, "a tracked scalar takes no keywords");
    return nullptr;
  }
  if (!PyArg_ParseTuple(args, "|O", &value)) return nullptr;
  if (value == nullptr) return new_scalar({0, 0});
  if (Py_IS_TYPE(value, &ScalarType)) return Py_NewRef(value);
  if (PyArray_Check(value)) {
    auto* array = reinterpret_cast<PyArrayObject*>(value);
    if (is_tracked(PyArray_DESCR(array))) {
      return PyArray_NDIM(array) == 0 ? get_item(PyArray_BYTES(array)) : Py_NewRef(value);
    }
  }
  const double number = PyFloat_AsDouble(value);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  return new_scalar({number, 0});
}

PyObject* get_dtype(PyObject*, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(descriptor)); }
PyObject* get_value(PyObject* self, void*) { return PyFloat_FromDouble(cell_of(self).value); }
PyObject* get_handle(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(cell_of(self).handle); }
PyObject* get_parents(PyObject* self, void*) { return parents_of(cell_of(self).handle); }

PyObject* refuse_pickle(PyObject*, PyObject*) { return refuse("pickled"); }

PyGetSetDef attributes[] = {
    {"dtype", get_dtype, nullptr, "The tracked dtype.", nullptr},
    {"value", get_value, nullptr, "The number alone, as a float.", nullptr},
    {"parents", get_parents, nullptr, "The cells it came from: [(name, index), ...], sorted.", nullptr},
    {"_handle", get_handle, nullptr, "Its lineage, in 64 bits.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__format__", format, METH_O, nullptr},
                         {"__reduce__", refuse_pickle, METH_NOARGS, nullptr},
                         {"__reduce_ex__", refuse_pickle, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyNumberMethods numbers;

}  // namespace

int init_scalar() {
  numbers.nb_add = add;
  numbers.nb_subtract = subtract;
  numbers.nb_multiply = multiply;
  numbers.nb_true_divide = divide;
  numbers.nb_floor_divide = floor_divide;
  numbers.nb_remainder = remainder;
  numbers.nb_divmod = div_mod;
  numbers.nb_matrix_multiply = matrix;
  numbers.nb_power = power;
  numbers.nb_negative = negative;
  numbers.nb_absolute = absolute;
  numbers.nb_positive = positive;
  numbers.nb_float = to_float;
  numbers.nb_int = to_int;
  numbers.nb_bool = to_bool;
  ScalarType.tp_name = "whence.arrays.tracked_float64";
  ScalarType.tp_doc = "One cell of a tracked array: a number that knows its parents.";
  ScalarType.tp_basicsize = sizeof(Scalar);
  ScalarType.tp_flags = Py_TPFLAGS_DEFAULT;
  ScalarType.tp_base = &PyFloatingArrType_Type;
  ScalarType.tp_new = create;
  ScalarType.tp_dealloc = free_scalar;
  ScalarType.tp_repr = repr;
  ScalarType.tp_str = str;
  ScalarType.tp_hash = hash;
  ScalarType.tp_as_number = &numbers;
  ScalarType.tp_richcompare = compare;
  ScalarType.tp_getset = attributes;
  ScalarType.tp_methods = methods;
  return PyType_Ready(&ScalarType);
}

}  // namespace whence::tracked
