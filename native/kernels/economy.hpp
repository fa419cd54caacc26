// Irregular tuples can fold into a different pattern here and there; a part for each would cost more than it saves.
#pragma once

#include <vector>

#include "kernels/table.hpp"

namespace whence {

inline constexpr size_t kMostParts = 24;

// At most kMostParts + 1 parts with the same tuples: rows of rare patterns become plain boxes.
std::vector<Part> economize(std::vector<Part> parts);

}  // namespace whence
