// Set algebra of canonical sets, and questions about them that make no new set.
#include <algorithm>

#include "kernels/boxes_combine.hpp"

namespace whence {
namespace {

// A sink for questions: the first box that would be kept ends the sweep.
struct Any {
  bool found = false;
  bool push(const int64_t*) {
    found = true;
    return false;
  }
};

// The boxes in [from, to) whose interval on `axis` contains x: a slab, or nothing.
struct Slab {
  std::size_t from, to;
};

Slab slab_with(const int64_t* boxes, Slab in, int d, int axis, int64_t x) {
  const auto lo_of = [&](std::size_t i) { return boxes[(i * d + axis) * 2]; };
  std::size_t from = in.from, to = in.to;
  while (from < to) {  // the first box that begins after x
    const std::size_t mid = from + (to - from) / 2;
    if (lo_of(mid) <= x) from = mid + 1; else to = mid;
  }
  if (from == in.from || boxes[((from - 1) * d + axis) * 2 + 1] < x) return {0, 0};
  const int64_t lo = lo_of(from - 1);
  const std::size_t end = from;
  std::size_t first = in.from;
  for (std::size_t last = end - 1; first < last;) {  // the first box of that slab
    const std::size_t mid = first + (last - first) / 2;
    if (lo_of(mid) < lo) first = mid + 1; else last = mid;
  }
  return {first, end};
}

}  // namespace

Values combined(const int64_t* a, std::size_t na, const int64_t* b, std::size_t nb, int d, Keep keep) {
  if (d < 0 || d > kMaxAxes) throw std::invalid_argument("whence: too many axes");
  if (d == 0) return {};
  return with_axes(d, [&]<int D>() {
    int64_t box[2 * (D ? D : kMaxAxes)];
    Builder<D> out(d, std::clamp<std::size_t>(na + nb, 4, 64));
    Combiner<D, Builder<D>>(d, keep, out, box).run(a, 0, na, b, 0, nb, 0);
    return out.take();
  });
}

bool any_kept(const int64_t* a, std::size_t na, const int64_t* b, std::size_t nb, int d, Keep keep) {
  if (d < 0 || d > kMaxAxes) throw std::invalid_argument("whence: too many axes");
  if (d == 0) return na ? (nb ? keep.both : keep.first) : nb && keep.second;
  return with_axes(d, [&]<int D>() {
    int64_t box[2 * (D ? D : kMaxAxes)];
    Any any;
    Combiner<D, Any>(d, keep, any, box).run(a, 0, na, b, 0, nb, 0);
    return any.found;
  });
}

void contains(const int64_t* boxes, std::size_t n, int d, const int64_t* cells, std::size_t m, bool* found) {
  for (std::size_t i = 0; i < m; ++i) {
    Slab slab{0, n};
    for (int a = 0; a < d && slab.from < slab.to; ++a) slab = slab_with(boxes, slab, d, a, cells[i * d + a]);
    found[i] = slab.from < slab.to;
  }
}

Count count(const int64_t* boxes, std::size_t n, int d) {
  __extension__ using Wide = unsigned __int128;
  Wide total = 0;
  bool fits = true;
  for (std::size_t i = 0; i < n; ++i) {
    Wide cells = 1;
    for (int a = 0; a < d; ++a) {
      const int64_t* side = boxes + (i * d + a) * 2;
      const Wide length = static_cast<Wide>(static_cast<uint64_t>(side[1]) - static_cast<uint64_t>(side[0])) + 1;
      fits &= !__builtin_mul_overflow(cells, length, &cells);
    }
    fits &= !__builtin_add_overflow(total, cells, &total);
  }
  return {static_cast<uint64_t>(total >> 64), static_cast<uint64_t>(total), fits};
}

std::size_t first_outside(const int64_t* rows, std::size_t n, int d, int each, const int64_t* shape) {
  for (std::size_t i = 0; i < n; ++i) {
    bool outside = false;
    for (int a = 0; a < d; ++a)
      for (int k = 0; k < each; ++k, ++rows) outside |= static_cast<uint64_t>(*rows) >= static_cast<uint64_t>(shape[a]);
    if (outside) return i;
  }
  return n;
}

}  // namespace whence
