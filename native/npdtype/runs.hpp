// Reads rows from the handles of cells, without tuples: output cells whose lineage moves by one step form one run, and
// a run's lineage is a few boxes of the input that move with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "npdtype/handle.hpp"
#include "npdtype/sets.hpp"

namespace whence::tracked {

struct Box {
  std::vector<int64_t> lo, hi;  // inclusive
  bool operator==(const Box&) const = default;
};

// Converts the cells [start, end) of a C-ordered array to disjoint boxes.
void boxes_of_interval(uint64_t start, uint64_t end, const std::vector<int64_t>& dims, std::vector<Box>& out);
// Converts disjoint blocks to disjoint boxes, few if they are regular.
void boxes_of(const std::vector<Block>& blocks, uint64_t shift, const std::vector<int64_t>& dims, std::vector<Box>& out);

// Reads rows: the flat index of the first output cell, the number of cells along the last output axis, and for each
// input axis lo, hi of the first cell's box and their steps from cell to cell.
class RunReader {
 public:
  // first, size: the source's cells. dims: its axes, in any view. inner: the length of the last output axis.
  RunReader(uint64_t first, uint64_t size, std::vector<int64_t> dims, size_t inner);

  // Appends rows for the cells from `from` on, until there are `limit` rows or all n cells are read; returns the index
  // where it stopped.
  size_t read(const Cell* cells, size_t n, size_t from, size_t limit, std::vector<int64_t>& rows);

 private:
  // A set of the source's cells: known blocks (patterns_), moved to `at`. An interval needs no pattern.
  struct Placed {
    int64_t pattern = kEmpty;
    uint64_t at = 0, length = 0;
    bool operator==(const Placed&) const = default;
  };
  static constexpr int64_t kEmpty = -2, kInterval = -1;

  Placed place(Handle h);
  Placed place_blocks(std::vector<Block>& absolute);
  Placed unite(const Placed& a, const Placed& b);
  void clip(std::vector<Block>& blocks) const;
  void blocks_at(const Placed& p, std::vector<Block>& out) const;
  const std::vector<Box>& boxes_at(const Placed& p, std::vector<Box>& out) const;
  bool passes_by(Handle a, Handle b) const;
  // Returns how many cells from i on have sets that move by one step.
  size_t run(const Cell* cells, size_t i, size_t end, Placed& first, Placed& second);
  // Returns how many of n cells keep the boxes that they start with, and appends their row.
  size_t emit(size_t out, const Placed& first, int64_t step, int64_t growth, size_t n, std::vector<int64_t>& rows);
  bool moves(const std::vector<Box>& a, const std::vector<Box>& b, int64_t step, int64_t growth, size_t n) const;

  const uint64_t first_, end_;
  const std::vector<int64_t> dims_;
  std::vector<int64_t> strides_;
  const size_t inner_;
  std::vector<std::vector<Block>> patterns_;
  std::unordered_map<uint64_t, std::vector<int64_t>> by_hash_;
  std::unordered_map<Handle, Placed> by_node_;
  std::unordered_map<uint64_t, Placed> by_shape_;  // of sets completely inside the source, relative to their origin
  std::vector<Box> head_, tail_;
  std::vector<Block> scratch_;
  std::vector<Interval> intervals_;
};

}  // namespace whence::tracked
