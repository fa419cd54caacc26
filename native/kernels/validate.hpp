// Rows from a file are data, not facts: what questions rely on is checked before they are added to a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/table.hpp"

namespace whence {

// Checks that every row of a part, whose axes have the lengths `dims`, lies within them, has no empty interval, and stays
// within the numbers that questions compute with. Returns what is wrong, or nullptr. `bounds` gets the least and the
// greatest value of each axis over each `block` rows: axis after axis, the least of all blocks before the greatest.
const char* invalid(const Part& part, const std::vector<int64_t>& dims, size_t block, std::vector<int64_t>& bounds);

enum class Disjoint { yes, no, unknown };

// Whether no two rows share a tuple. `unknown`, rarely: where rows of unlike patterns meet, or too many pairs of rows come
// near each other to look at all of them. All rows are valid.
Disjoint disjoint(const std::vector<Part>& parts, int outs);

}  // namespace whence
