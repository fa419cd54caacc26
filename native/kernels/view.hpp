// The same cells in another shape: converts boxes of one C-ordered view to boxes of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace whence {

// Axes of both shapes whose products agree are converted together, separate from all others.
struct Group {
  int from0, from1, to0, to1;  // half-open ranges of axes
  bool same;
};
std::vector<Group> groups(const std::vector<int64_t>& from, const std::vector<int64_t>& to);

// Returns at least how many boxes the boxes of one shape become in another. A double, because it may exceed any
// integer.
double pieces(const int64_t* boxes, size_t n, const std::vector<int64_t>& from, const std::vector<int64_t>& to);

// Throws TooLarge if there are more than `limit` of them.
std::vector<int64_t> review(const int64_t* boxes, size_t n, const std::vector<int64_t>& from,
                            const std::vector<int64_t>& to, size_t limit);

// Finds the boxes in another shape that are near a window: all that overlap it, and perhaps some more.
class Window {
 public:
  Window(const std::vector<int64_t>& from, const std::vector<int64_t>& to);

  // Computes a box of `to` around a box of `from`.
  void around(const int64_t* box, int64_t* out) const;

  // Appends those pieces of `box` that overlap [lo, hi] of `to` on every axis, in the order of the cells; returns
  // false, with some of them appended, if there are more than `limit`.
  bool cut(const int64_t* box, const int64_t* lo, const int64_t* hi, size_t limit, std::vector<int64_t>& out);

 private:
  const std::vector<int64_t>& from_;
  const std::vector<int64_t>& to_;
  const std::vector<Group> groups_;
  std::vector<std::vector<int64_t>> pieces_;
};

}  // namespace whence
