// Finds the boxes of a question that a row overlaps. To look up every row once takes less time than an index of the rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whence {

class BoxLookup {
 public:
  // For n boxes of d axes, which must outlive this.
  BoxLookup(const int64_t* boxes, size_t n, int d) : boxes_(boxes), n_(n), stride_(2 * static_cast<size_t>(d)) {
    if (n == 0 || d == 0 || !in_order(d)) return;
    least_ = first(0);
    most_ = last(n - 1);
    const uint64_t reach = static_cast<uint64_t>(most_) - static_cast<uint64_t>(least_);
    const int width = static_cast<int>(std::bit_width(n));
    const int bits = std::max(std::min(width + 2, kCached), width - 2);  // at most eight boxes for each bucket, if spread evenly
    shift_ = std::max(0, static_cast<int>(std::bit_width(reach)) - bits);
    starts_.resize((reach >> shift_) + 2);
    size_t i = 0;
    for (uint64_t bucket = 0; bucket < starts_.size(); ++bucket) {
      while (i < n && (static_cast<uint64_t>(last(i)) - static_cast<uint64_t>(least_)) >> shift_ < bucket) ++i;
      starts_[bucket] = static_cast<uint32_t>(i);
    }
  }

  // Whether the boxes are in order on the first axis, and any two have equal or disjoint intervals there, no more than
  // kEqual of them equal ones. On one axis, this is so for any set in canonical form.
  bool usable() const { return !starts_.empty(); }

  // Calls visit(i) for each box whose interval on the first axis overlaps [lo, hi], until it returns false.
  template <class Visit>
  void find(int64_t lo, int64_t hi, Visit visit) const {
    if (hi < least_ || lo > most_) return;
    const uint64_t bucket = lo <= least_ ? 0 : (static_cast<uint64_t>(lo) - static_cast<uint64_t>(least_)) >> shift_;
    size_t i = starts_[bucket], end = starts_[bucket + 1] + 1;
    if (end > n_) end = n_;
    while (i < end) {
      const size_t middle = i + (end - i) / 2;
      if (last(middle) < lo) {
        i = middle + 1;
      } else {
        end = middle;
      }
    }
    for (; i < n_ && first(i) <= hi; ++i) {
      if (!visit(i)) return;
    }
  }

 private:
  static constexpr size_t kEqual = 8;
  static constexpr int kCached = 16;  // so many bits of buckets fit into a cache

  int64_t first(size_t i) const { return boxes_[i * stride_]; }
  int64_t last(size_t i) const { return boxes_[i * stride_ + 1]; }

  bool in_order(int d) const {
    size_t equal = 1;
    for (size_t i = 1; i < n_; ++i) {
      if (first(i) > last(i - 1)) {
        equal = 1;
      } else if (d == 1 || first(i) != first(i - 1) || last(i) != last(i - 1) || ++equal > kEqual) {
        return false;
      }
    }
    return true;
  }

  const int64_t* boxes_;
  size_t n_, stride_;
  int64_t least_ = 0, most_ = 0;
  int shift_ = 0;
  std::vector<uint32_t> starts_;  // of each bucket: the first box that ends in it or after it
};

}  // namespace whence
