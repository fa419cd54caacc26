// Sorting moves cells with their lineage. Both sorts are stable, whatever kind is asked for.
#include "npdtype/api.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "npdtype/order.hpp"

namespace whence::tracked {

namespace {

int sort(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp*, NpyAuxData*) {
  ++losses().looks;
  return guarded([&] {
    if (data[0] != data[1]) std::memcpy(data[1], data[0], sizeof(Cell) * n[0]);
    Cell* cells = reinterpret_cast<Cell*>(data[1]);
    std::stable_sort(cells, cells + n[0], [](const Cell& a, const Cell& b) { return less(a.value, b.value); });
  });
}

int argsort(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp*, NpyAuxData*) {
  ++losses().looks;
  return guarded([&] {
    const Cell* cells = reinterpret_cast<const Cell*>(data[0]);
    npy_intp* places = reinterpret_cast<npy_intp*>(data[1]);
    std::iota(places, places + n[0], npy_intp{0});
    std::stable_sort(places, places + n[0],
                     [cells](npy_intp a, npy_intp b) { return less(cells[a].value, cells[b].value); });
  });
}

// NumPy 2.4 leaves context->method null for sorts, and its own get_loop reads it.
template <PyArrayMethod_StridedLoop* loop>
int get_loop(PyArrayMethod_Context*, int, int, const npy_intp*, PyArrayMethod_StridedLoop** out, NpyAuxData** data,
             NPY_ARRAYMETHOD_FLAGS* flags) {
  *out = loop;
  *data = nullptr;
  *flags = static_cast<NPY_ARRAYMETHOD_FLAGS>(0);
  return 0;
}

}  // namespace

int init_sorting() {
  static PyArray_DTypeMeta* cells[2] = {&DType, &DType};
  static PyArray_DTypeMeta* places[2] = {&DType, &PyArray_IntpDType};
  static PyType_Slot sort_slots[] = {{NPY_METH_get_loop, reinterpret_cast<void*>(get_loop<sort>)},
                                     {NPY_METH_strided_loop, reinterpret_cast<void*>(sort)},
                                     {0, nullptr}};
  static PyType_Slot argsort_slots[] = {{NPY_METH_get_loop, reinterpret_cast<void*>(get_loop<argsort>)},
                                        {NPY_METH_strided_loop, reinterpret_cast<void*>(argsort)},
                                        {0, nullptr}};
  const auto none = static_cast<NPY_ARRAYMETHOD_FLAGS>(0);
  PyArrayMethod_Spec sorts = {"tracked_sort", 1, 1, NPY_NO_CASTING, none, cells, sort_slots};
  PyArrayMethod_Spec argsorts = {"tracked_argsort", 1, 1, NPY_NO_CASTING, none, places, argsort_slots};
  PyUFunc_LoopSlot loops[] = {{"numpy:sort", &sorts}, {"numpy:argsort", &argsorts}, {nullptr, nullptr}};
  return PyUFunc_AddLoopsFromSpecs(loops);
}

}  // namespace whence::tracked
