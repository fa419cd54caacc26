// Sets of integer cells as boxes. A box over d axes is 2d int64: (lo, hi) for each axis, both inclusive.
//
// The canonical form of a set: axis 0 is cut into maximal intervals over which the rest of the set is the same,
// and each such slab holds the canonical form of that rest; boxes in lexicographic order. Equal sets have equal arrays.
//
// A canonical set is passed as the flat array of its n boxes. With d = 0 a box takes no space: a set is then n = 0 or
// n = 1, and callers, not these functions, keep track of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace whence {

// NumPy stops at 64 axes; a relation has the axes of two arrays.
inline constexpr int kMaxAxes = 128;

// A set whose canonical form needs more int64 values than this is refused with std::length_error (4 GiB).
inline constexpr std::size_t kMaxValues = std::size_t{1} << 29;

// The canonical form of any boxes: overlapping, in any order, empty ones (lo > hi on some axis) dropped.
// Bounds must be below INT64_MAX (std::invalid_argument), which every index of an array is.
std::vector<int64_t> normalize(const int64_t* boxes, std::size_t n, int d);

}  // namespace whence
