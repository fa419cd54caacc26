// Registers loops for tracked operands with a ufunc, promoters for other operands, and initial values of reductions.
#include "npdtype/ufuncs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "npdtype/loops.hpp"

namespace whence::tracked {

namespace {

constexpr auto kNoFlags = static_cast<NPY_ARRAYMETHOD_FLAGS>(0);

PyArray_DTypeMeta* dtype_of(int type) {
  PyArray_Descr* d = PyArray_DescrFromType(type);  // a builtin type, which is never freed
  return d ? NPY_DTYPE(d) : nullptr;
}

bool is_whole(char type) { return PyTypeNum_ISINTEGER(type) || type == NPY_BOOL; }

// Whether a signature has a float64 input, and its other operands are float64, integers or booleans.
bool fits(const PyUFuncObject* ufunc, const char* types) {
  bool any = false;
  for (int i = 0; i < ufunc->nargs; ++i) {
    if (types[i] == NPY_DOUBLE) {
      any = any || i < ufunc->nin;
    } else if (!is_whole(types[i])) {
      return false;
    }
  }
  return any;
}

void free_plain(NpyAuxData* data) { delete reinterpret_cast<Plain*>(data); }
NpyAuxData* clone_plain(NpyAuxData* data) {
  return reinterpret_cast<NpyAuxData*>(new (std::nothrow) Plain(*reinterpret_cast<Plain*>(data)));
}

int get_loop(PyArrayMethod_Context* context, int, int, const npy_intp*, PyArrayMethod_StridedLoop** out,
             NpyAuxData** aux, NPY_ARRAYMETHOD_FLAGS* flags) {
  auto* ufunc = reinterpret_cast<PyUFuncObject*>(context->caller);
  if (ufunc == nullptr || !PyObject_TypeCheck(context->caller, &PyUFunc_Type)) {
    PyErr_SetString(PyExc_RuntimeError, "a tracked loop was asked for by something that is no ufunc");
    return -1;
  }
  Plain plain = {};
  plain.base.free = free_plain;
  plain.base.clone = clone_plain;
  plain.nin = ufunc->nin;
  plain.nout = ufunc->nout;
  plain.extreme = extreme_of(ufunc->name);
  char wanted[kMostOperands];
  bool any_output = false;
  for (int i = 0; i < ufunc->nargs; ++i) {
    plain.tracked[i] = is_tracked(context->descriptors[i]);
    wanted[i] = static_cast<char>(plain.tracked[i] ? int{NPY_DOUBLE} : context->descriptors[i]->type_num);
    any_output = any_output || (i >= ufunc->nin && plain.tracked[i]);
  }
  for (int t = 0; t < ufunc->ntypes && plain.function == nullptr; ++t) {
    if (std::memcmp(ufunc->types + t * ufunc->nargs, wanted, ufunc->nargs) != 0) continue;
    plain.function = ufunc->functions[t];
    plain.data = ufunc->data ? const_cast<void*>(static_cast<const void*>(ufunc->data[t])) : nullptr;
  }
  if (plain.function == nullptr) {
    PyErr_Format(PyExc_TypeError, "%s has no float64 loop for these operands, and so none for tracked ones", ufunc->name);
    return -1;
  }
  *flags = kNoFlags;
  if (ufunc->core_enabled) {
    *out = product_loop(ufunc->name);
  } else if (!any_output) {
    *out = values_loop;
  } else {
    bool silent = false;
    *out = fused_loop(ufunc->name, &silent);
    if (*out == nullptr) *out = generic_loop;
    if (silent) *flags = NPY_METH_NO_FLOATINGPOINT_ERRORS;
  }
  auto* held = new (std::nothrow) Plain(plain);
  if (held == nullptr) {
    PyErr_NoMemory();
    return -1;
  }
  *aux = &held->base;
  return 0;
}

// Operands that are not tracked get the dtypes of the float64 signature.
int promote(PyObject* object, PyArray_DTypeMeta* const given[], PyArray_DTypeMeta* const signature[],
            PyArray_DTypeMeta* out[]) {
  const auto* ufunc = reinterpret_cast<PyUFuncObject*>(object);
  const char* best = nullptr;
  for (int t = 0; t < ufunc->ntypes; ++t) {
    const char* types = ufunc->types + t * ufunc->nargs;
    bool possible = fits(ufunc, types), exact = true;
    for (int i = 0; i < ufunc->nin && possible; ++i) {
      const bool tracked = given[i] == nullptr || given[i] == &DType;
      if (tracked) possible = types[i] == NPY_DOUBLE;
      if (!tracked && is_whole(types[i])) exact = exact && given[i]->type_num == types[i];
    }
    if (possible && (best == nullptr || exact)) best = types;
  }
  if (best == nullptr) return -1;
  for (int i = 0; i < ufunc->nargs; ++i) {
    PyArray_DTypeMeta* chosen = nullptr;
    if (signature[i] != nullptr) {
      chosen = signature[i];
    } else if (i < ufunc->nin) {
      const bool tracked = given[i] == nullptr || given[i] == &DType;  // null: a reduction's first operand
      chosen = tracked ? &DType : dtype_of(best[i]);
    }
    Py_XINCREF(chosen);
    out[i] = chosen;
  }
  return 0;
}

int promote_logic(PyObject*, PyArray_DTypeMeta* const[], PyArray_DTypeMeta* const[], PyArray_DTypeMeta* out[]) {
  out[0] = &PyArray_BoolDType;
  out[1] = &DType;
  out[2] = &PyArray_BoolDType;
  for (int i = 0; i < 3; ++i) Py_INCREF(out[i]);
  return 0;
}

int start_at_zero(PyArrayMethod_Context*, npy_bool, void* initial) {
  const Cell cell = {0.0, 0};
  std::memcpy(initial, &cell, sizeof cell);
  return 1;
}
int start_at_one(PyArrayMethod_Context*, npy_bool, void* initial) {
  const Cell cell = {1.0, 0};
  std::memcpy(initial, &cell, sizeof cell);
  return 1;
}
int start_at_first(PyArrayMethod_Context*, npy_bool, void*) { return 0; }

int add_promoter(PyObject* ufunc, const std::vector<PyObject*>& dtypes, void* promoter) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(dtypes.size())));
  if (!tuple) return -1;
  for (size_t i = 0; i < dtypes.size(); ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(dtypes[i]));
  Ref capsule(PyCapsule_New(promoter, "numpy._ufunc_promoter", nullptr));
  return capsule ? PyUFunc_AddPromoter(ufunc, tuple.get(), capsule.get()) : -1;
}

