// A relation in memory: one part for each pattern, with its rows in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/column.hpp"
#include "kernels/pattern.hpp"

namespace whence {

class BoxIndex;
class BoxLookup;

struct Part {
  Pattern pattern;
  size_t rows = 0;
  std::vector<Column> lo;     // one for each axis
  std::vector<Column> width;  // hi - lo
  int64_t hi(int v, size_t i) const { return lo[v][i] + width[v][i]; }
  // Whether every column is a first value and a step, so that any number of rows needs no memory and few bytes.
  bool stepped() const;
  // The same for the columns that the bounds of axes [first, last) depend on.
  bool stepped(int first, int last) const;
};

// Computes the smallest box around row i; it is exact for axes without a parent.
void hull(const Part& part, const std::vector<int>& topo, size_t i, int64_t* lo, int64_t* hi);

class Table {
 public:
  Table(std::vector<int64_t> out_shape, std::vector<int64_t> in_shape, std::vector<int64_t> out_view,
        std::vector<int64_t> in_view);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void add(Part part);
  // Throws std::invalid_argument if the number of columns is not that of the table's axes, or its parents form no
  // forest.
  void check_pattern(const Part& part) const;
  const std::vector<Part>& parts() const { return parts_; }
  size_t rows() const;

  // Returns the canonical boxes of the other side that the given boxes of one side are related to. Throws TooLarge if
  // the answer needs more than `limit` boxes before they are merged.
  std::vector<int64_t> ask(const int64_t* boxes, size_t n, bool backward, size_t limit) const;

  // Returns which of n tuples, as keys over the axes of both views, are in the relation.
  std::vector<unsigned char> contains(const uint64_t* keys, size_t n) const;

  // Returns the number of tuples.
  unsigned __int128 count() const;

  // Returns all tuples in view coordinates, unsorted, one row of (out axes, in axes) each. Throws TooLarge beyond
  // `limit` values.
  std::vector<int64_t> expand(size_t limit) const;

  const std::vector<int64_t>& out_shape() const { return out_shape_; }
  const std::vector<int64_t>& in_shape() const { return in_shape_; }
  const std::vector<int64_t>& out_view() const { return out_view_; }
  const std::vector<int64_t>& in_view() const { return in_view_; }

 private:
  // Returns the index of a part for one side; null while there were so few boxes that checking each row is cheaper, and
  // for the first question that may look up each row instead.
  const BoxIndex* index(size_t part, bool out_side, size_t boxes, bool may_look_up) const;

  struct Answer;
  // Adds the box of a row that has no parents, so that the answer is the same for any box that overlaps the row.
  static void take(Answer& answer, const Part& part, size_t row);
  // Adds the answer for boxes in the coordinates of the views.
  void solve(Answer& answer, const int64_t* boxes, size_t n) const;
  // Adds the answer of one part by looking up each row in the boxes; returns false, without an answer, if it takes too
  // many steps.
  bool solve_by_lookup(Answer& answer, const Part& part, const BoxLookup& lookup, const int64_t* boxes, size_t n) const;
  // The same for boxes in the coordinates of the shapes, split into pieces only near each row; returns false, with an
  // incomplete answer, if that needs more than `budget` steps.
  bool solve_by_rows(Answer& answer, const int64_t* boxes, size_t n, size_t budget) const;

  std::vector<int64_t> out_shape_, in_shape_, out_view_, in_view_;
  std::vector<Part> parts_;
  struct Lazy;
  std::unique_ptr<Lazy> lazy_;
};

}  // namespace whence
