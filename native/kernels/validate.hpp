// Validates rows from a file before they are added to a table: everything that questions rely on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/table.hpp"

namespace whence {

// Checks that every row of a part, whose axes have the lengths `dims`, is inside them, has no empty interval, and stays
// in the range of integers that questions compute with. Returns what is wrong, or nullptr. `bounds` gets the least and
// the greatest value of each axis over each `block` rows: axis after axis, first the least values of all blocks, then
// the greatest.
const char* invalid(const Part& part, const std::vector<int64_t>& dims, size_t block, std::vector<int64_t>& bounds);

enum class Disjoint { yes, no, unknown };

// Whether no two rows share a tuple. Rarely `unknown`: if rows of different patterns overlap, or too many pairs of rows
// are near each other to compare all of them. All rows must be valid.
Disjoint disjoint(const std::vector<Part>& parts, int outs);

}  // namespace whence
