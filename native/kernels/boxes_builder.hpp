// Where canonical boxes are put together: everything that makes a set of boxes emits through a Builder.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/boxes.hpp"

namespace whence {

// Takes boxes in *slab order* - of two neighbours, the first axis on which they differ has the second one wholly after
// the first - and merges equal adjacent slabs as soon as they are complete, deepest axis first. What comes out is
// canonical. D is the number of axes, or 0 when it is known only at run time.
template <int D>
class Builder {
 public:
  explicit Builder(int d, std::size_t expected = 4) : d_(d) { out_.resize(expected * width()); }

  int axes() const { return D ? D : d_; }
  std::size_t size() const { return n_; }
  const int64_t* data() const { return out_.data(); }

  // False, with the box not taken, when it would break slab order.
  bool try_push(const int64_t* box) {
    if (n_ == 0) {
      for (int a = 0; a + 1 < axes(); ++a) start_[a] = 0, prev_[a] = kNone;
      append(box);
      return true;
    }
    int64_t* last = &out_[(n_ - 1) * width()];
    const int end = axes() - 1;
    int a = 0;
    while (a < end && box[2 * a] == last[2 * a] && box[2 * a + 1] == last[2 * a + 1]) ++a;
    if (a == end) {
      if (box[2 * a] < last[2 * a]) return false;
      // On the last axis overlap does no harm: intervals just grow.
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

  // Always true ("go on"): the answer other sinks use to stop early.
  bool push(const int64_t* box) {
    if (!try_push(box)) throw std::logic_error("whence: boxes out of slab order");
    return true;
  }

  void finish() {
    if (n_) close(0);
  }

  std::vector<int64_t> take() {
    finish();
    out_.resize(n_ * width());
    if (out_.capacity() > 2 * out_.size() + 64) out_.shrink_to_fit();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t width() const { return 2 * static_cast<std::size_t>(axes()); }

  void append(const int64_t* box) {
    if ((n_ + 1) * width() > out_.size()) grow();
    std::memcpy(&out_[n_ * width()], box, width() * sizeof(int64_t));
    ++n_;
  }

  void grow() {
    std::size_t want = std::max((n_ + 1) * width(), out_.size() * 2);
    if (want > kMaxValues) {
      want = kMaxValues;
      if ((n_ + 1) * width() > want) throw std::length_error("whence: too many boxes");
    }
    out_.resize(want);
  }

  // The slabs now open on the axes from the last but one down to `first` are complete: join each to the one before it.
  void close(int first) {
    for (int l = axes() - 2; l >= first; --l) {
      const std::size_t s = start_[l], p = prev_[l];
      if (p == kNone || n_ - s != s - p) continue;
      int64_t* before = &out_[p * width()];
      const int64_t* now = &out_[s * width()];
      if (now[2 * l] - 1 != before[2 * l + 1] || !same_tails(before, now, n_ - s, l + 1)) continue;
      const int64_t hi = now[2 * l + 1];
      for (std::size_t i = p; i < s; ++i) out_[i * width() + 2 * l + 1] = hi;
      n_ = s;
      start_[l] = p;
    }
  }

  bool same_tails(const int64_t* x, const int64_t* y, std::size_t count, int axis) const {
    for (std::size_t i = 0; i < count; ++i, x += width(), y += width())
      for (int k = 2 * axis; k < 2 * axes(); ++k)
        if (x[k] != y[k]) return false;
    return true;
  }

  int d_;
  std::size_t n_ = 0;
  std::vector<int64_t> out_;
  std::size_t start_[D ? D : kMaxAxes];  // first box of the slab that is open on an axis
  std::size_t prev_[D ? D : kMaxAxes];   // first box of the slab before it in the same parent, or kNone
};

// Calls f<D>() with the number of axes as a constant where it is a common one.
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
