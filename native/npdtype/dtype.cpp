// The dtype itself: a legacy descriptor, which np.dot, np.correlate and similar functions need, whose class is a
// new-style DType, which everything else uses.
#include "npdtype/api.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "npdtype/export.hpp"

namespace whence::tracked {

PyArray_DTypeMeta DType = {};
PyArray_Descr* descriptor = nullptr;

namespace {

PyArray_Descr* the_descriptor() {
  Py_INCREF(descriptor);
  return descriptor;
}
PyArray_Descr* default_descr(PyArray_DTypeMeta*) { return the_descriptor(); }
PyArray_Descr* discover(PyArray_DTypeMeta*, PyObject*) { return the_descriptor(); }
PyArray_Descr* canonical(PyArray_Descr*) { return the_descriptor(); }
PyArray_Descr* common_instance(PyArray_Descr*, PyArray_Descr*) { return the_descriptor(); }

// The result with a dtype that fits into a float64 is tracked. Any other dtype has no common dtype with it.
PyArray_DTypeMeta* common(PyArray_DTypeMeta* self, PyArray_DTypeMeta* other) {
  const int number = other->type_num;
  const bool plain = number >= 0 && number < NPY_NTYPES_LEGACY &&
                     (PyTypeNum_ISBOOL(number) || PyTypeNum_ISINTEGER(number) || number == NPY_FLOAT || number == NPY_DOUBLE);
  if (plain || other == &PyArray_PyLongDType || other == &PyArray_PyFloatDType) {
    Py_INCREF(self);
    return self;
  }
  Py_INCREF(Py_NotImplemented);
  return reinterpret_cast<PyArray_DTypeMeta*>(Py_NotImplemented);
}

int set(PyArray_Descr*, PyObject* value, char* p) { return set_item(value, p); }
PyObject* get(PyArray_Descr*, char* p) { return get_item(p); }

int constant(PyArray_Descr*, int which, void* out) {
  using Limits = std::numeric_limits<double>;
  double value = 0;
  switch (which) {
    case NPY_CONSTANT_zero: value = 0; break;
    case NPY_CONSTANT_one: value = 1; break;
    case NPY_CONSTANT_maximum_finite: value = Limits::max(); break;
    case NPY_CONSTANT_minimum_finite: value = Limits::lowest(); break;
    case NPY_CONSTANT_inf: value = Limits::infinity(); break;
    case NPY_CONSTANT_ninf: value = -Limits::infinity(); break;
    case NPY_CONSTANT_nan: value = Limits::quiet_NaN(); break;
    case NPY_CONSTANT_finfo_radix: value = 2; break;
    case NPY_CONSTANT_finfo_eps: value = Limits::epsilon(); break;
    case NPY_CONSTANT_finfo_smallest_normal: value = Limits::min(); break;
    case NPY_CONSTANT_finfo_smallest_subnormal: value = Limits::denorm_min(); break;
    case NPY_CONSTANT_finfo_nmant: *static_cast<npy_intp*>(out) = 52; return 1;
    case NPY_CONSTANT_finfo_min_exp: *static_cast<npy_intp*>(out) = -1021; return 1;
    case NPY_CONSTANT_finfo_max_exp: *static_cast<npy_intp*>(out) = 1024; return 1;
    case NPY_CONSTANT_finfo_decimal_digits: *static_cast<npy_intp*>(out) = 15; return 1;
    default: return 0;
  }
  const Cell cell = {value, 0};
  std::memcpy(out, &cell, sizeof cell);
  return 1;
}

PyObject* create(PyTypeObject*, PyObject*, PyObject*) { return reinterpret_cast<PyObject*>(the_descriptor()); }
PyObject* repr(PyObject*) { return PyUnicode_FromString("TrackedFloat64"); }
PyObject* itself(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }
PyObject* is_instance(PyObject* self, PyObject* other) { return PyBool_FromLong(Py_TYPE(other) == Py_TYPE(self)); }
PyObject* refuse_pickle(PyObject*, PyObject*) { return refuse("pickled"); }
// Only np.save calls this: it is the only way to stop it from writing handles into a file.
PyObject* no_format(PyObject*, void*) { return refuse("saved"); }

PyMethodDef methods[] = {{"__reduce__", refuse_pickle, METH_NOARGS, nullptr},
                         {"__reduce_ex__", refuse_pickle, METH_O, nullptr},
                         {"__instancecheck__", is_instance, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef attributes[] = {{"str", no_format, nullptr, nullptr, nullptr},
                            {"descr", no_format, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

int init_class() {
  auto* type = reinterpret_cast<PyTypeObject*>(&DType);
  type->tp_name = "whence.arrays.TrackedFloat64DType";
  type->tp_doc = "float64 whose cells know where they came from.";
  type->tp_basicsize = sizeof(PyArray_Descr);
  type->tp_new = create;
  type->tp_repr = repr;
  type->tp_str = repr;
  type->tp_call = itself;
  type->tp_methods = methods;
  type->tp_getset = attributes;
  type->tp_flags = Py_TPFLAGS_DEFAULT;
  type->tp_base = &PyArrayDescr_Type;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(type), 1);
  Py_SET_TYPE(reinterpret_cast<PyObject*>(type), &PyArrayDTypeMeta_Type);
  if (PyType_Ready(type) < 0) return -1;

  static PyType_Slot slots[] = {
      {NPY_DT_default_descr, reinterpret_cast<void*>(default_descr)},
      {NPY_DT_discover_descr_from_pyobject, reinterpret_cast<void*>(discover)},
      {NPY_DT_ensure_canonical, reinterpret_cast<void*>(canonical)},
      {NPY_DT_common_instance, reinterpret_cast<void*>(common_instance)},
      {NPY_DT_common_dtype, reinterpret_cast<void*>(common)},
      {NPY_DT_setitem, reinterpret_cast<void*>(set)},
      {NPY_DT_getitem, reinterpret_cast<void*>(get)},
      {NPY_DT_get_constant, reinterpret_cast<void*>(constant)},
      {0, nullptr}};
  PyArrayDTypeMeta_Spec spec = {&ScalarType, NPY_DT_NUMERIC, cast_specs(), slots, nullptr};
  return PyArrayInitDTypeMeta_FromSpec(&DType, &spec);
}

// Registers the legacy descriptor and makes it the only instance of the class.
int init_descriptor() {
  static PyArray_DescrProto proto = {};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&proto), 1);
  Py_SET_TYPE(reinterpret_cast<PyObject*>(&proto), &PyArrayDescr_Type);
  proto.typeobj = &PyBaseObject_Type;
  proto.kind = 'V';
  proto.type = 'T';
  proto.byteorder = '=';
  // Without NEEDS_INIT np.empty would leave invalid handles; with LIST_PICKLE ndarray.tofile raises an error.
  proto.flags = NPY_NEEDS_INIT | NPY_USE_GETITEM | NPY_USE_SETITEM | NPY_LIST_PICKLE;
  proto.elsize = sizeof(Cell);
  proto.alignment = kAlignment;  // so that NumPy never passes strides that split cells to a loop
  proto.f = legacy_functions();
  proto.hash = -1;
  const int number = PyArray_RegisterDataType(&proto);
  if (number < 0) return -1;
  descriptor = PyArray_DescrFromType(number);
  if (descriptor == nullptr) return -1;
  constexpr npy_uint64 legacy = 1;  // the flag that NumPy sets on such classes
  DType.type_num = number;
  DType.singleton = descriptor;
  DType.flags |= legacy;
  Py_INCREF(descriptor);
  Py_INCREF(reinterpret_cast<PyObject*>(&DType));
  Py_SET_TYPE(reinterpret_cast<PyObject*>(descriptor), reinterpret_cast<PyTypeObject*>(&DType));
  Py_INCREF(reinterpret_cast<PyObject*>(&ScalarType));
  descriptor->typeobj = &ScalarType;
  *PyDataType_GetArrFuncs(descriptor) = *legacy_functions();
  return 0;
}

}  // namespace

int init_dtype() { return init_class() < 0 ? -1 : init_descriptor(); }

}  // namespace whence::tracked
