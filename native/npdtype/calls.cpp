#include "npdtype/calls.hpp"

#include <cfenv>
#include <string_view>
#include <unordered_map>

#include "npdtype/columns.hpp"
#include "npdtype/export.hpp"
#include "npdtype/loops.hpp"

namespace whence::tracked {

namespace {

constexpr npy_intp kWorthIt = 256;  // cells

PyTypeObject* held_type = nullptr;

PyArrayObject* array_of(PyObject* o) { return reinterpret_cast<PyArrayObject*>(o); }

bool is_held(PyObject* o) { return PyObject_TypeCheck(o, held_type); }

bool is_number(PyObject* o) {
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyArray_IsScalar(o, Generic);
}

// Whether the operand's class overrides calls of ufuncs.
bool has_a_say(PyObject* o) {
  if (PyArray_CheckExact(o) || is_number(o) || PyList_CheckExact(o) || PyTuple_CheckExact(o)) return false;
  Ref own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__array_ufunc__"));
  if (!own) {
    PyErr_Clear();
    return false;
  }
  static PyObject* usual = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyArray_Type), "__array_ufunc__");
  return own.get() != usual;
}

// Returns the same cells as a plain ndarray.
PyObject* plain_view(PyObject* o) { return is_held(o) ? PyArray_View(array_of(o), nullptr, &PyArray_Type) : Py_NewRef(o); }

// Properties of a ufunc, computed once.
struct Traits {
  bool gives_numbers = false;  // float64 operands give a float64, so tracked operands give a tracked result
  bool silent = false;
  Loop* loop = nullptr;  // our own loop
  Plain plain = {};      // NumPy's loop for float64 operands
};

const Traits& traits_of(const PyUFuncObject* ufunc) {
  static std::unordered_map<const PyUFuncObject*, Traits> known;  // guarded by the GIL
  const auto found = known.find(ufunc);
  if (found != known.end()) return found->second;
  Traits made;
  for (int t = 0; t < ufunc->ntypes && !made.gives_numbers; ++t) {
    const char* types = ufunc->types + t * ufunc->nargs;
    made.gives_numbers = ufunc->nout == 1 && !ufunc->core_enabled;
    for (int i = 0; i < ufunc->nargs; ++i) made.gives_numbers = made.gives_numbers && types[i] == NPY_DOUBLE;
    if (!made.gives_numbers) continue;
    made.plain.function = ufunc->functions[t];
    made.plain.data = ufunc->data ? const_cast<void*>(static_cast<const void*>(ufunc->data[t])) : nullptr;
    made.plain.extreme = extreme_of(ufunc->name);
  }
  if (made.gives_numbers && ufunc->nin <= 2) made.loop = fused_loop(ufunc->name, &made.silent);
  return known[ufunc] = made;
}

// Returns an array that will be written completely, so it is not filled with zeros first. The flag is global, but no
// other code can see the change: the GIL is held, and no Python code runs in between.
PyObject* unwritten(int ndim, const npy_intp* shape) {
  const auto flags = descriptor->flags;
  descriptor->flags = flags & ~static_cast<npy_uint64>(NPY_NEEDS_INIT);
  Py_INCREF(descriptor);
  PyObject* made = PyArray_NewFromDescr(&PyArray_Type, descriptor, ndim, shape, nullptr, nullptr, 0, nullptr);
  descriptor->flags = flags;
  return made;
}

// Whether o is a Python number that equals a float64.
bool as_double(PyObject* o, double* value) {
  if (PyFloat_CheckExact(o)) {
    *value = PyFloat_AS_DOUBLE(o);
    return true;
  }
  if (!PyLong_CheckExact(o)) return false;
  int beyond = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(o, &beyond);
  *value = static_cast<double>(whole);
  constexpr long long most = 1LL << 53;
  return beyond == 0 && -most <= whole && whole <= most;
}

