// Whether two rows share a tuple, or a row and a part with evenly stepped rows, or two such parts.
#pragma once

#include <cstddef>

#include "kernels/table.hpp"
#include "kernels/validate.hpp"

namespace whence {

// A row of a part; or all its rows at once, if they are evenly stepped: then the row's number is a variable.
struct RowOf {
  const Part& part;
  size_t row = 0;
  bool all = false;
};

// For all rows of one part with each other: whether no two of them share a tuple. Both must be valid. `effort` is the
// number of inequalities that the integer test may still make.
Disjoint apart(const RowOf& a, const RowOf& b, size_t& effort);

}  // namespace whence