// Adds one loop for a float64 signature and a choice of its tracked inputs.
int add_loop(PyUFuncObject* ufunc, const char* types, unsigned chosen) {
  std::array<PyArray_DTypeMeta*, kMostOperands> dtypes;
  for (int i = 0, number = 0; i < ufunc->nargs; ++i) {
    const bool number_here = types[i] == NPY_DOUBLE;
    const bool tracked = number_here && (i >= ufunc->nin || (chosen >> number & 1));
    if (number_here && i < ufunc->nin) ++number;
    dtypes[i] = tracked ? &DType : dtype_of(types[i]);
    if (dtypes[i] == nullptr) return -1;
  }
  const std::string_view name = ufunc->name;
  std::vector<PyType_Slot> slots = {{NPY_METH_get_loop, reinterpret_cast<void*>(get_loop)}};
  NPY_ARRAYMETHOD_FLAGS flags = kNoFlags;
  if (ufunc->nin == 2 && ufunc->nout == 1 && !ufunc->core_enabled) {
    auto* start = name == "add" ? start_at_zero : name == "multiply" ? start_at_one : start_at_first;
    slots.push_back({NPY_METH_get_reduction_initial, reinterpret_cast<void*>(start)});
    static const std::set<std::string_view> any_order = {"add",  "multiply", "maximum",   "minimum",   "fmax",
                                                         "fmin", "hypot",    "logaddexp", "logaddexp2"};
    if (any_order.count(name)) flags = NPY_METH_IS_REORDERABLE;
  }
  slots.push_back({0, nullptr});
  PyArrayMethod_Spec spec = {"tracked", ufunc->nin, ufunc->nout, NPY_NO_CASTING, flags, dtypes.data(), slots.data()};
  return PyUFunc_AddLoopFromSpec(reinterpret_cast<PyObject*>(ufunc), &spec);
}

