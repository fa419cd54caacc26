// The general way to the canonical form: sweep axis by axis over boxes that overlap in any way.
#pragma once

#include <memory>

#include "kernels/boxes_combine.hpp"

namespace whence {

// Scratch memory that is allocated and freed in stack order; short inputs never use the heap.
class Arena {
 public:
  // Memory that is allocated during a Frame's lifetime is free again after it.
  class Frame {
   public:
    explicit Frame(Arena& arena) : arena_(arena), chunk_(arena.chunk_), used_(arena.used_) {}
    ~Frame() { arena_.chunk_ = chunk_, arena_.used_ = used_; }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Arena& arena_;
    std::size_t chunk_, used_;
  };

  template <class T>
  T* get(std::size_t n) {
    static_assert(sizeof(T) == sizeof(int64_t));
    return static_cast<T*>(words(n));
  }

 private:
  struct Chunk {
    std::unique_ptr<int64_t[]> memory;
    std::size_t size;
  };

  void* words(std::size_t n) {
    std::size_t size = chunk_ == 0 ? kFirst : more_[chunk_ - 1].size;
    while (used_ + n > size) {
      if (chunk_ == more_.size()) {
        const std::size_t want = std::max(n, size * 2);
        more_.push_back({std::make_unique_for_overwrite<int64_t[]>(want), want});
      }
      ++chunk_;
      used_ = 0;
      size = more_[chunk_ - 1].size;
    }
    int64_t* base = chunk_ == 0 ? first_ : more_[chunk_ - 1].memory.get();
    used_ += n;
    return base + used_ - n;
  }

  static constexpr std::size_t kFirst = 512;
  int64_t first_[kFirst];
  std::vector<Chunk> more_;
  std::size_t chunk_ = 0, used_ = 0;
};

// Emits the union of boxes into a Builder. For each group of boxes that overlap on an axis, it chooses the cheaper of
// two ways. *sweep* cuts the axis at every bound and goes on with the boxes in each piece, which is good if each box is
// in few pieces. *halve* makes the canonical form of each half and unites the two, which is good if many boxes overlap,
// because covered boxes disappear early instead of being visited in every piece.
template <int D>
class Sweeper {
 public:
  using Box = const int64_t*;

  Sweeper(int d, Builder<D>& out, Arena& arena, int64_t* box) : d_(d), out_(out), arena_(arena), box_(box) {}

  // The boxes agree on the axes before `axis` (already in box_) and are sorted by lo on `axis`.
  void run(const Box* items, std::size_t n, int axis) {
    if (axis + 1 == axes()) return intervals(items, n, axis);
    for (std::size_t i = 0, j; i < n; i = j) {
      int64_t hi = items[i][2 * axis + 1];
      bool same = true;
      for (j = i + 1; j < n && items[j][2 * axis] <= hi; ++j) {
        same &= items[j][2 * axis] == items[i][2 * axis] && items[j][2 * axis + 1] == hi;
        hi = std::max(hi, items[j][2 * axis + 1]);
      }
      if (j == i + 1) {
        one(items[i], axis);
      } else if (same) {
        slab(items + i, j - i, axis);
      } else {
        overlapping(items + i, j - i, axis);
      }
    }
  }

 private:
  int axes() const { return D ? D : d_; }

  void one(Box item, int axis) {
    for (int k = 2 * axis; k < 2 * axes(); ++k) box_[k] = item[k];
    out_.push(box_);
  }

  void intervals(const Box* items, std::size_t n, int axis) {
    int64_t lo = items[0][2 * axis], hi = items[0][2 * axis + 1];
    for (std::size_t i = 1; i <= n; ++i) {
      if (i < n && (items[i][2 * axis] <= hi || items[i][2 * axis] - 1 == hi)) {
        hi = std::max(hi, items[i][2 * axis + 1]);
        continue;
      }
      box_[2 * axis] = lo;
      box_[2 * axis + 1] = hi;
      out_.push(box_);
      if (i < n) lo = items[i][2 * axis], hi = items[i][2 * axis + 1];
    }
  }

  // All boxes have the same interval on this axis, so it is not cut.
  void slab(const Box* items, std::size_t n, int axis) {
    Arena::Frame frame(arena_);
    Box* inner = arena_.get<Box>(n);
    std::copy(items, items + n, inner);
    sort_by_lo(inner, n, axis + 1);
    box_[2 * axis] = items[0][2 * axis];
    box_[2 * axis + 1] = items[0][2 * axis + 1];
    run(inner, n, axis + 1);
  }