// Returns the array that has the shape of the call, if all operands are numbers or contiguous arrays of one shape; null
// for any other call.
PyArrayObject* shape_of(const PyUFuncObject* ufunc, PyObject* const* inputs, Py_ssize_t given) {
  if (given != ufunc->nin || !traits_of(ufunc).gives_numbers) return nullptr;
  PyArrayObject* first = nullptr;
  for (Py_ssize_t i = 0; i < given; ++i) {
    double number;
    if (as_double(inputs[i], &number)) continue;
    if (!PyArray_CheckExact(inputs[i]) && !is_held(inputs[i])) return nullptr;
    PyArrayObject* array = array_of(inputs[i]);
    const bool fits = is_tracked(PyArray_DESCR(array)) || PyArray_TYPE(array) == NPY_DOUBLE;
    if (!fits || !PyArray_ISCARRAY_RO(array) || PyArray_NDIM(array) == 0) return nullptr;
    if (first != nullptr && !PyArray_SAMESHAPE(first, array)) return nullptr;
    if (first == nullptr || is_tracked(PyArray_DESCR(array))) first = array;
  }
  const bool some = first != nullptr && is_tracked(PyArray_DESCR(first)) && PyArray_SIZE(first) >= kWorthIt;
  return some ? first : nullptr;
}

// Runs a loop without the GIL and raises NumPy's floating-point warnings; returns -1 with an error if it fails. Any
// other result means that the loop did nothing.
template <class Body>
int watched(const char* name, bool silent, Body body) {
  std::feclearexcept(FE_ALL_EXCEPT);
  int failed = 0, raised = 0;
  Py_BEGIN_ALLOW_THREADS;
  failed = body();
  raised = silent ? 0 : std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
  Py_END_ALLOW_THREADS;
  if (failed != 0 || raised == 0) return failed;
  const int errors = (raised & FE_DIVBYZERO ? NPY_FPE_DIVIDEBYZERO : 0) | (raised & FE_OVERFLOW ? NPY_FPE_OVERFLOW : 0) |
                     (raised & FE_UNDERFLOW ? NPY_FPE_UNDERFLOW : 0) | (raised & FE_INVALID ? NPY_FPE_INVALID : 0);
  return PyUFunc_GiveFloatingpointErrors(name, errors);
}

// Runs a call with our own loop, bypassing NumPy's dispatch; returns -1 with an error if it fails.
int run_directly(const PyUFuncObject* ufunc, PyObject* const* inputs, PyArrayObject* out) {
  const Traits& traits = traits_of(ufunc);
  Plain plain = {};
  double numbers[2];
  char* data[3];
  npy_intp strides[3];
  for (int i = 0; i < ufunc->nin; ++i) {
    plain.tracked[i] = PyArray_Check(inputs[i]) && is_tracked(PyArray_DESCR(array_of(inputs[i])));
    if (as_double(inputs[i], &numbers[i])) {
      data[i] = reinterpret_cast<char*>(&numbers[i]);
      strides[i] = 0;
    } else {
      data[i] = PyArray_BYTES(array_of(inputs[i]));
      strides[i] = PyArray_ITEMSIZE(array_of(inputs[i]));
    }
  }
  plain.nin = ufunc->nin;
  plain.nout = 1;
  plain.tracked[ufunc->nin] = true;
  data[ufunc->nin] = PyArray_BYTES(out);
  strides[ufunc->nin] = sizeof(Cell);
  const npy_intp n = PyArray_SIZE(out);
  return watched(ufunc->name, traits.silent, [&] { return traits.loop(nullptr, data, &n, strides, &plain.base); });
}

// Returns the axis of a reduction without other options; -1 for any other.
int only_axis(PyObject* kwargs, int ndim) {
  long axis = 0;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; kwargs != nullptr && PyDict_Next(kwargs, &at, &key, &value);) {
    const auto is = [key](const char* name) { return PyUnicode_CompareWithASCIIString(key, name) == 0; };
    if (is("axis") && PyLong_CheckExact(value)) {
      int beyond = 0;
      axis = PyLong_AsLongAndOverflow(value, &beyond);
      if (beyond != 0) return -1;
      if (axis < 0) axis += ndim;
    } else if (!(is("keepdims") && value == Py_False) && !(is("where") && value == Py_True) &&
               !((is("dtype") || is("out")) && value == Py_None)) {
      return -1;
    }
  }
  return 0 <= axis && axis < ndim ? static_cast<int>(axis) : -1;
}

