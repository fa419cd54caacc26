// Reductions over the rows of a matrix: every column in one pass over memory.
#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// n > 1 rows of m > 1 adjacent cells, taken together from the first row on, as NumPy does; false (and nothing is written)
// where the handles are not those of regular cells.
using Columns = bool (*)(const Cell* cells, npy_intp n, npy_intp m, Cell* out);

// Of np.add, np.maximum and np.minimum; nullptr for others.
Columns columns_of(const char* ufunc);

}  // namespace whence::tracked
