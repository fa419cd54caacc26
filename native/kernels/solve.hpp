// Solves one row for one box of the given side: the exact boxes of the other side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "kernels/table.hpp"

namespace whence {

class Solver {
 public:
  // Axes [given0, given1) are given, axes [wanted0, wanted1) are the answer.
  //
  // Throws TooLarge if more than `limit` boxes are found, including those `found` in other parts before.
  Solver(const Part& part, int given0, int given1, int wanted0, int wanted1, size_t limit, size_t found);

  // Appends the boxes related to `box` by row i: 2 * (wanted1 - wanted0) values each.
  void solve(size_t i, const int64_t* box, std::vector<int64_t>& out);

  size_t found() const { return found_; }

 private:
  struct Interval {
    int64_t lo, hi;
  };

  bool tighten(size_t i, const int64_t* box);
  void place(size_t k, std::vector<int64_t>& out);
  Interval bounds(int v, int64_t x) const;       // v's interval for the parent's value x, within its limits
  bool varies(int v, Interval parent) const;
  bool gapless(int v, Interval parent) const;

  const Part& part_;
  int k_, given0_, given1_, wanted0_, wanted1_;
  size_t limit_;
  size_t found_;
  std::vector<int> topo_;
  std::vector<int> walk_;                 // the live axes, parents first
  std::vector<std::vector<int>> live_;    // children whose subtree contains a wanted axis
  std::vector<int64_t> lo_, hi_;          // the row's constants
  std::vector<Interval> limit_of_;        // the values of each axis that the given box allows
  std::vector<Interval> at_;              // the interval chosen for each axis
};

}  // namespace whence