// Reduces contiguous cells over their last axis, or a matrix over its first; returns null (without an error) if it is
// neither, or not regular.
PyObject* reduced(const PyUFuncObject* ufunc, PyObject* inputs, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(inputs) != 1) return nullptr;
  PyObject* only = PyTuple_GET_ITEM(inputs, 0);
  if (!PyArray_CheckExact(only)) return nullptr;
  PyArrayObject* array = array_of(only);
  const int ndim = PyArray_NDIM(array);
  if (!is_tracked(PyArray_DESCR(array)) || ndim < 2 || !PyArray_ISCARRAY_RO(array) || PyArray_SIZE(array) < kWorthIt) {
    return nullptr;
  }
  const int axis = only_axis(kwargs, ndim);
  const npy_intp m = PyArray_DIM(array, ndim - 1), n = PyArray_SIZE(array) / m;
  if (axis < 0 || m < 2 || n < 2) return nullptr;
  const bool rows = axis == ndim - 1, adds = std::string_view(ufunc->name) == "add";
  const Columns columns = axis == 0 && ndim == 2 ? columns_of(ufunc->name) : nullptr;
  if (rows ? !adds && extreme_of(ufunc->name) == nullptr : columns == nullptr) return nullptr;
  Ref out(rows ? unwritten(ndim - 1, PyArray_DIMS(array)) : unwritten(1, &m));
  if (!out) return nullptr;
  const auto* cells = static_cast<const Cell*>(PyArray_DATA(array));
  auto* into = static_cast<Cell*>(PyArray_DATA(array_of(out.get())));
  const Plain& plain = traits_of(ufunc).plain;
  const int failed = watched("reduce", !adds, [&] {
    bool done = false;
    const int thrown = guarded([&] { done = rows ? reduce_rows(plain, cells, n, m, into) : columns(cells, n, m, into); });
    return done ? 0 : thrown < 0 ? -1 : 1;
  });
  return failed == 0 ? out.release() : nullptr;
}

// Returns a result as the class of the call.
PyObject* held(PyObject* made, PyTypeObject* type) {
  if (made == nullptr || !PyArray_CheckExact(made) || PyArray_NDIM(array_of(made)) == 0 ||
      !is_tracked(PyArray_DESCR(array_of(made)))) {
    return made;
  }
  PyObject* view = PyArray_View(array_of(made), nullptr, type);
  Py_DECREF(made);
  return view;
}

PyObject* held_each(PyObject* made, PyTypeObject* type) {
  if (made == nullptr || !PyTuple_CheckExact(made)) return held(made, type);
  Ref old(made);
  Ref all(PyTuple_New(PyTuple_GET_SIZE(made)));
  if (!all) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made); ++i) {
    PyObject* one = held(Py_NewRef(PyTuple_GET_ITEM(made, i)), type);
    if (one == nullptr) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, one);
  }
  return all.release();
}

// Runs the call with plain ndarrays as outputs; the given outputs are returned.
PyObject* into_given(PyObject* call, PyObject* inputs, PyObject* kwargs, PyObject* outputs) {
  Ref plain(PyTuple_New(PyTuple_GET_SIZE(outputs)));
  Ref options(PyDict_Copy(kwargs));
  if (!plain || !options) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    PyObject* view = plain_view(PyTuple_GET_ITEM(outputs, i));
    if (view == nullptr) return nullptr;
    PyTuple_SET_ITEM(plain.get(), i, view);
  }
  if (PyDict_SetItemString(options.get(), "out", plain.get()) < 0) return nullptr;
  Ref made(PyObject_Call(call, inputs, options.get()));
  if (!made) return nullptr;
  if (!PyTuple_CheckExact(made.get())) return Py_NewRef(PyTuple_GET_ITEM(outputs, 0) == Py_None ? made.get() : PyTuple_GET_ITEM(outputs, 0));
  Ref all(PyTuple_New(PyTuple_GET_SIZE(made.get())));
  if (!all) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made.get()); ++i) {
    PyObject* one = PyTuple_GET_ITEM(outputs, i) == Py_None ? PyTuple_GET_ITEM(made.get(), i) : PyTuple_GET_ITEM(outputs, i);
    PyTuple_SET_ITEM(all.get(), i, Py_NewRef(one));
  }
  return all.release();
}

