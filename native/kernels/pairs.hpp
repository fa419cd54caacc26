// Finds which of many boxes overlap: divides space in two, recursively, along the axis that separates most of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whence {

// Boxes with inclusive bounds, axis after axis: the bounds of box i on axis a are at [a * size + i].
struct Boxed {
  size_t size = 0;
  int axes = 0;
  std::vector<int64_t> lo, hi;
};

class Pairs {
 public:
  // At most `effort` comparisons of boxes are made.
  Pairs(const Boxed& some, const Boxed& others, size_t& effort) : some_(some), others_(others), effort_(effort) {}

  // Calls visit(i, j), which returns whether to go on, for each box i of `some` that overlaps box j of `others`; if
  // they are the same boxes, for i < j. A pair may be visited twice. Returns false if the effort was not enough.
  template <class Visit>
  bool each(Visit visit) {
    List all(some_.size), all_others;
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint32_t>(i);
    if (!same()) {
      all_others.resize(others_.size);
      for (size_t i = 0; i < all_others.size(); ++i) all_others[i] = static_cast<uint32_t>(i);
    }
    enough_ = stopped_ = false;
    split(std::move(all), std::move(all_others), 0, visit);
    return !enough_;
  }

 private:
  using List = std::vector<uint32_t>;
  static constexpr size_t kFew = 1 << 10;    // pairs that are compared without further cuts
  static constexpr size_t kSample = 1 << 8;  // boxes in the sample that chooses a cut
  static constexpr size_t kDeepest = 100;    // nested cuts: a limit for boxes that mislead the sample

  struct Cut {
    int axis = -1;
    int64_t at = 0;  // left: boxes that begin below it; right: boxes that do not end below it
  };

  bool same() const { return &some_ == &others_; }

  bool pay(size_t work) {
    if (work > effort_) enough_ = true;
    else effort_ -= work;
    return !enough_;
  }

  template <class Visit>
  void split(List a, List b, size_t depth, Visit& visit) {
    const List& c = same() ? a : b;
    if (a.empty() || c.empty() || enough_ || stopped_) return;
    const Cut cut = a.size() * c.size() <= kFew || depth > kDeepest ? Cut{} : best(a, c);
    if (cut.axis < 0) {
      if (pay(a.size() * c.size())) compare(a, c, visit);
      return;
    }
    if (!pay(a.size() + c.size())) return;
    List left, right, left_others, right_others;
    divide(some_, a, cut, left, right);
    if (!same()) divide(others_, b, cut, left_others, right_others);
    List().swap(a), List().swap(b);
    split(std::move(left), std::move(left_others), depth + 1, visit);
    split(std::move(right), std::move(right_others), depth + 1, visit);
  }

  template <class Visit>
  void compare(const List& a, const List& c, Visit& visit) {
    for (const uint32_t i : a) {
      for (const uint32_t j : c) {
        if ((same() && j <= i) || !meet(i, j)) continue;
        if (!visit(i, j)) {
          stopped_ = true;
          return;
        }
      }
    }
  }

  bool meet(size_t i, size_t j) const {
    for (int v = 0; v < some_.axes; ++v) {
      if (some_.lo[v * some_.size + i] > others_.hi[v * others_.size + j]) return false;
      if (others_.lo[v * others_.size + j] > some_.hi[v * some_.size + i]) return false;
    }
    return true;
  }

  static void divide(const Boxed& boxes, const List& list, Cut cut, List& left, List& right) {
    const int64_t* lo = boxes.lo.data() + cut.axis * boxes.size;
    const int64_t* hi = boxes.hi.data() + cut.axis * boxes.size;
    for (const uint32_t i : list) {
      if (lo[i] < cut.at) left.push_back(i);
      if (hi[i] >= cut.at) right.push_back(i);
    }
  }

  // Returns the cut that leaves the fewest pairs, estimated from a sample of the boxes; none if it leaves most of them.
  Cut best(const List& a, const List& c) const {
    Cut found;
    double least = 0.8;
    const size_t step = std::max<size_t>(1, a.size() / kSample), step_others = std::max<size_t>(1, c.size() / kSample);
    std::vector<int64_t> starts;
    for (int v = 0; v < some_.axes; ++v) {
      starts.clear();
      for (size_t i = 0; i < a.size(); i += step) starts.push_back(some_.lo[v * some_.size + a[i]]);
      for (size_t i = 0; i < c.size(); i += step_others) starts.push_back(others_.lo[v * others_.size + c[i]]);
      const auto middle = starts.begin() + starts.size() / 2;
      std::nth_element(starts.begin(), middle, starts.end());
      // If half of the boxes begin at the same index, none begins below the middle: cut after it.
      for (const int64_t at : {*middle, *middle + 1}) {
        const auto [left, right] = shares(some_, a, step, v, at);
        const auto [left_others, right_others] = shares(others_, c, step_others, v, at);
        const double pairs = left * left_others + right * right_others;
        if (pairs < least) least = pairs, found = {v, at};
      }
    }
    return found;
  }

  static std::pair<double, double> shares(const Boxed& boxes, const List& list, size_t step, int axis, int64_t at) {
    size_t left = 0, right = 0, n = 0;
    for (size_t i = 0; i < list.size(); i += step, ++n) {
      left += boxes.lo[axis * boxes.size + list[i]] < at;
      right += boxes.hi[axis * boxes.size + list[i]] >= at;
    }
    return {static_cast<double>(left) / static_cast<double>(n), static_cast<double>(right) / static_cast<double>(n)};
  }

  const Boxed& some_;
  const Boxed& others_;
  size_t& effort_;
  bool enough_ = false, stopped_ = false;
};

}  // namespace whence
