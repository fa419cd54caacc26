// Conversion between boxes and cells: expanding, masks.
#include <cstring>

#include "kernels/boxes_builder.hpp"

namespace whence {
namespace {

// Writes cells slab by slab: within a slab, the cells of the rest are written once, and then copied with another index.
class Expander {
 public:
  Expander(const int64_t* boxes, int d) : boxes_(boxes), d_(d) {}

  // Boxes [from, to) agree on the axes before `axis`; columns from `axis` on are written. Returns the next free row.
  int64_t* run(std::size_t from, std::size_t to, int axis, int64_t* row) const {
    for (std::size_t stop; from < to; from = stop) {
      const int64_t lo = side(from, axis)[0], hi = side(from, axis)[1];
      stop = from + 1;
      if (axis + 1 == d_) {
        for (int64_t x = lo;; ++x, row += d_) {
          row[axis] = x;
          if (x == hi) break;
        }
        row += d_;
        continue;
      }
      while (stop < to && side(stop, axis)[0] == lo) ++stop;
      int64_t* const first = row;
      row = run(from, stop, axis + 1, row);
      const std::size_t rows = static_cast<std::size_t>(row - first) / d_;
      set(first, rows, axis, lo);
      for (int64_t x = lo; x < hi;) {
        ++x;
        for (std::size_t i = 0; i < rows; ++i)
          for (int a = axis + 1; a < d_; ++a) row[i * d_ + a] = first[i * d_ + a];
        set(row, rows, axis, x);
        row += rows * d_;
      }
    }
    return row;
  }

 private:
  const int64_t* side(std::size_t i, int axis) const { return boxes_ + (i * d_ + axis) * 2; }

  void set(int64_t* row, std::size_t rows, int axis, int64_t x) const {
    for (std::size_t i = 0; i < rows; ++i) row[i * d_ + axis] = x;
  }

  const int64_t* boxes_;
  std::size_t d_;
};

// Returns the first byte in [from, end) that is not zero, reading eight at a time.
const uint8_t* first_set(const uint8_t* from, const uint8_t* end) {
  for (uint64_t word; end - from >= 8; from += 8) {
    std::memcpy(&word, from, 8);
    if (word) break;
  }
  while (from != end && !*from) ++from;
  return from;
}

}  // namespace

void expand(const int64_t* boxes, std::size_t n, int d, int64_t* cells) {
  if (d > 0) Expander(boxes, d).run(0, n, 0, cells);
}

void fill(const int64_t* boxes, std::size_t n, int d, const std::size_t* shape, uint8_t* mask) {
  if (d == 0) {
    if (n) *mask = 1;
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const int64_t* box = boxes + i * 2 * d;
    for (int a = 0; a < d; ++a) {
      if (box[2 * a] < 0 || box[2 * a] > box[2 * a + 1] || static_cast<uint64_t>(box[2 * a + 1]) >= shape[a]) {
        throw OutsideShape("a box of the selection lies outside the shape of its dataset");
      }
    }
    // Trailing axes that the box covers completely form one run with the axis before them.
    int last = d - 1;
    std::size_t run = 1;
    for (; last > 0; --last) {
      if (box[2 * last] != 0 || static_cast<std::size_t>(box[2 * last + 1]) + 1 != shape[last]) break;
      run *= shape[last];
    }
    const std::size_t length = static_cast<std::size_t>(box[2 * last + 1] - box[2 * last] + 1) * run;
    int64_t at[kMaxAxes];
    for (int a = 0; a <= last; ++a) at[a] = box[2 * a];
    for (;;) {
      std::size_t flat = 0;
      for (int a = 0; a <= last; ++a) flat = flat * shape[a] + static_cast<std::size_t>(at[a]);
      std::memset(mask + flat * run, 1, length);
      int a = last - 1;
      for (; a >= 0; --a) {
        if (at[a] < box[2 * a + 1]) {
          ++at[a];
          break;
        }
        at[a] = box[2 * a];
      }
      if (a < 0) break;
    }
  }
}

Values boxes_of_mask(const uint8_t* mask, const std::size_t* shape, int d) {
  if (d < 0 || d > kMaxAxes) throw std::invalid_argument("whence: too many axes");
  if (d == 0) return {};
  return with_axes(d, [&]<int D>() {
    const int last = (D ? D : d) - 1;
    std::size_t rows = 1;
    for (int a = 0; a < last; ++a) rows *= shape[a];
    Builder<D> out(d, 16);
    int64_t box[2 * (D ? D : kMaxAxes)] = {};
    for (std::size_t r = 0; r < rows; ++r) {
      const uint8_t *row = mask + r * shape[last], *end = row + shape[last];
      for (const uint8_t* at = first_set(row, end); at != end; at = first_set(at, end)) {
        const void* stop = std::memchr(at, 0, static_cast<std::size_t>(end - at));
        box[2 * last] = at - row;
        at = stop ? static_cast<const uint8_t*>(stop) : end;
        box[2 * last + 1] = at - row - 1;
        out.push(box);
      }
      for (int a = last - 1; a >= 0; --a) {
        box[2 * a + 1] = ++box[2 * a];
        if (static_cast<std::size_t>(box[2 * a]) < shape[a]) break;
        box[2 * a] = box[2 * a + 1] = 0;
      }
    }
    return out.take();
  });
}

}  // namespace whence
