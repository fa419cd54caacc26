// A handle: the lineage of one cell in 64 bits. docs/design/tracked.md explains the layout.
//
//   tag 0   shape (26 bits) | origin (36 bits)   shape < 2^25: that many cells from the origin on; 0 is the empty set.
//                                                Otherwise a hash-consed shape, moved to the origin.
//   tag 1   cell (31 bits) | cell (31 bits)      two cells
//   tag 2   node                                 a list of blocks, or a union of handles, in the arena
//   tag 3   node (31 bits) | node (31 bits)      the union of two nodes
//
// Cells are numbered over all tracked arrays of the process, from 1 on.
#pragma once

#include <cstdint>

namespace whence::tracked {

using Handle = uint64_t;

struct Cell {
  double value;
  Handle handle;
};
static_assert(sizeof(Cell) == 16);

// NumPy allocates memory in steps of 16 bytes. An address in between splits a cell, and there is no valid handle.
inline constexpr uintptr_t kAlignment = sizeof(Cell);
inline bool is_cell(const void* p) { return reinterpret_cast<uintptr_t>(p) % kAlignment == 0; }

// `count` intervals of `length` cells, `stride` apart. One interval has count 1 and stride 0.
struct Block {
  uint64_t start, length, stride, count;
  uint64_t end() const { return start + stride * (count - 1) + length; }
  bool operator==(const Block&) const = default;
};

enum class Tag { shaped = 0, pair = 1, node = 2, nodes = 3 };

inline constexpr int kOriginBits = 36;
inline constexpr uint64_t kOrigin = (uint64_t{1} << kOriginBits) - 1;
inline constexpr uint64_t kShape = (uint64_t{1} << 26) - 1;
inline constexpr uint64_t kConsed = uint64_t{1} << 25;  // greater shapes are ids in a table
inline constexpr uint64_t kHalf = (uint64_t{1} << 31) - 1;
inline constexpr uint64_t kMostCells = kOrigin - 1;

inline Tag tag(Handle h) { return static_cast<Tag>(h >> 62); }
inline uint64_t origin(Handle h) { return h & kOrigin; }
inline uint64_t shape(Handle h) { return (h >> kOriginBits) & kShape; }
inline bool is_interval(Handle h) { return h < (kConsed << kOriginBits); }
inline Handle interval(uint64_t start, uint64_t length) { return (length << kOriginBits) | start; }
inline Handle one_cell(uint64_t cell) { return interval(cell, 1); }
inline Handle consed(uint64_t id, uint64_t start) { return ((kConsed + id) << kOriginBits) | start; }

inline uint64_t first_of(Handle h) { return (h >> 31) & kHalf; }  // of tags 1 and 3
inline uint64_t second_of(Handle h) { return h & kHalf; }
inline Handle two_cells(uint64_t a, uint64_t b) { return (uint64_t{1} << 62) | (a << 31) | b; }
inline Handle node(uint64_t place) { return (uint64_t{2} << 62) | place; }
inline Handle two_nodes(uint64_t a, uint64_t b) { return (uint64_t{3} << 62) | (a << 31) | b; }
inline uint64_t place(Handle h) { return h & ((uint64_t{1} << 62) - 1); }

}  // namespace whence::tracked
