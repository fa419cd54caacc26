// Reductions over the rows of a matrix: every column in one pass over memory.
#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// Reduces n > 1 rows of m > 1 contiguous cells from the first row on, as NumPy does; returns false (and writes nothing)
// if the handles are not regular.
using Columns = bool (*)(const Cell* cells, npy_intp n, npy_intp m, Cell* out);

// For np.add, np.maximum and np.minimum; nullptr for others.
Columns columns_of(const char* ufunc);

}  // namespace whence::tracked
