// Irregular tuples fold into different patterns. Their rows are cheaper together in one part.
#pragma once

#include <vector>

#include "kernels/table.hpp"

namespace whence {

// Returns the same tuples with the rows of thin parts rewritten in the most frequent pattern. A part is thin if that
// needs few rows for each of its own. `order`: the axes in sorting order.
std::vector<Part> gather(std::vector<Part> parts, const std::vector<int>& order);

}  // namespace whence
