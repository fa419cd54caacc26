// Casts to the dtype are safe, and the result has no lineage. Casts from it are unsafe, so that no NumPy function drops
// lineage implicitly, and they are counted.
#include "npdtype/api.hpp"

#include <cstring>
#include <vector>

namespace whence::tracked {

namespace {

using Slots = std::vector<PyType_Slot>;

// NumPy copies unaligned cells before it computes with them. Unaligned cells are not valid, so this raises the error.
bool is_cut(const char* cells, npy_intp stride, npy_intp n) {
  if (n == 0 || (is_cell(cells) && (n == 1 || stride % static_cast<npy_intp>(kAlignment) == 0))) return false;
  NPY_ALLOW_C_API_DEF
  NPY_ALLOW_C_API;
  set_cut_error();
  NPY_DISABLE_C_API;
  return true;
}

int copy(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp* strides, NpyAuxData*) {
  if (is_cut(data[0], strides[0], n[0]) || is_cut(data[1], strides[1], n[0])) return -1;
  if (strides[0] == sizeof(Cell) && strides[1] == sizeof(Cell)) {
    std::memmove(data[1], data[0], sizeof(Cell) * n[0]);
    return 0;
  }
  for (npy_intp i = 0; i < n[0]; ++i) std::memcpy(data[1] + i * strides[1], data[0] + i * strides[0], sizeof(Cell));
  return 0;
}

NPY_CASTING same(PyArrayMethodObject_tag*, PyArray_DTypeMeta* const*, PyArray_Descr* const* given,
                 PyArray_Descr** loop, npy_intp* view_offset) {
  for (int i = 0; i < 2; ++i) {
    loop[i] = given[i] ? given[i] : given[0];
    Py_INCREF(loop[i]);
  }
  *view_offset = 0;
  return NPY_NO_CASTING;
}

template <class T>
int from_plain(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp* strides, NpyAuxData*) {
  if (is_cut(data[1], strides[1], n[0])) return -1;
  for (npy_intp i = 0; i < n[0]; ++i) {
    T value;
    std::memcpy(&value, data[0] + i * strides[0], sizeof value);
    const Cell cell = {static_cast<double>(value), 0};
    std::memcpy(data[1] + i * strides[1], &cell, sizeof cell);
  }
  return 0;
}

template <class T>
int to_plain(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp* strides, NpyAuxData*) {
  if (is_cut(data[0], strides[0], n[0])) return -1;
  for (npy_intp i = 0; i < n[0]; ++i) {
    Cell cell;
    std::memcpy(&cell, data[0] + i * strides[0], sizeof cell);
    const T value = static_cast<T>(cell.value);
    std::memcpy(data[1] + i * strides[1], &value, sizeof value);
  }
  losses().cast_cells += n[0];
  return 0;
}

int to_bool(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp* strides, NpyAuxData*) {
  if (is_cut(data[0], strides[0], n[0])) return -1;
  for (npy_intp i = 0; i < n[0]; ++i) {
    Cell cell;
    std::memcpy(&cell, data[0] + i * strides[0], sizeof cell);
    *reinterpret_cast<npy_bool*>(data[1] + i * strides[1]) = cell.value != 0;
  }
  losses().cast_cells += n[0];
  return 0;
}

// NumPy keeps pointers to these as long as the process runs.
struct Casts {
  std::vector<PyArrayMethod_Spec*> specs;

  void add(PyArray_DTypeMeta* from, PyArray_DTypeMeta* to, PyArrayMethod_StridedLoop* loop, NPY_CASTING casting,
           PyArrayMethod_ResolveDescriptors* resolve = nullptr) {
    auto** dtypes = new PyArray_DTypeMeta*[2]{from, to};
    auto* slots = new PyType_Slot[4]();
    int k = 0;
    if (resolve) slots[k++] = {NPY_METH_resolve_descriptors, reinterpret_cast<void*>(resolve)};
    slots[k++] = {NPY_METH_strided_loop, reinterpret_cast<void*>(loop)};
    slots[k++] = {NPY_METH_unaligned_strided_loop, reinterpret_cast<void*>(loop)};
    const auto flags = static_cast<NPY_ARRAYMETHOD_FLAGS>(NPY_METH_SUPPORTS_UNALIGNED | NPY_METH_NO_FLOATINGPOINT_ERRORS);
    specs.push_back(new PyArrayMethod_Spec{"tracked_cast", 1, 1, casting, flags, dtypes, slots});
  }

  template <class T>
  void both(PyArray_DTypeMeta* plain) {
    add(plain, nullptr, from_plain<T>, NPY_SAFE_CASTING);
    add(nullptr, plain, to_plain<T>, NPY_UNSAFE_CASTING);
  }
};

}  // namespace

PyArrayMethod_Spec** cast_specs() {
  static Casts casts;
  if (casts.specs.empty()) {
    casts.add(nullptr, nullptr, copy, NPY_NO_CASTING, same);
    casts.both<double>(&PyArray_DoubleDType);
    casts.both<float>(&PyArray_FloatDType);
    casts.both<npy_byte>(&PyArray_ByteDType);
    casts.both<npy_ubyte>(&PyArray_UByteDType);
    casts.both<npy_short>(&PyArray_ShortDType);
    casts.both<npy_ushort>(&PyArray_UShortDType);
    casts.both<npy_int>(&PyArray_IntDType);
    casts.both<npy_uint>(&PyArray_UIntDType);
    casts.both<npy_long>(&PyArray_LongDType);
    casts.both<npy_ulong>(&PyArray_ULongDType);
    casts.both<npy_longlong>(&PyArray_LongLongDType);
    casts.both<npy_ulonglong>(&PyArray_ULongLongDType);
    casts.add(&PyArray_BoolDType, nullptr, from_plain<npy_bool>, NPY_SAFE_CASTING);
    casts.add(nullptr, &PyArray_BoolDType, to_bool, NPY_UNSAFE_CASTING);
    casts.specs.push_back(nullptr);
  }
  return casts.specs.data();
}

}  // namespace whence::tracked
