// Sets of integer cells as boxes. A box over d axes is 2d int64: (lo, hi) for each axis, both inclusive.
//
// The canonical form of a set: axis 0 is cut into maximal intervals over which the rest of the set is the same, and
// each such slab contains the canonical form of that rest; boxes are in lexicographic order. Equal sets have equal
// arrays.
//
// A canonical set is passed as the flat array of its n boxes. With d = 0 a box has no values: a set is then n = 0 or n
// = 1, and the callers, not these functions, store n. An answer that would not fit into memory throws TooLarge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/values.hpp"

namespace whence {

// NumPy supports up to 64 axes; a relation has the axes of two arrays.
inline constexpr int kMaxAxes = 128;

// Returns the canonical form of any boxes, overlapping and in any order; empty ones (lo > hi on some axis) are dropped.
Values normalized(const int64_t* boxes, std::size_t n, int d);
std::vector<int64_t> normalize(const int64_t* boxes, std::size_t n, int d);  // the same, copied into a vector

// Returns the canonical form of n cells (n * d values), with or without duplicates, in any order.
Values boxes_of_cells(const int64_t* cells, std::size_t n, int d);

// Returns the canonical form of the cells that are not zero in a C-contiguous array.
Values boxes_of_mask(const uint8_t* mask, const std::size_t* shape, int d);

bool is_canonical(const int64_t* boxes, std::size_t n, int d);

// All sets below are canonical, and so are the results.

// Which cells to keep: those only in the first set, only in the second, in both.
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

// The number of cells of disjoint boxes, as 64-bit halves; `fits` is false beyond 128 bits.
struct Count {
  uint64_t high, low;
  bool fits;
};
Count count(const int64_t* boxes, std::size_t n, int d);

// Writes the cells in lexicographic order: count * d values.
void expand(const int64_t* boxes, std::size_t n, int d, int64_t* cells);

// Sets the set's cells to one in a C-contiguous array; throws OutsideShape if a box is not inside its shape.
void fill(const int64_t* boxes, std::size_t n, int d, const std::size_t* shape, uint8_t* mask);

// Returns the first of n rows that has a value outside [0, shape[a]) on its axis a, or n. A row has `each` values for
// each axis: 1 for cells, 2 for boxes.
std::size_t first_outside(const int64_t* rows, std::size_t n, int d, int each, const int64_t* shape);

}  // namespace whence
