// Reductions and accumulations.
#include <algorithm>
#include <cfenv>
#include <cstring>
#include <string_view>

#include "npdtype/loops.hpp"
#include "npdtype/pieces.hpp"
#include "npdtype/sets.hpp"
#include "npdtype/simd.hpp"
#include "npdtype/unions.hpp"

namespace whence::tracked {

namespace {

constexpr npy_intp kHandle = offsetof(Cell, handle);

// Whether our pairwise sum adds in the order of NumPy's: checked once, because a later NumPy may use another.
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

// Computes the extreme of `into` and contiguous cells, unless NumPy has to decide which: there are two zeros, and many
// NaNs.
bool extreme_into(double* into, const Plain& plain, const Cell* cells, npy_intp n, Handle first, uint64_t step,
                  uint64_t* off) {
  const double found = plain.extreme(*into, cells, n, first, step, off);
  if (found != found) std::feclearexcept(FE_INVALID);  // comparing a NaN sets this flag, but NumPy gives no warning
  if (found == 0 || found != found) return false;
  *into = found;
  return true;
}

// Runs NumPy's loop over the values of contiguous cells; returns whether their handles are first, first + step, ...
bool by_numpy(const Plain& plain, double* into, const Cell* cells, npy_intp n, Handle first, uint64_t step) {
  alignas(64) double values[kChunk];
  char* out = reinterpret_cast<char*>(into);
  bool regular = true;
  for (npy_intp i = 0; i < n; i += kChunk) {  // only np.add depends on how many numbers it gets at a time
    const npy_intp some = std::min(kChunk, n - i);
    regular &= split(cells + i, some, first + step * static_cast<uint64_t>(i), step, values);
    char* operands[3] = {out, reinterpret_cast<char*>(values), out};
    const npy_intp strides[3] = {0, sizeof(double), 0};
    plain.run(operands, some, strides);
  }
  return regular;
}

// The sets of rows, one after the other. Sets are independent of their origin: if a row's handles are those of the
// latest row, moved, so is its set.
class RowSets {
 public:
  explicit RowSets(npy_intp m) : m_(m) {}

  Handle of(const Cell* row, bool regular) {
    const Handle first = row[0].handle, last = row[m_ - 1].handle;
    const uint64_t step = row[1].handle - first;
    const auto kind = [](Handle h) { return h >> kOriginBits; };
    const bool moved = regular && step == step_ && kind(first) == kind_ && kind(last) == kind_;
    if (moved) return set_ + (first - first_);
    Cell into = {0.0, 0};
    gather(&into, 0, reinterpret_cast<const char*>(row), sizeof(Cell), m_, regular);
    // If the step is shorter than the numbering and both ends have the same kind, all handles have that kind.
    const bool short_step = step <= kOrigin || -step <= kOrigin;
    if (regular && short_step && is_interval(first) && kind(first) == kind(last) && into.handle != 0 &&
        tag(into.handle) == Tag::shaped) {
      kind_ = kind(first);
      step_ = step;
      first_ = first;
      set_ = into.handle;
    }
    return into.handle;
  }

 private:
  npy_intp m_;
  uint64_t kind_ = ~uint64_t{0};  // not the kind of any handle
  uint64_t step_ = 0;
  Handle first_ = 0, set_ = 0;
};

void reduce_some_rows(const Plain& plain, const Cell* cells, npy_intp n, npy_intp m, Cell* out) {
  RowSets sets(m);
  for (npy_intp i = 0; i < n; ++i) {
    const Cell* row = cells + i * m;
    const Handle first = row[0].handle;
    const uint64_t step = row[1].handle - first;
    uint64_t off = 0;
    double value = row[0].value;
    if (plain.extreme == nullptr) {
      value = 0.0 + sum(row, m, first, step, &off);
    } else if (!extreme_into(&value, plain, row, m, first, step, &off)) {
      by_numpy(plain, &value, row + 1, m - 1, first, step);
    }
    out[i] = {value, sets.of(row, off == 0)};
  }
}

}  // namespace

Extreme extreme_of(const char* ufunc) {
  const std::string_view name = ufunc;
  if (name == "maximum" || name == "fmax") return largest;
  if (name == "minimum" || name == "fmin") return smallest;
  return nullptr;
}

bool reduce_rows(const Plain& plain, const Cell* cells, npy_intp n, npy_intp m, Cell* out) {
  if (plain.extreme == nullptr && !adds_like_numpy(plain)) return false;
  in_pieces(n * m, [&](npy_intp from, npy_intp to) {  // of cells; a row belongs to the piece in which it begins
    const npy_intp top = (from + m - 1) / m, end = (to + m - 1) / m;
    reduce_some_rows(plain, cells + top * m, end - top, m, out + top);
  });
  return true;
}

void reduce(const Plain& plain, Cell* into, const char* cells, npy_intp stride, npy_intp n) {
  const Handle before = into->handle;
  if (stride != sizeof(Cell) || n < 4) {
    char* out = reinterpret_cast<char*>(into);
    char* operands[3] = {out, const_cast<char*>(cells), out};
    const npy_intp strides[3] = {0, stride, 0};
    plain.run(operands, n, strides);
    return gather(into, before, cells, stride, n, n == 1);
  }
  const Cell* all = reinterpret_cast<const Cell*>(cells);
  const Handle first = all[0].handle;
  const uint64_t step = all[1].handle - first;
  if (plain.extreme != nullptr) {
    uint64_t off = 0;
    const bool found = extreme_into(&into->value, plain, all, n, first, step, &off);
    if (!found) by_numpy(plain, &into->value, all, n, first, step);
    return gather(into, before, cells, stride, n, off == 0);
  }
  const bool regular = by_numpy(plain, &into->value, all, n, first, step);
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
