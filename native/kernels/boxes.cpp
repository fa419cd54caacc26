// Chooses the cheapest way to the canonical form for the given boxes.
#include "kernels/boxes.hpp"

#include <bit>
#include <limits>

#include "kernels/boxes_builder.hpp"
#include "kernels/boxes_sort.hpp"
#include "kernels/boxes_sweep.hpp"

namespace whence {
namespace {

constexpr std::size_t kFew = 64;  // below this, measuring the input costs more than it saves

bool is_empty(const int64_t* box, int d) {
  bool empty = false;
  for (int a = 0; a < d; ++a) empty |= box[2 * a] > box[2 * a + 1];
  return empty;
}

// The source of boxes: an array of boxes, or an array of cells, each a box of its own.
template <int D>
struct FromBoxes {
  const int64_t* boxes;
  int d;
  const int64_t* at(std::size_t i, int64_t*) const { return boxes + i * 2 * (D ? D : d); }
};

template <int D>
struct FromCells {
  const int64_t* cells;
  int d;
  const int64_t* at(std::size_t i, int64_t* box) const {
    const int axes = D ? D : d;
    for (int a = 0; a < axes; ++a) box[2 * a] = box[2 * a + 1] = cells[i * axes + a];
    return box;
  }
};

// The bounding box of the input, and what each way would cost; in doubles, because only sizes are compared.
struct Extent {
  int64_t lo[kMaxAxes];
  int64_t hi[kMaxAxes];
  int bits[kMaxAxes];    // of an index relative to lo
  int all_bits = 0;      // of a cell with its indices packed into one integer
  double cells = 1;      // of the bounding box
  double lines = 0;      // runs along the last axis, over all boxes
  double words = 0;      // words of a bitmap that these runs touch
  bool single = true;    // whether every run is one cell
  std::size_t count = 0; // boxes that are not empty
};

template <int D, class Source>
Extent measure(Source source, std::size_t n, int d) {
  if (D) d = D;
  Extent e;
  int64_t scratch[2 * (D ? D : kMaxAxes)];
  for (int a = 0; a < d; ++a) e.lo[a] = std::numeric_limits<int64_t>::max(), e.hi[a] = std::numeric_limits<int64_t>::min();
  for (std::size_t i = 0; i < n; ++i) {
    const int64_t* box = source.at(i, scratch);
    if (is_empty(box, d)) continue;
    ++e.count;
    double lines = 1;
    for (int a = 0; a < d; ++a) {
      e.lo[a] = std::min(e.lo[a], box[2 * a]);
      e.hi[a] = std::max(e.hi[a], box[2 * a + 1]);
      // Subtracted as integers, because doubles beyond 2^53 would lose the difference.
      const uint64_t reach = static_cast<uint64_t>(box[2 * a + 1]) - static_cast<uint64_t>(box[2 * a]);
      const double length = static_cast<double>(reach) + 1;
      if (a + 1 < d) {
        lines *= length;
      } else {
        e.words += lines * (1 + length / 64);
        e.single &= reach == 0;
      }
    }
    e.lines += lines;
  }
  for (int a = 0; a < d; ++a) {
    const uint64_t last = static_cast<uint64_t>(e.hi[a]) - static_cast<uint64_t>(e.lo[a]);
    e.bits[a] = std::bit_width(last);
    e.all_bits += e.bits[a];
    e.cells *= static_cast<double>(last) + 1;
  }
  return e;
}

// Calls f(offsets) for each line (run along the last axis) of a box; offsets are relative to the bounding box's corner.
template <int D, class F>
void each_line(const int64_t* box, const Extent& e, int d, F f) {
  uint64_t at[D ? D : kMaxAxes];
  for (int a = 0; a < d; ++a) at[a] = static_cast<uint64_t>(box[2 * a]) - static_cast<uint64_t>(e.lo[a]);
  for (;;) {
    f(at);
    int a = d - 2;
    for (; a >= 0; --a) {
      if (static_cast<int64_t>(at[a] + static_cast<uint64_t>(e.lo[a])) < box[2 * a + 1]) {
        ++at[a];
        break;
      }
      at[a] = static_cast<uint64_t>(box[2 * a]) - static_cast<uint64_t>(e.lo[a]);
    }
    if (a < 0) return;
  }
}

void set_bits(uint64_t* bitmap, uint64_t from, uint64_t to) {  // inclusive
  const uint64_t first = from / 64, last = to / 64;
  const uint64_t head = ~uint64_t{0} << (from % 64), tail = ~uint64_t{0} >> (63 - to % 64);
  if (first == last) {
    bitmap[first] |= head & tail;
    return;
  }
  bitmap[first] |= head;
  for (uint64_t w = first + 1; w < last; ++w) bitmap[w] = ~uint64_t{0};
  bitmap[last] |= tail;
}

// Dense input: mark the cells in a bitmap of the bounding box, then read the runs back in order.
template <int D, class Source>
void by_bitmap(Source source, std::size_t n, int d, const Extent& e, Builder<D>& out) {
  if (D) d = D;
  int64_t box[2 * (D ? D : kMaxAxes)];
  uint64_t size[D ? D : kMaxAxes];
  uint64_t cells = 1;
  for (int a = 0; a < d; ++a) size[a] = static_cast<uint64_t>(e.hi[a] - e.lo[a]) + 1, cells *= size[a];
  const uint64_t row = size[d - 1];
  std::vector<uint64_t> bitmap(cells / 64 + 1, 0);  // at least one bit past the end, which ends the last run
  for (std::size_t i = 0; i < n; ++i) {
    const int64_t* given = source.at(i, box);
    if (is_empty(given, d)) continue;
    const uint64_t reach = static_cast<uint64_t>(given[2 * d - 1] - given[2 * d - 2]);
    each_line<D>(given, e, d, [&](const uint64_t* at) {
      uint64_t flat = at[0];
      for (int a = 1; a < d; ++a) flat = flat * size[a] + at[a];
      set_bits(bitmap.data(), flat, flat + reach);
    });
  }
  uint64_t row_start = 0, row_end = 0;  // the row of the box's leading axes
  const auto emit = [&](uint64_t from, uint64_t to) {  // half-open, within one row or across several
    while (from < to) {
      if (from >= row_end || row_end == 0) {
        uint64_t rest = from / row;
        row_start = rest * row;
        row_end = row_start + row;
        for (int a = d - 2; a >= 0; --a) {
          box[2 * a] = box[2 * a + 1] = e.lo[a] + static_cast<int64_t>(rest % size[a]);
          rest /= size[a];
        }
      }
      const uint64_t stop = std::min(to, row_end);
      box[2 * d - 2] = e.lo[d - 1] + static_cast<int64_t>(from - row_start);
      box[2 * d - 1] = e.lo[d - 1] + static_cast<int64_t>(stop - 1 - row_start);
      out.push(box);
      from = stop;
    }
  };
  bool open = false;
  uint64_t from = 0;
  for (std::size_t w = 0; w < bitmap.size(); ++w) {
    uint64_t bits = bitmap[w];
    if (bits == (open ? ~uint64_t{0} : 0)) continue;
    int at = 0;
    while (at < 64) {  // alternate between searching a one and a zero
      const uint64_t seen = (open ? ~bits : bits) >> at;
      if (seen == 0) break;
      at += std::countr_zero(seen);
      if (open) emit(from, w * 64 + at);
      else from = w * 64 + at;
      open = !open;
    }
  }
}

// Short runs in any order: sort them by their packed first cell.
template <int D, bool Cells, class Source>
void by_keys(Source source, std::size_t n, int d, const Extent& e, Builder<D>& out) {
  if (D) d = D;
  int64_t box[2 * (D ? D : kMaxAxes)];
  int shift[D ? D : kMaxAxes];
  for (int a = d - 1, at = 0; a >= 0; at += e.bits[a], --a) shift[a] = at;
  using Item = std::conditional_t<Cells, uint64_t, Keyed>;
  std::vector<Item> items;
  items.reserve(static_cast<std::size_t>(e.lines));
  for (std::size_t i = 0; i < n; ++i) {
    const int64_t* given = source.at(i, box);
    if (is_empty(given, d)) continue;
    each_line<D>(given, e, d, [&](const uint64_t* at) {
      uint64_t key = 0;
      for (int a = 0; a < d; ++a) key |= at[a] << shift[a];
      if constexpr (Cells) items.push_back(key);
      else items.push_back({key, static_cast<uint64_t>(given[2 * d - 1] - given[2 * d - 2])});
    });
  }
  radix_sort(items, e.all_bits);
  for (const Item& item : items) {
    for (int a = 0; a < d; ++a)
      box[2 * a] = box[2 * a + 1] =
          e.lo[a] + static_cast<int64_t>((key_of(item) >> shift[a]) & ((uint64_t{1} << e.bits[a]) - 1));
    if constexpr (!Cells) box[2 * d - 1] += static_cast<int64_t>(item.value);
    out.push(box);
  }
}

// Anything else: sort along axis 0 and sweep.
template <int D>
void by_sweep(const int64_t* boxes, std::size_t n, int d, const Extent* e, Builder<D>& out) {
  if (D) d = D;
  Arena arena;
  const int64_t** items = arena.get<const int64_t*>(n);
  std::size_t count = 0;
  if (e) {  // many boxes
    std::vector<Keyed> order;
    order.reserve(e->count);
    for (std::size_t i = 0; i < n; ++i)
      if (!is_empty(boxes + i * 2 * d, d))
        order.push_back({static_cast<uint64_t>(boxes[i * 2 * d]) - static_cast<uint64_t>(e->lo[0]), i});
    radix_sort(order, e->bits[0]);
    for (const Keyed& k : order) items[count++] = boxes + k.value * 2 * d;
  } else {
    for (std::size_t i = 0; i < n; ++i)
      if (!is_empty(boxes + i * 2 * d, d)) items[count++] = boxes + i * 2 * d;
    for (std::size_t i = 1; i < count; ++i) {  // few boxes: insertion sort
      const int64_t* item = items[i];
      std::size_t j = i;
      for (; j > 0 && items[j - 1][0] > item[0]; --j) items[j] = items[j - 1];
      items[j] = item;
    }
  }
  if (count == 0) return;
  int64_t box[2 * (D ? D : kMaxAxes)];
  Sweeper<D>(d, out, arena, box).run(items, count, 0);
}

template <int D>
bool canonical_axes(const int64_t* boxes, std::size_t n, int d) {
  if (D) d = D;
  // The same bookkeeping as in Builder, but in place.
  std::size_t start[D ? D : kMaxAxes], prev[D ? D : kMaxAxes];
  for (int a = 0; a < d; ++a) start[a] = prev[a] = 0;
  const auto joined = [&](std::size_t i, int first) {
    for (int l = d - 2; l >= first; --l) {
      const std::size_t s = start[l], p = prev[l];
      if (p != s && i - s == s - p && joins<D>(boxes + p * 2 * d, boxes + s * 2 * d, i - s, l, d)) return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const int64_t* box = boxes + i * 2 * d;
    if (is_empty(box, d)) return false;
    if (i == 0) continue;
    const int64_t* last = box - 2 * d;
    int a = 0;
    while (a + 1 < d && box[2 * a] == last[2 * a] && box[2 * a + 1] == last[2 * a + 1]) ++a;
    if (box[2 * a] <= last[2 * a + 1]) return false;
    if (a + 1 == d) {
      if (box[2 * a] - 1 == last[2 * a + 1]) return false;
    } else {
      if (joined(i, a)) return false;
      prev[a] = start[a];
      for (int l = a; l < d; ++l) start[l] = i;
      for (int l = a + 1; l < d; ++l) prev[l] = i;
    }
  }
  return !joined(n, 0);
}

// Handles input that can be read in one pass; returns false, with nothing in `out`, if it cannot.
template <int D, class Source>
bool by_streaming(Source source, std::size_t n, int d, Values& out) {
  Builder<D> builder(d, std::min<std::size_t>(n, kFew));
  int64_t scratch[2 * (D ? D : kMaxAxes)];
  for (std::size_t i = 0; i < n; ++i) {
    const int64_t* box = source.at(i, scratch);
    if (!is_empty(box, D ? D : d) && !builder.try_push(box)) return false;
  }
  out = builder.take();
  return true;
}

// Tries the ways that do not need boxes in memory; returns false, with nothing in `out`, if none of them is cheap.
template <int D, class Source>
bool by_cells(Source source, std::size_t n, int d, const Extent& e, Builder<D>& out) {
  const double count = static_cast<double>(e.count);
  if (e.cells / 64 <= 8 * count && e.cells / 64 + 8 * e.words <= 64 * count) {
    by_bitmap<D>(source, n, d, e, out);
  } else if (e.all_bits <= 63 && e.lines <= 4 * count) {
    if (e.single) by_keys<D, true>(source, n, d, e, out);
    else by_keys<D, false>(source, n, d, e, out);
  } else {
    return false;
  }
  return true;
}

template <int D>
Values normalize_axes(const int64_t* boxes, std::size_t n, int d) {
  const std::size_t width = 2 * static_cast<std::size_t>(d);
  if (canonical_axes<D>(boxes, n, d)) {
    Values out(n * width);
    std::memcpy(out.data(), boxes, n * width * sizeof(int64_t));
    return out;
  }
  const FromBoxes<D> source{boxes, d};
  Values streamed;
  if (by_streaming<D>(source, n, d, streamed)) return streamed;
  Builder<D> out(d, std::min<std::size_t>(n, kFew));
  if (n <= kFew) {
    by_sweep<D>(boxes, n, d, nullptr, out);
  } else {
    const Extent e = measure<D>(source, n, d);
    if (!by_cells<D>(source, n, d, e, out)) by_sweep<D>(boxes, n, d, &e, out);
  }
  return out.take();
}

template <int D>
Values cells_axes(const int64_t* cells, std::size_t n, int d) {
  const FromCells<D> source{cells, d};
  Values streamed;
  if (by_streaming<D>(source, n, d, streamed)) return streamed;
  if (n > kFew) {
    Builder<D> out(d, kFew);
    if (by_cells<D>(source, n, d, measure<D>(source, n, d), out)) return out.take();
  }
  std::vector<int64_t> boxes(n * 2 * d);
  for (std::size_t i = 0; i < n; ++i) source.at(i, &boxes[i * 2 * d]);
  return normalize_axes<D>(boxes.data(), n, d);
}

void check_axes(int d) {
  if (d < 0 || d > kMaxAxes) throw std::invalid_argument("whence: too many axes");
}

}  // namespace

Values normalized(const int64_t* boxes, std::size_t n, int d) {
  check_axes(d);
  if (d == 0 || n == 0) return {};
  return with_axes(d, [&]<int D>() { return normalize_axes<D>(boxes, n, d); });
}

std::vector<int64_t> normalize(const int64_t* boxes, std::size_t n, int d) {
  const Values out = normalized(boxes, n, d);
  return {out.data(), out.data() + out.size()};
}

Values boxes_of_cells(const int64_t* cells, std::size_t n, int d) {
  check_axes(d);
  if (d == 0 || n == 0) return {};
  return with_axes(d, [&]<int D>() { return cells_axes<D>(cells, n, d); });
}

bool is_canonical(const int64_t* boxes, std::size_t n, int d) {
  check_axes(d);
  if (d == 0) return n <= 1;
  return with_axes(d, [&]<int D>() { return canonical_axes<D>(boxes, n, d); });
}

}  // namespace whence
