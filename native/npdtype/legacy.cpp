// The functions that NumPy's older code calls on a dtype. If one is missing, NumPy calls a null pointer.
#include "npdtype/api.hpp"

#include <cstring>
#include <limits>

#include "npdtype/order.hpp"
#include "npdtype/sets.hpp"
#include "npdtype/unions.hpp"

namespace whence::tracked {

PyObject* get_item(char* p) {
  if (!is_cell(p)) {
    set_cut_error();
    return nullptr;
  }
  Cell cell;
  std::memcpy(&cell, p, sizeof cell);
  return new_scalar(cell);
}

int set_item(PyObject* value, char* p) {
  Cell cell = {0, 0};
  if (Py_IS_TYPE(value, &ScalarType)) {
    cell = reinterpret_cast<Scalar*>(value)->cell;
  } else if (PyArray_Check(value) && is_tracked(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(value))) &&
             PyArray_SIZE(reinterpret_cast<PyArrayObject*>(value)) == 1) {
    std::memcpy(&cell, PyArray_DATA(reinterpret_cast<PyArrayObject*>(value)), sizeof cell);
  } else {
    cell.value = PyFloat_AsDouble(value);
    if (cell.value == -1 && PyErr_Occurred()) return -1;
  }
  if (!is_cell(p)) {
    set_cut_error();
    return -1;
  }
  std::memcpy(p, &cell, sizeof cell);
  return 0;
}

namespace {

// Copies one cell; invalid memory becomes NaN without lineage.
void copy_cell(void* to, const void* from) {
  constexpr Cell none = {std::numeric_limits<double>::quiet_NaN(), 0};
  std::memcpy(to, is_cell(from) ? from : &none, sizeof(Cell));
}

int compare(const void* a, const void* b, void*) {
  ++losses().looks;
  return order(static_cast<const Cell*>(a)->value, static_cast<const Cell*>(b)->value);
}

// Finds the first NaN, or else the first of the largest (smallest) values.
template <class Better>
int arg_best(void* data, npy_intp n, npy_intp* found, Better better) {
  const Cell* cells = static_cast<const Cell*>(data);
  npy_intp best = 0;
  ++losses().looks;
  for (npy_intp i = 0; i < n; ++i) {
    if (cells[i].value != cells[i].value) {
      best = i;
      break;
    }
    if (better(cells[i].value, cells[best].value)) best = i;
  }
  *found = best;
  return 0;
}

int argmax(void* data, npy_intp n, npy_intp* found, void*) {
  return arg_best(data, n, found, [](double a, double b) { return a > b; });
}

int argmin(void* data, npy_intp n, npy_intp* found, void*) {
  return arg_best(data, n, found, [](double a, double b) { return a < b; });
}

// Computes the values with the float64 dot. Cells that are contiguous are gathered first, because BLAS rounds
// differently for strided numbers; reversed ones are gathered, too, because np.dot copies them.
void dot_values(char* a, npy_intp as, char* b, npy_intp bs, double* out, npy_intp n) {
  static PyArray_Descr* plain = PyArray_DescrFromType(NPY_DOUBLE);
  std::vector<double> left, right;
  const auto gathered = [n](char*& p, npy_intp& stride, std::vector<double>& values) {
    if (stride != sizeof(Cell) && stride >= 0) return;
    values.resize(n);
    for (npy_intp i = 0; i < n; ++i) values[i] = reinterpret_cast<Cell*>(p + i * stride)->value;
    p = reinterpret_cast<char*>(values.data());
    stride = sizeof(double);
  };
  gathered(a, as, left);
  gathered(b, bs, right);
  PyDataType_GetArrFuncs(plain)->dotfunc(a, as, b, bs, out, n, nullptr);
}

void dot(void* a, npy_intp as, void* b, npy_intp bs, void* out, npy_intp n, void*) {
  Cell* cell = static_cast<Cell*>(out);
  Cell result = {0, 0};
  guarded([&] {
    dot_values(static_cast<char*>(a), as, static_cast<char*>(b), bs, &result.value, n);
    Gatherer& left = Gatherer::fresh();
    left.add_all(static_cast<char*>(a) + offsetof(Cell, handle), as, n);
    const Handle first = left.finish();
    Gatherer& right = Gatherer::fresh();
    right.add_all(static_cast<char*>(b) + offsetof(Cell, handle), bs, n);
    result.handle = unite(first, right.finish());
  });
  *cell = result;
}

npy_bool nonzero(void* p, void*) {
  ++losses().looks;
  Cell cell;
  std::memcpy(&cell, p, sizeof cell);
  return cell.value != 0;
}

// np.arange: computes all cells from the first two.
int fill(void* data, npy_intp n, void*) {
  Cell* cells = static_cast<Cell*>(data);
  return guarded([&] {
    const double start = cells[0].value, step = cells[1].value - start;
    const Handle both = unite(cells[0].handle, cells[1].handle);
    for (npy_intp i = 2; i < n; ++i) cells[i] = {start + static_cast<double>(i) * step, both};
  });
}

int fill_with(void* data, npy_intp n, void* value, void*) {
  for (npy_intp i = 0; i < n; ++i) std::memcpy(static_cast<Cell*>(data) + i, value, sizeof(Cell));
  return 0;
}

void copy_one(void* to, void* from, int, void*) {
  if (from) copy_cell(to, from);
}

void copy_many(void* to, npy_intp to_stride, void* from, npy_intp from_stride, npy_intp n, int, void*) {
  if (!from) return;
  for (npy_intp i = 0; i < n; ++i) {
    copy_cell(static_cast<char*>(to) + i * to_stride, static_cast<char*>(from) + i * from_stride);
  }
}

PyObject* get(void* p, void*) { return get_item(static_cast<char*>(p)); }
int set(PyObject* value, void* p, void*) { return set_item(value, static_cast<char*>(p)); }

}  // namespace

PyArray_ArrFuncs* legacy_functions() {
  static PyArray_ArrFuncs functions;
  PyArray_InitArrFuncs(&functions);
  functions.getitem = get;
  functions.setitem = set;
  functions.copyswap = copy_one;
  functions.copyswapn = copy_many;
  functions.compare = compare;
  functions.argmax = argmax;
  functions.argmin = argmin;
  functions.dotfunc = dot;
  functions.nonzero = nonzero;
  functions.fill = fill;
  functions.fillwithscalar = fill_with;
  return &functions;
}

}  // namespace whence::tracked
