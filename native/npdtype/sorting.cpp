// Sorting moves cells with their lineage. Both sorts are stable, for every `kind`.
#include "npdtype/api.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "npdtype/order.hpp"

namespace whence::tracked {

namespace {

constexpr npy_intp kFew = 128;  // up to so many cells are sorted by comparison, more by radix sort

// Returns an integer key with the order of `less`: NaNs last, both zeros equal.
uint64_t key_of(double value) {
  if (value != value) return ~uint64_t{0};
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);  // converts -0.0 to 0.0
  constexpr uint64_t sign = uint64_t{1} << 63;
  return bits & sign ? ~bits : bits | sign;
}

// Sorts items by their keys, stable; the lowest byte first, without the bytes that all share.
template <class Item, class Key>
void by_bytes(Item* items, npy_intp n, Key key) {
  std::array<std::array<uint32_t, 256>, 8> counts = {};
  for (npy_intp i = 0; i < n; ++i) {
    const uint64_t k = key(items[i]);
    for (int byte = 0; byte < 8; ++byte) ++counts[byte][k >> (8 * byte) & 255];
  }
  std::vector<Item> spare(static_cast<size_t>(n));
  Item *from = items, *to = spare.data();
  for (int byte = 0; byte < 8; ++byte) {
    auto& places = counts[byte];
    if (places[key(from[0]) >> (8 * byte) & 255] == n) continue;
    std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t{0});
    for (npy_intp i = 0; i < n; ++i) to[places[key(from[i]) >> (8 * byte) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + n, items);
}

bool many(npy_intp n) { return n >= kFew && n <= npy_intp{UINT32_MAX}; }

int sort(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp*, NpyAuxData*) {
  ++losses().looks;
  return guarded([&] {
    if (data[0] != data[1]) std::memcpy(data[1], data[0], sizeof(Cell) * n[0]);
    Cell* cells = reinterpret_cast<Cell*>(data[1]);
    if (many(n[0])) return by_bytes(cells, n[0], [](const Cell& cell) { return key_of(cell.value); });
    std::stable_sort(cells, cells + n[0], [](const Cell& a, const Cell& b) { return less(a.value, b.value); });
  });
}

int argsort(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp*, NpyAuxData*) {
  ++losses().looks;
  return guarded([&] {
    const Cell* cells = reinterpret_cast<const Cell*>(data[0]);
    npy_intp* places = reinterpret_cast<npy_intp*>(data[1]);
    if (many(n[0])) {
      struct Placed {
        uint64_t key;
        npy_intp place;
      };
      std::vector<Placed> all(static_cast<size_t>(n[0]));
      for (npy_intp i = 0; i < n[0]; ++i) all[i] = {key_of(cells[i].value), i};
      by_bytes(all.data(), n[0], [](const Placed& each) { return each.key; });
      for (npy_intp i = 0; i < n[0]; ++i) places[i] = all[i].place;
      return;
    }
    std::iota(places, places + n[0], npy_intp{0});
    std::stable_sort(places, places + n[0],
                     [cells](npy_intp a, npy_intp b) { return less(cells[a].value, cells[b].value); });
  });
}

// NumPy 2.4 leaves context->method null for sorts, but its own get_loop reads it.
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
