// Compression: sorted tuples in, rows out, one pass, any number of calls.
//
// ProvRC encodes input axes as ranges, then output axes with inputs relative to them. Both are one rule here, applied
// to each axis from the last to the first: fold consecutive rows along axis v if the axes before v are equal and
// each axis after v is equal or moves by a constant step (it then becomes v's child). The levels form a cascade, each
// holding one pending run, so that nothing but the finished rows is kept.
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
  // dims: the length of each axis in the order of the tuples' columns; axis: which axis of the relation each
  // column is (output axes first). extended = false keeps to the paper: equal, or moving one for one with v.
  Folder(std::vector<int64_t> dims, std::vector<int> axis, bool extended);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // Takes n tuples, row after row. Stops at the first one that is out of order or out of range: at() says which.
  Fed feed(const int64_t* tuples, size_t n);
  size_t at() const { return at_; }
  size_t rows() const { return rows_; }

  // The rows of all finished runs, as parts; what is pending is flushed first if `all`.
  std::vector<Part> take(bool all);

 private:
  // A row, or a run of rows: `count` rows of which this is the first, each further one moved by (dlo, dhi).
  struct Level {
    explicit Level(int k) : lo(k), hi(k), dlo(k), dhi(k), axes(k) {}
    int64_t count = 0;  // 0: nothing pending
    std::vector<int64_t> lo, hi, dlo, dhi;
    std::vector<Axis> axes;  // parents are columns
  };
  struct Rows {
    Pattern pattern;  // of columns
    std::vector<std::vector<int64_t>> lo, width;
    size_t rows = 0;
  };
  bool fits(Level& run, const Level& row) const;
  void push(int v, Level& row);
  void push_run(int v, const int64_t* tuple, const int64_t* step, int64_t count);
  void flush(int v);
  void flush_from(int v);
  void emit(const Level& row);
  bool in_range(const int64_t* tuple) const;
  void single(Level& row, const int64_t* tuple) const;

  const int k_;
  const std::vector<int64_t> dims_;
  const std::vector<int> axis_;
  const bool extended_;
  std::vector<Level> levels_;
  std::vector<std::unique_ptr<Level>> scratch_;
  std::vector<int64_t> last_;
  bool started_ = false;
  size_t at_ = 0;
  size_t rows_ = 0;
  std::vector<Rows> parts_;
  std::unordered_map<uint64_t, std::vector<size_t>> find_;
  size_t recent_ = 0;
};

}  // namespace whence
