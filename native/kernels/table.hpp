// A relation in memory: for each pattern a part, for each part its rows in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/pattern.hpp"

namespace whence {

// A column of integers that costs nothing while it is constant or affine in the row number.
class Column {
 public:
  Column() = default;
  Column(int64_t first, int64_t step) : first_(first), step_(step) {}
  explicit Column(std::vector<int64_t> values);
  int64_t operator[](size_t i) const {
    // Wraps around where numbers from a file are too large, which is found when they are validated.
    return values_.empty() ? static_cast<int64_t>(static_cast<uint64_t>(first_) + static_cast<uint64_t>(step_) * i)
                           : values_[i];
  }
  bool dense() const { return !values_.empty(); }
  void push_back(int64_t value);
  int64_t first() const { return first_; }
  int64_t step() const { return step_; }
  const std::vector<int64_t>& values() const { return values_; }

 private:
  int64_t first_ = 0;
  int64_t step_ = 0;
  size_t pushed_ = 0;  // so many values while it grows by push_back
  std::vector<int64_t> values_;
};

class BoxIndex;

struct Part {
  Pattern pattern;
  size_t rows = 0;
  std::vector<Column> lo;     // one for each axis
  std::vector<Column> width;  // hi - lo
  int64_t hi(int v, size_t i) const { return lo[v][i] + width[v][i]; }
  // Whether every column is a first value and a step, so that no memory and few bytes hold any number of rows.
  bool stepped() const;
  // The same of the columns that the bounds of axes [first, last) depend on.
  bool stepped(int first, int last) const;
};

// The smallest box around row i: exact for axes without a parent.
void hull(const Part& part, const std::vector<int>& topo, size_t i, int64_t* lo, int64_t* hi);

class Table {
 public:
  Table(std::vector<int64_t> out_shape, std::vector<int64_t> in_shape, std::vector<int64_t> out_view,
        std::vector<int64_t> in_view);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void add(Part part);
  // Throws std::invalid_argument if the part has other columns than the table's axes, or its parents form no forest.
  void check_pattern(const Part& part) const;
  const std::vector<Part>& parts() const { return parts_; }
  size_t rows() const;

  // The canonical boxes of the other side that the given boxes of one side are related to.
  // Throws TooLarge if the answer needs more than `limit` boxes on the way.
  std::vector<int64_t> ask(const int64_t* boxes, size_t n, bool backward, size_t limit) const;

  // Which of n tuples, numbered over the axes of both views, are in the relation.
  std::vector<unsigned char> contains(const uint64_t* keys, size_t n) const;

  // How many tuples.
  unsigned __int128 count() const;

  // All tuples in view coordinates, in no particular order, one row of (out axes, in axes) each. Throws TooLarge beyond
  // `limit` numbers.
  std::vector<int64_t> expand(size_t limit) const;

  const std::vector<int64_t>& out_shape() const { return out_shape_; }
  const std::vector<int64_t>& in_shape() const { return in_shape_; }
  const std::vector<int64_t>& out_view() const { return out_view_; }
  const std::vector<int64_t>& in_view() const { return in_view_; }

 private:
  // The index of a part for one side; null while so few boxes were asked that looking at each row is cheaper.
  const BoxIndex* index(size_t part, bool out_side, size_t boxes) const;

  struct Answer;
  // Adds what boxes, in the coordinates of the views, are related to.
  void solve(Answer& answer, const int64_t* boxes, size_t n) const;
  // The same for boxes in the coordinates of the shapes, cut into pieces only near each row; false, with an answer that is
  // not complete, if that takes more than `budget` steps.
  bool solve_by_rows(Answer& answer, const int64_t* boxes, size_t n, size_t budget) const;

  std::vector<int64_t> out_shape_, in_shape_, out_view_, in_view_;
  std::vector<Part> parts_;
  struct Lazy;
  std::unique_ptr<Lazy> lazy_;
};

}  // namespace whence
