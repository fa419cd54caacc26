// Sets of cells: united from many handles into one, and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "npdtype/handle.hpp"

namespace whence::tracked {

// Collects the union of handles. Each thread has one, so that usually nothing is allocated.
class Gatherer {
 public:
  // Returns the thread's own gatherer, empty.
  static Gatherer& fresh();

  void add(Handle h);
  // Adds the handles first, first + step, ..., `count` of them.
  void add_run(Handle first, uint64_t step, uint64_t count);
  // Adds n handles that are `stride` bytes apart.
  void add_all(const char* handles, ptrdiff_t stride, size_t n);
  // `often`: the caller knows that this set will occur again, moved, so that hash-consing pays.
  Handle finish(bool often = false);

 private:
  void add_shifted(Block block, uint64_t shift, uint64_t count);
  void put(Block block);
  void tidy();

  std::vector<Block> blocks_;
  std::vector<Handle> nodes_;  // sets that are too irregular to be taken apart here
};

// Merges `block` into `into`, if one block can contain exactly the cells of both; returns whether it did.
bool absorb(Block& into, const Block& block);

// Reads the blocks of a handle, absolute; they may overlap. Throws Forgotten.
void read(Handle h, std::vector<Block>& out);

// Intervals are sorted, disjoint and not touching.
struct Interval {
  uint64_t start, end;
};
void to_intervals(const std::vector<Block>& blocks, std::vector<Interval>& out);

// Converts intervals to few blocks: neighbours of one length and one distance are combined.
void to_blocks(const std::vector<Interval>& intervals, std::vector<Block>& out);

}  // namespace whence::tracked