// Runs a call without options on contiguous cells; returns null (without an error) for any other.
PyObject* called(const PyUFuncObject* ufunc, PyObject* const* inputs, Py_ssize_t given, PyTypeObject* type) {
  PyArrayObject* like = shape_of(ufunc, inputs, given);
  if (like == nullptr) return nullptr;
  Ref out(unwritten(PyArray_NDIM(like), PyArray_DIMS(like)));
  if (!out) return nullptr;
  if (traits_of(ufunc).loop != nullptr) {
    return run_directly(ufunc, inputs, array_of(out.get())) < 0 ? nullptr : held(out.release(), type);
  }
  PyObject* operands[NPY_MAXARGS] = {};
  Ref views[NPY_MAXARGS];
  for (Py_ssize_t i = 0; i < given; ++i) {
    views[i].reset(plain_view(inputs[i]));
    if (!views[i]) return nullptr;
    operands[i] = views[i].get();
  }
  operands[given] = out.get();
  PyObject* function = const_cast<PyObject*>(reinterpret_cast<const PyObject*>(ufunc));
  return held(PyObject_Vectorcall(function, operands, static_cast<size_t>(given) + 1, nullptr), type);
}

PyObject* array_ufunc(PyObject* self, PyObject* args, PyObject* kwargs) {
  const Py_ssize_t given = PyTuple_GET_SIZE(args) - 2;
  if (given < 1 || !PyObject_TypeCheck(PyTuple_GET_ITEM(args, 0), &PyUFunc_Type)) {
    PyErr_SetString(PyExc_TypeError, "__array_ufunc__ takes a ufunc, the name of a method, and operands");
    return nullptr;
  }
  PyObject *function = PyTuple_GET_ITEM(args, 0), *method = PyTuple_GET_ITEM(args, 1);
  const auto* ufunc = reinterpret_cast<const PyUFuncObject*>(function);
  PyTypeObject* type = Py_TYPE(self);
  const bool options = kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0;
  const bool is_call = PyUnicode_CompareWithASCIIString(method, "__call__") == 0;
  if (is_call && !options) {
    PyObject* made = called(ufunc, &PyTuple_GET_ITEM(args, 2), given, type);
    if (made != nullptr || PyErr_Occurred()) return made;
  }
  Ref inputs(PyTuple_New(given));
  if (!inputs) return nullptr;
  for (Py_ssize_t i = 0; i < given; ++i) {
    PyObject* each = PyTuple_GET_ITEM(args, i + 2);
    if (!is_held(each) && has_a_say(each)) Py_RETURN_NOTIMPLEMENTED;
    PyObject* view = plain_view(each);
    if (view == nullptr) return nullptr;
    PyTuple_SET_ITEM(inputs.get(), i, view);
  }
  if (!is_call && PyUnicode_CompareWithASCIIString(method, "reduce") == 0) {
    PyObject* made = reduced(ufunc, inputs.get(), kwargs);
    if (made != nullptr || PyErr_Occurred()) return held(made, type);
  }
  Ref bound(is_call ? Py_NewRef(function) : PyObject_GetAttr(function, method));
  if (!bound) return nullptr;
  PyObject* outputs = options ? PyDict_GetItemString(kwargs, "out") : nullptr;
  if (outputs == nullptr || !PyTuple_CheckExact(outputs)) {
    return held_each(PyObject_Call(bound.get(), inputs.get(), kwargs), type);
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    PyObject* each = PyTuple_GET_ITEM(outputs, i);
    if (each != Py_None && !is_held(each) && has_a_say(each)) Py_RETURN_NOTIMPLEMENTED;
  }
  return held_each(into_given(bound.get(), inputs.get(), kwargs, outputs), type);
}

// Refuses a buffer: its bytes would contain lineage, which a reader would take for numbers.
int no_buffer(PyObject*, Py_buffer* view, int) {
  view->obj = nullptr;
  refuse("read as a buffer");
  return -1;
}

PyMethodDef methods[] = {{"__array_ufunc__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_ufunc)),
                          METH_VARARGS | METH_KEYWORDS, "Calls of ufuncs, on tracked arrays and others."},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* make_held_type() {
  static PyType_Slot slots[] = {{Py_tp_methods, methods},
                                {Py_bf_getbuffer, reinterpret_cast<void*>(no_buffer)},
                                {0, nullptr}};
  static PyType_Spec spec = {"whence._tracked.Held", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  Ref bases(PyTuple_Pack(1, reinterpret_cast<PyObject*>(&PyArray_Type)));
  PyObject* made = bases ? PyType_FromSpecWithBases(&spec, bases.get()) : nullptr;
  held_type = reinterpret_cast<PyTypeObject*>(made);
  return made;
}

}  // namespace whence::tracked
