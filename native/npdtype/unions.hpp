// The union of two handles, which every binary operation computes for every cell.
//
// Sets are independent of their origin: the unions of (a, b) and (a + t, b + t) differ by t. So a union is cached by
// a's shape and the distance b - a, and a regular operation on a whole array needs one entry, and one addition for each
// cell.
#pragma once

#include <algorithm>
#include <cstddef>

#include "npdtype/handle.hpp"

namespace whence::tracked {

// Neither is empty, they differ, and they are not two touching intervals.
Handle unite_slow(Handle a, Handle b);

inline Handle unite(Handle a, Handle b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (is_interval(a) && is_interval(b)) {
    const uint64_t a0 = origin(a), b0 = origin(b), a1 = a0 + shape(a), b1 = b0 + shape(b);
    if (b0 <= a1 && a0 <= b1) {
      const uint64_t start = std::min(a0, b0), length = std::max(a1, b1) - start;
      if (length < kConsed) return interval(start, length);
    }
  }
  return unite_slow(a, b);
}

// The latest union of one loop, kept in registers.
struct Latest {
  uint64_t shape = ~uint64_t{0};  // includes the tag, so it is never that of a handle
  uint64_t distance = 0;
  uint64_t result = 0;  // relative to a

  bool fits(Handle a, Handle b) const { return (a >> kOriginBits) == shape && b - a == distance; }
  Handle unite(Handle a, Handle b) {
    if (fits(a, b)) [[likely]] return a + result;
    const Handle r = tracked::unite(a, b);
    if (a != 0 && b != 0 && tag(a) == Tag::shaped && tag(b) == Tag::shaped && tag(r) == Tag::shaped) {
      shape = a >> kOriginBits;
      distance = b - a;
      result = r - a;
    }
    return r;
  }
};

// Wraps a block of n unions, and notes afterwards whether the thread's unions repeat. If they do not, unions are no
// longer made canonical but stored as pairs and nodes.
class Repetition {
 public:
  explicit Repetition(size_t n);
  ~Repetition();

 private:
  size_t n_, before_;
};

}  // namespace whence::tracked
