// A packed tree of bounding boxes over the rows of a part, for one side of the relation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/table.hpp"

namespace whence {

class BoxIndex {
 public:
  // Questions are about the axes [first, last) of the part, whose columns must outlive this index. `ordered` is whether
  // its rows are in order.
  BoxIndex(const Part& part, int first, int last, bool ordered);

  // Whether the rows of the part are in order on these axes, so that the index takes no time and no memory: there is one
  // axis, without a parent, on which each row begins and ends at, or after, the row before.
  static bool in_order(const Part& part, int first, int last);

  // Calls visit(row) for each row whose bounding box overlaps box (2 values for each axis). `cursor` starts at 0 and is
  // kept between questions: if boxes come in order, the search continues from the last one.
  template <class Visit>
  void find(const int64_t* box, size_t& cursor, Visit visit) const {
    if (lo_ != nullptr) {
      const auto last = [&](size_t i) { return (*lo_)[i] + (*width_)[i]; };
      size_t i = cursor = seek(box[0], cursor, rows_, last);
      for (; i < rows_ && (*lo_)[i] <= box[1]; ++i) visit(i);
      return;
    }
    if (!line_) {
      descend(levels_.size() - 1, 0, levels_.back().size, box, visit);
      return;
    }
    const Level& rows = levels_.front();
    size_t i = cursor = seek(box[0], cursor, rows.size, [&](size_t row) { return rows.hi[row]; });
    for (; i < rows.size && rows.lo[i] <= box[1]; ++i) visit(order_.empty() ? i : order_[i]);
  }

 private:
  static constexpr size_t kFan = 16;
  struct Level {
    size_t size = 0;
    std::vector<int64_t> lo, hi;  // axis-major: bounds of node i on axis a at [a * size + i]
  };

  // Returns the first of n rows, at or after `from`, that ends at x or later; of all rows if x is before `from`. Row i
  // ends at last(i).
  template <class Last>
  static size_t seek(int64_t x, size_t from, size_t n, Last last) {
    if (from >= n || (from > 0 && last(from - 1) >= x)) from = 0;
    size_t step = 1, low = from;
    while (low + step < n && last(low + step - 1) < x) {
      low += step;
      step *= 2;
    }
    size_t high = low + step < n ? low + step : n;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (last(middle) < x) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  template <class Visit>
  void descend(size_t level, size_t begin, size_t end, const int64_t* box, Visit& visit) const {
    const Level& here = levels_[level];
    for (size_t i0 = begin; i0 < end; i0 += kFan) {
      const size_t n = end - i0 < kFan ? end - i0 : kFan;
      unsigned char hit[kFan];
      for (size_t i = 0; i < n; ++i) hit[i] = 1;
      for (int a = 0; a < axes_; ++a) {
        const int64_t* lo = here.lo.data() + a * here.size + i0;
        const int64_t* hi = here.hi.data() + a * here.size + i0;
        const int64_t qlo = box[2 * a], qhi = box[2 * a + 1];
        for (size_t i = 0; i < n; ++i) hit[i] &= static_cast<unsigned char>((lo[i] <= qhi) & (hi[i] >= qlo));
      }
      for (size_t i = 0; i < n; ++i) {
        if (!hit[i]) continue;
        if (level == 0) {
          visit(order_.empty() ? i0 + i : order_[i0 + i]);
        } else {
          const size_t b = (i0 + i) * kFan;
          const size_t e = b + kFan < levels_[level - 1].size ? b + kFan : levels_[level - 1].size;
          descend(level - 1, b, e, box, visit);
        }
      }
    }
  }

  int axes_;
  // The columns of the part, if its rows are in order.
  const Column *lo_ = nullptr, *width_ = nullptr;
  size_t rows_ = 0;
  bool line_ = false;            // one axis, and rows end in the order in which they begin: no tree is needed
  std::vector<uint32_t> order_;  // empty if rows are in order already
  std::vector<Level> levels_;    // level 0 has one box for each row
};

}  // namespace whence
