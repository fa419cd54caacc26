// Sums over the rows of a matrix: every column in one pass over memory.
#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// The sums of n rows of m adjacent cells, added from the first row on, as NumPy does; false (and nothing is written) where
// the handles are not those of regular cells.
bool column_sums(const Cell* cells, npy_intp n, npy_intp m, Cell* out);

}  // namespace whence::tracked
