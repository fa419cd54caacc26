// Tuples as single integers: a tuple's place in one mixed radix, so that sorting is sorting numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/fold.hpp"

namespace whence {

// key = place of the tuple among all tuples over `dims`. Returns n, or the first tuple out of range.
size_t encode(const int64_t* tuples, size_t n, const std::vector<int64_t>& dims, uint64_t* keys);

// Sorts, drops duplicates, and returns how many are left.
size_t sort_unique(uint64_t* keys, size_t n);

// Keys over `dims` seen as keys over `view` (the same cells in C order) with its axes permuted: axis order[i] comes i-th.
void rekey(uint64_t* keys, size_t n, const std::vector<int64_t>& view, const std::vector<int>& order);

// Sorted keys over `dims` to the folder. Returns Fed::ok or what the folder said.
Fed feed_keys(Folder& folder, const uint64_t* keys, size_t n, const std::vector<int64_t>& dims);

// Keys to tuples.
void decode(const uint64_t* keys, size_t n, const std::vector<int64_t>& dims, int64_t* tuples);

}  // namespace whence
