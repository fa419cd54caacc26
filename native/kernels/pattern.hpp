// A pattern describes how the axes of a row depend on each other; a row adds the constants.
//
// Axis v of a row ranges over   lo[v] + p[v]*x  <=  v  <=  hi[v] + q[v]*x   where x is its parent's value,
// or over [lo[v], hi[v]] if it has no parent. Parents form a forest, and no interval is empty for any value that
// the parent takes: docs/design/boxes.md explains why that makes questions exact.
#pragma once

#include <cstdint>
#include <vector>

namespace whence {

// No bound, and greater than any index: arrays have fewer than 2^62 cells.
inline constexpr int64_t kMax = int64_t{1} << 62;
inline constexpr int64_t kMin = -kMax;

struct Axis {
  int parent = -1;
  int64_t p = 0;
  int64_t q = 0;
  bool operator==(const Axis&) const = default;
};

using Pattern = std::vector<Axis>;  // output axes first, then input axes

inline int64_t floor_div(int64_t a, int64_t b) {
  int64_t r = a / b;
  return r - ((a % b != 0) && ((a < 0) != (b < 0)));
}

inline int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// Parents before children.
inline std::vector<int> topological(const Pattern& pattern) {
  const int n = static_cast<int>(pattern.size());
  std::vector<int> order;
  std::vector<char> done(n, 0);
  order.reserve(n);
  while (static_cast<int>(order.size()) < n) {
    const size_t before = order.size();
    for (int v = 0; v < n; ++v) {
      if (!done[v] && (pattern[v].parent < 0 || done[pattern[v].parent])) {
        done[v] = 1;
        order.push_back(v);
      }
    }
    if (order.size() == before) return {};  // a cycle: not a pattern
  }
  return order;
}

}  // namespace whence