  void overlapping(const Box* items, std::size_t n, int axis) {
    Arena::Frame frame(arena_);
    int64_t* his = arena_.get<int64_t>(n);
    for (std::size_t i = 0; i < n; ++i) his[i] = items[i][2 * axis + 1];
    std::sort(his, his + n);
    if (n > kAlwaysSweep && visits(items, his, n, axis) > kVisitsEach * n) {
      halve(items, n, axis);
    } else {
      sweep(items, his, n, axis);
    }
  }

  // Returns how many boxes a sweep would visit, over all pieces of the axis.
  std::size_t visits(const Box* items, const int64_t* his, std::size_t n, int axis) const {
    std::size_t total = 0;
    pieces(items, his, n, axis, [&](std::size_t begun, std::size_t ended, int64_t, int64_t) { total += begun - ended; });
    return total;
  }

  // Calls f(begun, ended, lo, hi) for each piece [lo, hi] between bounds: items [0, begun) have begun, `ended` have
  // ended.
  template <class F>
  static void pieces(const Box* items, const int64_t* his, std::size_t n, int axis, F f) {
    std::size_t begun = 0, ended = 0;
    int64_t at = items[0][2 * axis];
    while (ended < n) {
      while (begun < n && items[begun][2 * axis] == at) ++begun;
      int64_t hi = his[ended];
      if (begun < n) hi = std::min(hi, items[begun][2 * axis] - 1);
      f(begun, ended, at, hi);
      while (ended < n && his[ended] == hi) ++ended;
      if (ended < n) at = hi + 1;
    }
  }

  void sweep(const Box* items, const int64_t* his, std::size_t n, int axis) {
    Arena::Frame frame(arena_);
    Box* alive = arena_.get<Box>(n);  // sorted by lo on the next axis
    Box* fresh = arena_.get<Box>(n);
    std::size_t count = 0, taken = 0;
    pieces(items, his, n, axis, [&](std::size_t begun, std::size_t, int64_t lo, int64_t hi) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < count; ++i)
        if (alive[i][2 * axis + 1] >= lo) alive[kept++] = alive[i];
      const std::size_t added = begun - taken;
      std::copy(items + taken, items + begun, fresh);
      taken = begun;
      sort_by_lo(fresh, added, axis + 1);
      count = kept + added;
      for (std::size_t i = kept, j = added, k = count; j > 0;)  // merge from the back
        alive[--k] = i > 0 && alive[i - 1][2 * axis + 2] > fresh[j - 1][2 * axis + 2] ? alive[--i] : fresh[--j];
      box_[2 * axis] = lo;
      box_[2 * axis + 1] = hi;
      run(alive, count, axis + 1);
    });
  }

  void halve(const Box* items, std::size_t n, int axis) {
    Arena::Frame frame(arena_);
    Box* left = arena_.get<Box>(n);
    const std::size_t count = without_contained(items, n, axis, left);
    if (count <= n / 2) return run(left, count, axis);
    Builder<D> first(d_, 16), second(d_, 16);
    Sweeper(d_, first, arena_, box_).run(left, count / 2, axis);
    Sweeper(d_, second, arena_, box_).run(left + count / 2, count - count / 2, axis);
    first.finish();
    second.finish();
    Combiner<D, Builder<D>>(d_, kUnion, out_, box_)
        .run(first.data(), 0, first.size(), second.data(), 0, second.size(), axis);
  }

  // Copies the boxes that are not inside the largest one; often that drops most of them.
  std::size_t without_contained(const Box* items, std::size_t n, int axis, Box* kept) const {
    std::size_t largest = 0;
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double volume = 1;
      for (int a = axis; a < axes(); ++a)
        volume *= static_cast<double>(items[i][2 * a + 1] - items[i][2 * a]) + 1;
      if (volume > most) most = volume, largest = i;
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      bool inside = i != largest;
      for (int a = axis; inside && a < axes(); ++a)
        inside = items[i][2 * a] >= items[largest][2 * a] && items[i][2 * a + 1] <= items[largest][2 * a + 1];
      if (!inside) kept[count++] = items[i];
    }
    return count;
  }

  static void sort_by_lo(Box* items, std::size_t n, int axis) {
    const auto before = [axis](Box x, Box y) { return x[2 * axis] < y[2 * axis]; };
    if (!std::is_sorted(items, items + n, before)) std::sort(items, items + n, before);
  }

  static constexpr std::size_t kAlwaysSweep = 16;
  static constexpr std::size_t kVisitsEach = 32;

  int d_;
  Builder<D>& out_;
  Arena& arena_;
  int64_t* box_;
};

}  // namespace whence
