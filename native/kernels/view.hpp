// The same cells under another shape: boxes of one C-ordered view become boxes of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace whence {

std::vector<int64_t> review(const int64_t* boxes, size_t n, const std::vector<int64_t>& from,
                            const std::vector<int64_t>& to);

}  // namespace whence
