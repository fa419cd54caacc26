// Reductions and accumulations.
#include <algorithm>
#include <cstring>

#include "npdtype/loops.hpp"
#include "npdtype/sets.hpp"
#include "npdtype/simd.hpp"
#include "npdtype/unions.hpp"

namespace whence::tracked {

namespace {

constexpr npy_intp kHandle = offsetof(Cell, handle);

// Whether our pairwise sum adds in the order of NumPy's: asked once, because a later NumPy may choose another.
bool adds_like_numpy(const Plain& plain) {
  static const bool same = [&] {
    constexpr npy_intp most = 1100;
    Cell cells[most];
    double values[most];
    uint64_t seed = 1;
    for (npy_intp i = 0; i < most; ++i) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      values[i] = static_cast<double>(static_cast<int64_t>(seed)) / static_cast<double>(1 + (seed >> 40));
      cells[i] = {values[i], 0};
    }
    for (npy_intp n : {1, 7, 8, 9, 100, 127, 128, 129, 200, 256, 300, 513, 1023, 1100}) {
      double expected = 0;
      char* operands[3] = {reinterpret_cast<char*>(&expected), reinterpret_cast<char*>(values),
                           reinterpret_cast<char*>(&expected)};
      const npy_intp strides[3] = {0, sizeof(double), 0};
      plain.run(operands, n, strides);
      uint64_t off = 0;
      if (0.0 + sum(cells, n, 0, 0, &off) != expected) return false;
    }
    return true;
  }();
  return same;
}

void gather(Cell* into, Handle before, const char* cells, npy_intp stride, npy_intp n, bool regular) {
  Gatherer& all = Gatherer::fresh();
  all.add(before);
  if (regular) {
    const Handle first = handle_at(cells);
    all.add_run(first, n > 1 ? handle_at(cells + stride) - first : 0, static_cast<uint64_t>(n));
  } else {
    all.add_all(cells + kHandle, stride, static_cast<size_t>(n));
  }
  into->handle = all.finish();
}

}  // namespace

void reduce(const Plain& plain, Cell* into, const char* cells, npy_intp stride, npy_intp n) {
  const Handle before = into->handle;
  char* out = reinterpret_cast<char*>(into);
  // np.add alone depends on how many numbers it is given at a time.
  if (stride != sizeof(Cell) || n < 4) {
    char* operands[3] = {out, const_cast<char*>(cells), out};
    const npy_intp strides[3] = {0, stride, 0};
    plain.run(operands, n, strides);
    return gather(into, before, cells, stride, n, n == 1);
  }
  const Cell* all = reinterpret_cast<const Cell*>(cells);
  const Handle first = all[0].handle;
  const uint64_t step = all[1].handle - first;
  alignas(64) double values[kChunk];
  bool regular = true;
  for (npy_intp i = 0; i < n; i += kChunk) {
    const npy_intp some = std::min(kChunk, n - i);
    regular &= split(all + i, some, first + step * static_cast<uint64_t>(i), step, values);
    char* operands[3] = {out, reinterpret_cast<char*>(values), out};
    const npy_intp strides[3] = {0, sizeof(double), 0};
    plain.run(operands, some, strides);
  }
  gather(into, before, cells, stride, n, regular);
}

void reduce_sum(const Plain& plain, Cell* into, const char* cells, npy_intp stride, npy_intp n) {
  const Handle before = into->handle;
  if (stride == sizeof(Cell) && n >= 2 && adds_like_numpy(plain)) {
    const Cell* all = reinterpret_cast<const Cell*>(cells);
    uint64_t off = 0;
    into->value += sum(all, n, all[0].handle, all[1].handle - all[0].handle, &off);
    return gather(into, before, cells, stride, n, off == 0);
  }
  char* out = reinterpret_cast<char*>(into);
  char* operands[3] = {out, const_cast<char*>(cells), out};
  const npy_intp strides[3] = {0, stride, 0};
  plain.run(operands, n, strides);
  gather(into, before, cells, stride, n, n == 1);
}

void accumulate(const Plain& plain, char* const* data, const npy_intp* strides, npy_intp n) {
  char* operands[3] = {data[0], data[1], data[2]};
  plain.run(operands, n, strides);
  const Repetition around(n);
  Latest latest;
  Handle so_far = handle_at(data[0]);
  for (npy_intp i = 0; i < n; ++i) {
    if (plain.tracked[1]) so_far = latest.unite(so_far, handle_at(data[1] + i * strides[1]));
    std::memcpy(data[2] + i * strides[2] + kHandle, &so_far, sizeof so_far);
  }
}

}  // namespace whence::tracked
