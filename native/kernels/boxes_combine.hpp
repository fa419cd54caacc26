// Set algebra of two canonical sets: one sweep along axis 0 over the slabs of both, the same within each slab.
#pragma once

#include "kernels/boxes_builder.hpp"

namespace whence {

// Emits boxes in slab order into a sink; the sink's push returns whether to go on.
template <int D, class Sink>
class Combiner {
 public:
  Combiner(int d, Keep keep, Sink& out, int64_t* box) : d_(d), keep_(keep), out_(out), box_(box) {}

  // Boxes [a0, a1) of A and [b0, b1) of B, which agree on the axes before `axis` (already in box_).
  bool run(const int64_t* A, std::size_t a0, std::size_t a1, const int64_t* B, std::size_t b0, std::size_t b1, int axis) {
    if (a0 == a1) return !keep_.second || copy(B, b0, b1, axis);
    if (b0 == b1) return !keep_.first || copy(A, a0, a1, axis);
    Side a{A, a0, a1}, b{B, b0, b1};
    load(a, axis);
    load(b, axis);
    while (a.at != a.end && b.at != b.end) {
      if (a.hi < b.lo) {
        if (!keep_.first) { skip(a, b.lo, axis); continue; }
        if (!emit(a, a.lo, a.hi, axis)) return false;
        next(a, axis);
      } else if (b.hi < a.lo) {
        if (!keep_.second) { skip(b, a.lo, axis); continue; }
        if (!emit(b, b.lo, b.hi, axis)) return false;
        next(b, axis);
      } else {
        if (a.lo < b.lo) {
          if (keep_.first && !emit(a, a.lo, b.lo - 1, axis)) return false;
          a.lo = b.lo;
        } else if (b.lo < a.lo) {
          if (keep_.second && !emit(b, b.lo, a.lo - 1, axis)) return false;
          b.lo = a.lo;
        }
        const int64_t hi = std::min(a.hi, b.hi);
        box_[2 * axis] = a.lo;
        box_[2 * axis + 1] = hi;
        if (axis + 1 == axes()) {
          if (keep_.both && !out_.push(box_)) return false;
        } else if (!run(A, a.at, a.stop, B, b.at, b.stop, axis + 1)) {
          return false;
        }
        const bool a_done = a.hi == hi, b_done = b.hi == hi;
        if (a_done) next(a, axis); else a.lo = hi + 1;
        if (b_done) next(b, axis); else b.lo = hi + 1;
      }
    }
    return (!keep_.first || rest(a, axis)) && (!keep_.second || rest(b, axis));
  }

 private:
  // One operand during a sweep: its current slab is boxes [at, stop), of which [lo, hi] is not done yet.
  struct Side {
    const int64_t* boxes;
    std::size_t at, end, stop = 0;
    int64_t lo = 0, hi = 0;
  };

  int axes() const { return D ? D : d_; }
  std::size_t width() const { return 2 * static_cast<std::size_t>(axes()); }
  const int64_t* box_of(const Side& s, std::size_t i) const { return s.boxes + i * width(); }

  void load(Side& s, int axis) {
    if (s.at == s.end) return;
    const int64_t* box = box_of(s, s.at);
    s.lo = box[2 * axis];
    s.hi = box[2 * axis + 1];
    s.stop = s.at + 1;
    if (axis + 1 < axes())
      s.stop = gallop(s, s.stop, [&](const int64_t* other) { return other[2 * axis] == s.lo; });
  }

  void next(Side& s, int axis) {
    s.at = s.stop;
    load(s, axis);
  }

  // Skips everything before `lo` in logarithmic time, so that a small set against a large one stays cheap.
  void skip(Side& s, int64_t lo, int axis) {
    s.at = gallop(s, s.stop, [&](const int64_t* other) { return other[2 * axis + 1] < lo; });
    load(s, axis);
  }

  // Returns the first box from `i` on for which `holds` is false; it is true for a prefix.
  template <class P>
  std::size_t gallop(const Side& s, std::size_t i, P holds) const {
    std::size_t step = 1, lo = i;
    while (lo + step <= s.end && holds(box_of(s, lo + step - 1))) lo += step, step *= 2;
    std::size_t hi = std::min(lo + step, s.end + 1) - 1;  // holds up to lo; fails at hi, or hi is the end
    while (lo < hi) {
      const std::size_t mid = lo + (hi - lo) / 2;
      if (holds(box_of(s, mid))) lo = mid + 1; else hi = mid;
    }
    return lo;
  }

  bool emit(const Side& s, int64_t lo, int64_t hi, int axis) {
    box_[2 * axis] = lo;
    box_[2 * axis + 1] = hi;
    return axis + 1 == axes() ? out_.push(box_) : copy(s.boxes, s.at, s.stop, axis + 1);
  }

  bool copy(const int64_t* boxes, std::size_t from, std::size_t to, int axis) {
    for (std::size_t i = from; i < to; ++i) {
      const int64_t* box = boxes + i * width();
      for (int k = 2 * axis; k < 2 * axes(); ++k) box_[k] = box[k];
      if (!out_.push(box_)) return false;
    }
    return true;
  }

  bool rest(Side& s, int axis) {
    if (s.at == s.end) return true;
    if (!emit(s, s.lo, s.hi, axis)) return false;
    return copy(s.boxes, s.stop, s.end, axis);
  }

  int d_;
  Keep keep_;
  Sink& out_;
  int64_t* box_;
};

}  // namespace whence
