// Tuples as single integers: the flat index of a tuple in one mixed radix, so that sorting tuples is sorting integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/fold.hpp"

namespace whence {

// key = flat index of the tuple among all tuples over `dims`. Returns n, or the index of the first tuple out of range.
size_t encode(const int64_t* tuples, size_t n, const std::vector<int64_t>& dims, uint64_t* keys);

// Sorts, removes duplicates, and returns how many are left.
size_t sort_unique(uint64_t* keys, size_t n);

// Converts keys over `dims` to keys over `view` (the same cells in C order) with its axes permuted: axis order[i] comes
// i-th.
void rekey(uint64_t* keys, size_t n, const std::vector<int64_t>& view, const std::vector<int>& order);

// Feeds sorted keys over `dims` to the folder. Returns the folder's result.
Fed feed_keys(Folder& folder, const uint64_t* keys, size_t n, const std::vector<int64_t>& dims);

// Converts keys to tuples.
void decode(const uint64_t* keys, size_t n, const std::vector<int64_t>& dims, int64_t* tuples);

}  // namespace whence