// np.any and np.all reduce a boolean with cells.
template <bool any>
int logic_loop(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp* strides, NpyAuxData*) {
  ++losses().looks;
  for (npy_intp i = 0; i < n[0]; ++i) {
    const bool a = *reinterpret_cast<npy_bool*>(data[0] + i * strides[0]), b = value_at(data[1] + i * strides[1]) != 0;
    *reinterpret_cast<npy_bool*>(data[2] + i * strides[2]) = any ? a || b : a && b;
  }
  return 0;
}

template <bool any>
int logic_start(PyArrayMethod_Context*, npy_bool, void* initial) {
  *static_cast<npy_bool*>(initial) = !any;
  return 1;
}

template <bool any>
int add_logic(PyObject* ufunc) {
  PyArray_DTypeMeta* dtypes[3] = {&PyArray_BoolDType, &DType, &PyArray_BoolDType};
  PyType_Slot slots[] = {{NPY_METH_strided_loop, reinterpret_cast<void*>(logic_loop<any>)},
                         {NPY_METH_get_reduction_initial, reinterpret_cast<void*>(logic_start<any>)},
                         {0, nullptr}};
  PyArrayMethod_Spec spec = {"tracked_logic", 2, 1, NPY_NO_CASTING, NPY_METH_IS_REORDERABLE, dtypes, slots};
  if (PyUFunc_AddLoopFromSpec(ufunc, &spec) < 0) return -1;
  return add_promoter(ufunc, {Py_None, reinterpret_cast<PyObject*>(&DType), reinterpret_cast<PyObject*>(&PyArray_BoolDType)},
                      reinterpret_cast<void*>(promote_logic));
}

}  // namespace

PyObject* register_ufunc(PyObject*, PyObject* object) {
  if (!PyObject_TypeCheck(object, &PyUFunc_Type)) {
    PyErr_Format(PyExc_TypeError, "%R is no ufunc", object);
    return nullptr;
  }
  auto* ufunc = reinterpret_cast<PyUFuncObject*>(object);
  if (ufunc->nargs > kMostOperands || ufunc->name == nullptr) return PyLong_FromLong(0);
  if (ufunc->core_enabled && product_loop(ufunc->name) == nullptr) return PyLong_FromLong(0);
  long added = 0;
  std::set<std::string> done;
  for (int t = 0; t < ufunc->ntypes; ++t) {
    const char* types = ufunc->types + t * ufunc->nargs;
    if (!fits(ufunc, types) || !done.emplace(types, ufunc->nargs).second) continue;
    const auto numbers = std::count(types, types + ufunc->nin, static_cast<char>(NPY_DOUBLE));
    for (unsigned chosen = 1; chosen < (1u << numbers); ++chosen, ++added) {
      if (add_loop(ufunc, types, chosen) < 0) return nullptr;
    }
  }
  for (int i = 0; i < ufunc->nin && ufunc->nin > 1 && added > 0; ++i) {
    std::vector<PyObject*> dtypes(ufunc->nargs, Py_None);
    std::fill_n(dtypes.begin(), ufunc->nin, reinterpret_cast<PyObject*>(&PyArrayDescr_Type));
    dtypes[i] = reinterpret_cast<PyObject*>(&DType);
    if (add_promoter(object, dtypes, reinterpret_cast<void*>(promote)) < 0) return nullptr;
  }
  const std::string_view name = ufunc->name;
  if (name == "logical_or" && add_logic<true>(object) < 0) return nullptr;
  if (name == "logical_and" && add_logic<false>(object) < 0) return nullptr;
  return PyLong_FromLong(added);
}

}  // namespace whence::tracked
