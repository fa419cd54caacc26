#include "npdtype/loops.hpp"

#include <algorithm>
#include <cstring>

#include "npdtype/simd.hpp"
#include "npdtype/unions.hpp"

namespace whence::tracked {

namespace {

constexpr npy_intp kCell = sizeof(Cell);
constexpr npy_intp kBlock = 32;  // unions that are checked at a time

void take_apart(const char* cells, npy_intp stride, npy_intp n, double* values, Handle* handles) {
  if (stride == kCell) return separate(reinterpret_cast<const Cell*>(cells), n, values, handles);
  for (npy_intp i = 0; i < n; ++i) {
    values[i] = value_at(cells + i * stride);
    handles[i] = handle_at(cells + i * stride);
  }
}

void put_together(const double* values, const Handle* handles, npy_intp n, char* out, npy_intp stride) {
  if (stride == kCell) return join(values, handles, n, reinterpret_cast<Cell*>(out));
  for (npy_intp i = 0; i < n; ++i) *reinterpret_cast<Cell*>(out + i * stride) = {values[i], handles[i]};
}

// into[i] becomes the union of into[i] and with[i].
void unite_all(Handle* into, const Handle* with, npy_intp n) {
  const Repetition around(n);
  Latest latest;
  for (npy_intp i = 0; i < n; i += kBlock) {
    const npy_intp some = std::min(kBlock, n - i);
    Handle* a = into + i;
    const Handle* b = with + i;
    uint64_t off = 0;
    for (npy_intp k = 0; k < some; ++k) off |= ((b[k] - a[k]) ^ latest.distance) | ((a[k] >> kOriginBits) ^ latest.shape);
    if (off == 0) {
      for (npy_intp k = 0; k < some; ++k) a[k] += latest.result;
    } else {
      for (npy_intp k = 0; k < some; ++k) a[k] = latest.unite(a[k], b[k]);
    }
  }
}

void chunk(const Plain& plain, char* const* at, const npy_intp* strides, npy_intp n) {
  Handle handles[kChunk], next[kChunk];
  alignas(64) double values[kMostOperands][kChunk];
  char* operands[kMostOperands];
  npy_intp steps[kMostOperands];
  bool any = false;
  const int all = plain.nin + plain.nout;
  for (int k = 0; k < all; ++k) {
    operands[k] = plain.tracked[k] ? reinterpret_cast<char*>(values[k]) : at[k];
    steps[k] = plain.tracked[k] ? static_cast<npy_intp>(sizeof(double)) : strides[k];
    if (!plain.tracked[k] || k >= plain.nin) continue;
    take_apart(at[k], strides[k], n, values[k], any ? next : handles);
    if (any) unite_all(handles, next, n);
    any = true;
  }
  if (!any) std::memset(handles, 0, sizeof handles);
  plain.run(operands, n, steps);
  for (int k = plain.nin; k < all; ++k) {
    if (plain.tracked[k]) put_together(values[k], handles, n, at[k], strides[k]);
  }
}

}  // namespace

int generic_loop(PyArrayMethod_Context*, char* const* data, const npy_intp* dimensions, const npy_intp* strides,
                 NpyAuxData* aux) {
  const Plain& plain = *reinterpret_cast<const Plain*>(aux);
  const npy_intp n = dimensions[0];
  return guarded([&] {
    if (plain.nin == 2 && plain.nout == 1 && plain.tracked[0] && plain.tracked[2]) {
      if (is_reduction(data, strides) && plain.tracked[1]) {
        return reduce(plain, reinterpret_cast<Cell*>(data[2]), data[1], strides[1], n);
      }
      if (is_accumulation(data, strides)) return accumulate(plain, data, strides, n);
    }
    char* at[kMostOperands];
    for (npy_intp i = 0; i < n; i += kChunk) {
      for (int k = 0; k < plain.nin + plain.nout; ++k) at[k] = data[k] + i * strides[k];
      chunk(plain, at, strides, std::min(kChunk, n - i));
    }
  });
}

int values_loop(PyArrayMethod_Context*, char* const* data, const npy_intp* dimensions, const npy_intp* strides,
                NpyAuxData* aux) {
  const Plain& plain = *reinterpret_cast<const Plain*>(aux);
  char* operands[kMostOperands];
  std::copy(data, data + plain.nin + plain.nout, operands);
  ++losses().looks;
  plain.run(operands, dimensions[0], strides);
  return 0;
}

}  // namespace whence::tracked
