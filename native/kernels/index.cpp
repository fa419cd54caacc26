#include "kernels/index.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace whence {
bool BoxIndex::in_order(const Part& part, int first, int last) {
  if (last - first != 1 || part.rows == 0 || part.pattern[first].parent >= 0) return false;
  const Column &lo = part.lo[first], &width = part.width[first];
  if (lo.dense() && !width.dense() && width.step() == 0) return std::is_sorted(lo.values().begin(), lo.values().end());
  int64_t begins = lo[0], ends = begins + width[0];
  for (size_t i = 1; i < part.rows; ++i) {
    const int64_t l = lo[i], h = l + width[i];
    if (l < begins || h < ends) return false;
    begins = l;
    ends = h;
  }
  return true;
}

BoxIndex::BoxIndex(const Part& part, int first, int last, bool ordered) : axes_(last - first) {
  const size_t n = part.rows;
  if (n > 0xffffffffULL) throw std::length_error("a part of more than 2^32 rows");
  if (ordered) {
    lo_ = &part.lo[first];
    width_ = &part.width[first];
    rows_ = n;
    return;
  }
  const std::vector<int> topo = topological(part.pattern);
  const size_t k = part.pattern.size();
  std::vector<int64_t> lo(k), hi(k);
  Level base;
  base.size = n;
  base.lo.resize(n * axes_);
  base.hi.resize(n * axes_);
  const bool free = std::all_of(part.pattern.begin() + first, part.pattern.begin() + last,
                                [](const Axis& a) { return a.parent < 0; });
  for (int a = 0; a < axes_ && free; ++a) {
    for (size_t i = 0; i < n; ++i) {
      base.lo[a * n + i] = part.lo[first + a][i];
      base.hi[a * n + i] = part.hi(first + a, i);
    }
  }
  for (size_t i = 0; i < n && !free; ++i) {
    hull(part, topo, i, lo.data(), hi.data());
    for (int a = 0; a < axes_; ++a) {
      base.lo[a * n + i] = lo[first + a];
      base.hi[a * n + i] = hi[first + a];
    }
  }
  const auto less = [&](size_t i, size_t j) {
    for (int a = 0; a < axes_; ++a) {
      const int64_t x = base.lo[a * n + i], y = base.lo[a * n + j];
      if (x != y) return x < y;
    }
    return i < j;
  };
  bool sorted = true;
  for (size_t i = 1; i < n && sorted; ++i) sorted = !less(i, i - 1);
  if (!sorted) {
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0U);
    if (axes_ > 0 && n < (1ULL << 32)) {
      // Sorting (first axis, row) pairs as plain integers is faster than a comparator that reads the columns.
      const int64_t low = *std::min_element(base.lo.begin(), base.lo.begin() + n);
      const int64_t high = *std::max_element(base.lo.begin(), base.lo.begin() + n);
      if (axes_ == 1 && high - low < (1LL << 31)) {
        std::vector<uint64_t> keys(n);
        for (size_t i = 0; i < n; ++i) keys[i] = (static_cast<uint64_t>(base.lo[i] - low) << 32) | i;
        std::sort(keys.begin(), keys.end());
        for (size_t i = 0; i < n; ++i) order_[i] = static_cast<uint32_t>(keys[i]);
      } else {
        std::sort(order_.begin(), order_.end(), [&](uint32_t i, uint32_t j) { return less(i, j); });
      }
    }
    Level moved;
    moved.size = n;
    moved.lo.resize(base.lo.size());
    moved.hi.resize(base.hi.size());
    for (int a = 0; a < axes_; ++a) {
      for (size_t i = 0; i < n; ++i) {
        moved.lo[a * n + i] = base.lo[a * n + order_[i]];
        moved.hi[a * n + i] = base.hi[a * n + order_[i]];
      }
    }
    base = std::move(moved);
  }
  levels_.push_back(std::move(base));
  line_ = axes_ == 1 && std::is_sorted(levels_[0].hi.begin(), levels_[0].hi.end());
  while (!line_ && levels_.back().size > kFan) {
    const Level& below = levels_.back();
    Level up;
    up.size = (below.size + kFan - 1) / kFan;
    up.lo.resize(up.size * axes_);
    up.hi.resize(up.size * axes_);
    for (int a = 0; a < axes_; ++a) {
      for (size_t i = 0; i < up.size; ++i) {
        const size_t b = i * kFan, e = std::min(b + kFan, below.size);
        up.lo[a * up.size + i] = *std::min_element(&below.lo[a * below.size + b], &below.lo[a * below.size] + e);
        up.hi[a * up.size + i] = *std::max_element(&below.hi[a * below.size + b], &below.hi[a * below.size] + e);
      }
    }
    levels_.push_back(std::move(up));
  }
}

}  // namespace whence
