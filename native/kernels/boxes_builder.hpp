// Builds canonical boxes: everything that makes a set of boxes emits through a Builder.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/boxes.hpp"
#include "kernels/values.hpp"

namespace whence {

// Whether two slabs of `count` boxes each touch on `axis` and are the same on the axes after it.
template <int D>
bool joins(const int64_t* before, const int64_t* now, std::size_t count, int axis, int d) {
  if (D) d = D;
  if (now[2 * axis] - 1 != before[2 * axis + 1]) return false;
  for (std::size_t i = 0; i < count; ++i, before += 2 * d, now += 2 * d)
    for (int k = 2 * axis + 2; k < 2 * d; ++k)
      if (before[k] != now[k]) return false;
  return true;
}

// Takes boxes in *slab order* (on the first axis on which two neighbours differ, the second begins after the end of the
// first) and merges equal adjacent slabs as soon as they are complete, deepest axis first. The result is canonical. D
// is the number of axes, or 0 if it is known only at run time.
template <int D>
class Builder {
 public:
  explicit Builder(int d, std::size_t expected = 4) : d_(d), out_(expected * width()) {}

  int axes() const { return D ? D : d_; }
  std::size_t size() const { return n_; }
  const int64_t* data() const { return out_.data(); }

  // Returns false, without adding the box, if it would break slab order.
  bool try_push(const int64_t* box) {
    if (n_ == 0) {
      for (int a = 0; a + 1 < axes(); ++a) start_[a] = 0, prev_[a] = kNone;
      append(box);
      return true;
    }
    int64_t* last = out_.data() + (n_ - 1) * width();
    const int end = axes() - 1;
    int a = 0;
    while (a < end && box[2 * a] == last[2 * a] && box[2 * a + 1] == last[2 * a + 1]) ++a;
    if (a == end) {
      if (box[2 * a] < last[2 * a]) return false;
      // On the last axis overlap is harmless: intervals just grow.
      if (box[2 * a] <= last[2 * a + 1] || box[2 * a] - 1 == last[2 * a + 1]) {
        last[2 * a + 1] = std::max(last[2 * a + 1], box[2 * a + 1]);
      } else {
        append(box);
      }
      return true;
    }
    if (box[2 * a] <= last[2 * a + 1]) return false;
    close(a);
    prev_[a] = start_[a];
    start_[a] = n_;
    for (int l = a + 1; l < end; ++l) start_[l] = n_, prev_[l] = kNone;
    append(box);
    return true;
  }

  // Always returns true ("go on"); other sinks return false to stop early.
  bool push(const int64_t* box) {
    if (!try_push(box)) throw std::logic_error("whence: boxes out of slab order");
    return true;
  }

  void finish() {
    if (n_) close(0);
  }

  Values take() {
    finish();
    out_.shrink(n_ * width());
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t width() const { return 2 * static_cast<std::size_t>(axes()); }

  void append(const int64_t* box) {
    if ((n_ + 1) * width() > out_.size()) out_.grow((n_ + 1) * width());
    std::memcpy(out_.data() + n_ * width(), box, width() * sizeof(int64_t));
    ++n_;
  }

  // Completes the slabs that are open on the axes from the last but one down to `first`: joins each to the one before
  // it.
  void close(int first) {
    for (int l = axes() - 2; l >= first; --l) {
      const std::size_t s = start_[l], p = prev_[l];
      if (p == kNone || n_ - s != s - p) continue;
      int64_t* before = out_.data() + p * width();
      const int64_t* now = out_.data() + s * width();
      if (!joins<D>(before, now, n_ - s, l, axes())) continue;
      const int64_t hi = now[2 * l + 1];
      for (std::size_t i = p; i < s; ++i, before += width()) before[2 * l + 1] = hi;
      n_ = s;
      start_[l] = p;
    }
  }

  int d_;
  std::size_t n_ = 0;
  Values out_;
  std::size_t start_[D ? D : kMaxAxes];  // first box of the slab that is open on an axis
  std::size_t prev_[D ? D : kMaxAxes];   // first box of the slab before it in the same parent, or kNone
};

// Calls f<D>() with the number of axes as a constant, if it is a common one.
template <class F>
decltype(auto) with_axes(int d, F&& f) {
  switch (d) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    case 3: return f.template operator()<3>();
    case 4: return f.template operator()<4>();
    default: return f.template operator()<0>();
  }
}

}  // namespace whence
