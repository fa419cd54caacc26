// Sets of integer cells as boxes. A box over d axes is 2d int64: (lo, hi) for each axis, both inclusive.
//
// The canonical form of a set: axis 0 is cut into maximal intervals over which the rest of the set is the same,
// and each such slab holds the canonical form of that rest; boxes in lexicographic order. Equal sets have equal arrays.
//
// A canonical set is passed as the flat array of its n boxes. With d = 0 a box takes no space: a set is then n = 0 or
// n = 1, and callers, not these functions, keep track of it. What would not fit in memory is refused with TooLarge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/values.hpp"

namespace whence {

// NumPy stops at 64 axes; a relation has the axes of two arrays.
inline constexpr int kMaxAxes = 128;

// The canonical form of any boxes: overlapping, in any order, empty ones (lo > hi on some axis) dropped.
Values normalized(const int64_t* boxes, std::size_t n, int d);
std::vector<int64_t> normalize(const int64_t* boxes, std::size_t n, int d);  // the same, copied into a vector

// The canonical form of n cells (n * d values), repeated or not, in any order.
Values boxes_of_cells(const int64_t* cells, std::size_t n, int d);

// The canonical form of the cells that are not zero in a C-contiguous array.
Values boxes_of_mask(const uint8_t* mask, const std::size_t* shape, int d);

bool is_canonical(const int64_t* boxes, std::size_t n, int d);

// From here on, sets are canonical, and so are the answers.

// Which cells to keep: of the first set alone, of the second alone, of both.
struct Keep {
  bool first, second, both;
};
inline constexpr Keep kUnion{true, true, true};
inline constexpr Keep kIntersection{false, false, true};
inline constexpr Keep kDifference{true, false, false};
inline constexpr Keep kEither{true, true, false};

Values combined(const int64_t* a, std::size_t na, const int64_t* b, std::size_t nb, int d, Keep keep);
bool any_kept(const int64_t* a, std::size_t na, const int64_t* b, std::size_t nb, int d, Keep keep);

// found[i] = whether cell i (of m cells, m * d values) is in the set.
void contains(const int64_t* boxes, std::size_t n, int d, const int64_t* cells, std::size_t m, bool* found);

// How many cells disjoint boxes have, as 64-bit halves; `fits` is false beyond 128 bits.
struct Count {
  uint64_t high, low;
  bool fits;
};
Count count(const int64_t* boxes, std::size_t n, int d);

// Writes the cells in lexicographic order: count * d values.
void expand(const int64_t* boxes, std::size_t n, int d, int64_t* cells);

// Sets the set's cells to one in a C-contiguous array; throws OutsideShape, rather than write elsewhere, if a box does not
// lie within its shape.
void fill(const int64_t* boxes, std::size_t n, int d, const std::size_t* shape, uint8_t* mask);

// The first of n rows that has a value outside [0, shape[a]) on its axis a, or n. A row has `each` values an axis: 1 for
// cells, 2 for boxes.
std::size_t first_outside(const int64_t* rows, std::size_t n, int d, int each, const int64_t* shape);

}  // namespace whence
