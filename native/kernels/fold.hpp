// Compression: folds sorted tuples into rows, in one pass, over any number of calls.
//
// ProvRC encodes input axes as ranges, then output axes with inputs relative to them. Both are one rule here, applied
// to each axis from the last to the first: fold rows along axis v if the axes before v are equal, v increases by one,
// and each axis after v is equal or moves by a constant step (then it becomes v's child). The levels form a cascade.
// Each keeps only the runs that may still grow; other than those, only the finished rows are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernels/table.hpp"

namespace whence {

enum class Fed { ok, unsorted, out_of_range };

class Folder {
 public:
  // dims: the length of each axis in the order of the tuples' columns; axis: the axis of the relation for each column
  // (output axes first).
  Folder(std::vector<int64_t> dims, std::vector<int> axis);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // Adds n tuples, row after row. Stops at the first one that is out of order or out of range: at() is its index.
  Fed feed(const int64_t* tuples, size_t n);
  // Adds n rows without their tuples: runs of output cells whose input boxes move evenly. A row is the flat index of
  // the first output cell, the number of cells along the last output axis, and for each input axis lo, hi and the steps
  // of both. The first `outs` columns must be the output axes. Rows must be disjoint.
  Fed feed_runs(const int64_t* rows, size_t n, int outs);
  size_t at() const { return at_; }
  size_t rows() const { return rows_; }
  // Returns how many runs may still grow: there will hardly be fewer rows than this.
  size_t held() const {
    size_t n = 0;
    for (const Level& level : levels_) n += level.old.size() + level.now.size();
    return n;
  }
  const std::vector<int>& axis() const { return axis_; }

  // Ends the pending runs; no tuple may follow.
  void close();

  // Returns the rows of all finished runs, as parts, and removes them.
  std::vector<Part> take();

 private:
  // A row, or a run of rows: `count` rows of which this is the first; each next one is moved by (dlo, dhi).
  struct Run {
    explicit Run(int k) : lo(k), hi(k), dlo(k), dhi(k), axes(k) {}
    int64_t count = 1;
    std::vector<int64_t> lo, hi, dlo, dhi;
    std::vector<Axis> axes;  // parents are columns
  };
  using Held = std::unique_ptr<Run>;

  // The runs of one column that may still grow: all share the columns before it. `now` have reached the value `at`,
  // `old` only the one before. The next row is searched from old[next] on, because regular structures repeat their rows
  // in the same order.
  struct Level {
    std::vector<Held> old, now;
    size_t next = 0;
    int64_t at = 0;
    bool passing = false;  // too many rows at one value: they are passed on at once
    bool empty() const { return old.empty() && now.empty(); }
  };

  struct Rows {
    Pattern pattern;  // of columns
    std::vector<Column> lo, width;
    size_t rows = 0;
  };

  Held fresh();
  void recycle(Held run);
  void set(Run& run, const int64_t* tuple) const;
  bool fits(int v, Run& run, const Run& row) const;
  bool near(int v, const Run& run) const;
  bool steep(int v, int64_t step) const;
  Run* push(int v, Held row);
  void push_run(int v, const Run& first, const int64_t* dlo, const int64_t* dhi, int64_t count);
  void leave_behind(int v, const Run* run);
  size_t leap(const int64_t* tuples, size_t n);
  size_t leap_runs(const int64_t* tuples, size_t n, size_t run, int f);
  size_t scattered(const int64_t* tuples, size_t n);
  size_t first_outside(const int64_t* tuples, size_t n) const;
  void release(int v, Held run);
  void let_go(int v, Run& run);
  void turn(int v, int64_t at);
  void flush(int v);
  void emit(const Run& row);
  bool in_range(const int64_t* tuple) const;

  const int k_;
  const std::vector<int64_t> dims_;
  const std::vector<int> axis_;
  std::vector<Level> levels_;
  std::vector<Held> pool_;
  std::vector<int64_t> last_;
  std::vector<int64_t> step_, move_, steps_;
  Held scratch_;
  bool leapt_inside_ = true;
  bool started_ = false;
  size_t at_ = 0;
  size_t rows_ = 0;
  std::vector<Rows> parts_;
  std::unordered_map<uint64_t, std::vector<size_t>> find_;
  size_t recent_ = 0;
};

}  // namespace whence
