// Whether two rows share a tuple, or a row and a whole part whose rows step evenly, or two such parts.
#pragma once

#include <cstddef>

#include "kernels/table.hpp"
#include "kernels/validate.hpp"

namespace whence {

// A row of a part; or all its rows at once, if they are evenly stepped: the row's number is then a variable.
struct RowOf {
  const Part& part;
  size_t row = 0;
  bool all = false;
};

// Of all rows of one part with each other: that no two of them share a tuple. Both must be valid.
// `effort` is how many more inequalities the test in integers may make.
Disjoint apart(const RowOf& a, const RowOf& b, size_t& effort);

}  // namespace whence
