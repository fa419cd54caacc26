// Irregular tuples fold into one pattern here and another there. Their rows are cheaper together, in one part.
#pragma once

#include <vector>

#include "kernels/table.hpp"

namespace whence {

// The same tuples with the rows of thin parts rewritten in the pattern that most rows have. A part is thin if that
// takes few rows for each of its own. `order`: the axes in sorting order.
std::vector<Part> gather(std::vector<Part> parts, const std::vector<int>& order);

}  // namespace whence
