// A column of first indices that is stored as the distance of each from the end of the row before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace whence {

// Replaces the gaps of rows [from, to) with first indices; the first of them is one already. width(i) is the width of
// row i. Numbers from a file may wrap around.
template <class Width>
void fill_gaps(int64_t* gaps, size_t from, size_t to, Width width) {
  for (size_t i = from + 1; i < to; ++i) {
    gaps[i] = static_cast<int64_t>(static_cast<uint64_t>(gaps[i]) + static_cast<uint64_t>(gaps[i - 1]) +
                                   static_cast<uint64_t>(width(i - 1)) + 1);
  }
}

}  // namespace whence
