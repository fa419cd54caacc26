// Sets of cells: gathered from many handles into one, and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "npdtype/handle.hpp"

namespace whence::tracked {

// Gathers the union of handles. Each thread has one, so that nothing is allocated in the usual case.
class Gatherer {
 public:
  // The thread's own, empty.
  static Gatherer& fresh();

  void add(Handle h);
  // The handles first, first + step, ..., `count` of them.
  void add_run(Handle first, uint64_t step, uint64_t count);
  // n handles that lie `stride` bytes apart.
  void add_all(const char* handles, ptrdiff_t stride, size_t n);
  // `often`: the caller knows that this set will be met again, moved, so that consing pays.
  Handle finish(bool often = false);

 private:
  void add_shifted(Block block, uint64_t shift, uint64_t count);
  void put(Block block);
  void tidy();

  std::vector<Block> blocks_;
  std::vector<Handle> nodes_;  // sets too irregular to be taken apart here
};

// Whether `block` was taken into `into`, which then holds exactly the cells of both.
bool absorb(Block& into, const Block& block);

// The blocks of a handle, absolute, which may overlap each other. Throws Forgotten.
void read(Handle h, std::vector<Block>& out);

// Sorted, disjoint, not touching.
struct Interval {
  uint64_t start, end;
};
void to_intervals(const std::vector<Block>& blocks, std::vector<Interval>& out);

// Intervals as few blocks: neighbours of one length and one distance are taken together.
void to_blocks(const std::vector<Interval>& intervals, std::vector<Block>& out);

}  // namespace whence::tracked
