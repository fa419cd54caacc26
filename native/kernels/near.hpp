// Finds the rows of a part that a box of a question may overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/index.hpp"
#include "kernels/pattern.hpp"
#include "kernels/table.hpp"

namespace whence {

// Finds rows by checking each, by their numbers if the columns are affine, or with an index.
class Near {
 public:
  // `index` returns the index of this side, or null; it is called only if the part has many irregular rows.
  template <class Index>
  Near(const Part& part, int first, int last, Index index) : part_(&part), first_(first), axes_(last - first) {
    if (part.rows <= kScan || axes_ == 0) return;
    if (!part.stepped(first, last)) {
      tree_ = index();
      looks_ = tree_ == nullptr;
      return;
    }
    const size_t k = part.pattern.size();
    const std::vector<int> topo = topological(part.pattern);
    for (size_t row : {0, 1}) {
      lo_[row].resize(k);
      hi_[row].resize(k);
      hull(part, topo, row, lo_[row].data(), hi_[row].data());
    }
  }

  // Whether there is no index, and each row is compared with each box.
  bool looks() const { return looks_; }
  // Whether only rows are found whose bounding box overlaps the box.
  bool filters() const { return tree_ != nullptr || looks_ || !lo_[0].empty(); }

  template <class Visit>
  void find(const int64_t* box, Visit visit) {
    if (tree_ != nullptr) {
      tree_->find(box, cursor_, visit);
      return;
    }
    if (looks_) {
      for (size_t i = 0; i < part_->rows; ++i) {
        bool met = true;
        for (int a = 0; a < axes_ && met; ++a) {
          met = part_->lo[first_ + a][i] <= box[2 * a + 1] && part_->hi(first_ + a, i) >= box[2 * a];
        }
        if (met) visit(i);
      }
      return;
    }
    int64_t from = 0, to = static_cast<int64_t>(part_->rows) - 1;
    for (int a = 0; a < axes_ && filters(); ++a) {
      const int v = first_ + a;  // the bounds of row i are linear in i
      at_most(lo_[0][v], lo_[1][v] - lo_[0][v], box[2 * a + 1], from, to);
      at_most(-hi_[0][v], hi_[0][v] - hi_[1][v], -box[2 * a], from, to);
    }
    for (int64_t i = from; i <= to; ++i) visit(static_cast<size_t>(i));
  }

 private:
  static constexpr size_t kScan = 48;  // with fewer rows, checking each is cheaper than an index

  // Limits [from, to] to those i for which c + step * i <= most.
  static void at_most(int64_t c, int64_t step, int64_t most, int64_t& from, int64_t& to) {
    if (step == 0) {
      if (c > most) to = from - 1;
    } else if (step > 0) {
      to = std::min(to, floor_div(most - c, step));
    } else {
      from = std::max(from, ceil_div(most - c, step));
    }
  }

  const Part* part_;
  int first_, axes_;
  const BoxIndex* tree_ = nullptr;
  bool looks_ = false;                  // checks each row: the axes of this side have no parents
  std::vector<int64_t> lo_[2], hi_[2];  // of the first two rows, if the columns of this side are stepped
  size_t cursor_ = 0;
};

}  // namespace whence
