#include "kernels/table.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/boxes.hpp"
#include "kernels/index.hpp"
#include "kernels/keys.hpp"
#include "kernels/lookup.hpp"
#include "kernels/near.hpp"
#include "kernels/solve.hpp"
#include "kernels/values.hpp"
#include "kernels/view.hpp"

namespace whence {

namespace {

constexpr size_t kFewBoxes = 8;  // for so few boxes in all, checking each row is cheaper than making an index
constexpr size_t kLooks = 8;  // rows that may be checked for each box of an answer
constexpr size_t kSteps = 4;  // boxes that may be compared with each row that is looked up
constexpr double kFewPieces = 1 << 14;  // a question's boxes are always split if they make at most so many pieces

int64_t size_of(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Whether no axis in [first, last) has a parent.
bool without_parents(const Part& part, int first, int last) {
  return std::all_of(part.pattern.begin() + first, part.pattern.begin() + last,
                     [](const Axis& a) { return a.parent < 0; });
}

bool has_zero(const std::vector<int64_t>& shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

}  // namespace

bool Part::stepped() const {
  const auto is_dense = [](const Column& column) { return column.dense(); };
  return std::none_of(lo.begin(), lo.end(), is_dense) && std::none_of(width.begin(), width.end(), is_dense);
}

bool Part::stepped(int first, int last) const {
  for (int v = first; v < last; ++v) {
    for (int u = v; u >= 0; u = pattern[u].parent) {
      if (lo[u].dense() || width[u].dense()) return false;
    }
  }
  return true;
}

void hull(const Part& part, const std::vector<int>& topo, size_t i, int64_t* lo, int64_t* hi) {
  for (int v : topo) {
    const int64_t l = part.lo[v][i], h = l + part.width[v][i];
    const Axis& a = part.pattern[v];
    if (a.parent < 0) {
      lo[v] = l;
      hi[v] = h;
    } else {
      lo[v] = l + std::min(a.p * lo[a.parent], a.p * hi[a.parent]);
      hi[v] = h + std::max(a.q * lo[a.parent], a.q * hi[a.parent]);
    }
  }
}

// The questions that a part without an index has answered.
struct Asked {
  size_t boxes = 0;        // which were compared with each row
  bool looked_up = false;  // whether each row was looked up in the boxes of a question
};

struct Table::Lazy {
  std::mutex mutex;
  std::vector<std::unique_ptr<BoxIndex>> index;  // two for each part: output side, input side
  std::vector<Asked> asked;                      // of each without an index
};

Table::Table(std::vector<int64_t> out_shape, std::vector<int64_t> in_shape, std::vector<int64_t> out_view,
             std::vector<int64_t> in_view)
    : out_shape_(std::move(out_shape)),
      in_shape_(std::move(in_shape)),
      out_view_(std::move(out_view)),
      in_view_(std::move(in_view)),
      lazy_(std::make_unique<Lazy>()) {
  if (size_of(out_shape_) != size_of(out_view_) || size_of(in_shape_) != size_of(in_view_)) {
    throw std::invalid_argument("a view must hold as many cells as its shape");
  }
}

Table::~Table() = default;

void Table::check_pattern(const Part& part) const {
  const size_t k = out_view_.size() + in_view_.size();
  if (part.pattern.size() != k || part.lo.size() != k || part.width.size() != k) {
    throw std::invalid_argument("a part must have one column pair for each axis");
  }
  for (const Axis& a : part.pattern) {
    if (a.parent >= static_cast<int>(k)) throw std::invalid_argument("a parent that is not an axis");
  }
  if (k > 0 && topological(part.pattern).empty()) throw std::invalid_argument("parents form a cycle");
}

// An index refers to columns of its part, which stay where they are if the vector of parts grows.
static_assert(std::is_nothrow_move_constructible_v<Part>);

void Table::add(Part part) {
  check_pattern(part);
  parts_.push_back(std::move(part));
  lazy_->index.resize(parts_.size() * 2);
  lazy_->asked.resize(parts_.size() * 2);
}

size_t Table::rows() const {
  size_t n = 0;
  for (const Part& part : parts_) n += part.rows;
  return n;
}

const BoxIndex* Table::index(size_t part, bool out_side, size_t boxes, bool may_look_up) const {
  const std::lock_guard<std::mutex> hold(lazy_->mutex);
  const size_t side = 2 * part + (out_side ? 0 : 1);
  std::unique_ptr<BoxIndex>& slot = lazy_->index[side];
  if (!slot) {
    const int l = static_cast<int>(out_view_.size()), k = l + static_cast<int>(in_view_.size());
    const int first = out_side ? 0 : l, last = out_side ? l : k;
    Asked& asked = lazy_->asked[side];
    const bool few = boxes <= kFewBoxes - asked.boxes, in_order = BoxIndex::in_order(parts_[part], first, last);
    if (!in_order && (few || (may_look_up && !asked.looked_up)) && without_parents(parts_[part], first, last)) {
      if (few) {
        asked.boxes += boxes;
      } else {
        asked.looked_up = true;
      }
      return nullptr;
    }
    slot = std::make_unique<BoxIndex>(parts_[part], first, last, in_order);
  }
  return slot.get();
}

namespace {

[[noreturn]] void too_many_boxes(size_t limit) {
  throw TooLarge("the answer needs more than " + std::to_string(limit) + " boxes; ask for fewer cells at a time");
}

}  // namespace

// The state of one question over all parts.
struct Table::Answer {
  int given0, given1, wanted0, wanted1;
  bool backward;
  size_t limit;
  std::vector<int64_t> found;
  size_t hits = 0;
};

void Table::take(Answer& answer, const Part& part, size_t row) {
  if (++answer.hits > answer.limit) too_many_boxes(answer.limit);
  for (int v = answer.wanted0; v < answer.wanted1; ++v) {
    answer.found.push_back(part.lo[v][row]);
    answer.found.push_back(part.hi(v, row));
  }
}

void Table::solve(Answer& answer, const int64_t* boxes, size_t n) const {
  const int d = answer.given1 - answer.given0;
  std::optional<BoxLookup> lookup;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const auto near_rows = [&](bool may_look_up) {
      return Near(part, answer.given0, answer.given1, [&] { return index(i, answer.backward, n, may_look_up); });
    };
    Near near = near_rows(true);
    if (near.looks()) {
      if (!lookup) lookup.emplace(boxes, n, d);
      if (lookup->usable() && solve_by_lookup(answer, part, *lookup, boxes, n)) continue;
      if (n > kFewBoxes) near = near_rows(false);
    }
    Solver solver(part, answer.given0, answer.given1, answer.wanted0, answer.wanted1, answer.limit, answer.hits);
    const bool plain = near.filters() && without_parents(part, 0, static_cast<int>(part.pattern.size()));
    size_t looked = 0;
    for (size_t j = 0; j < n; ++j) {
      const int64_t* box = boxes + j * 2 * static_cast<size_t>(d);
      near.find(box, [&](size_t r) {
        if (plain) {  // rows without parents are boxes, which have been compared exactly
          take(answer, part, r);
          return;
        }
        if (near.filters() && ++looked / kLooks > answer.limit) too_many_boxes(answer.limit);
        solver.solve(r, box, answer.found);
      });
    }
    if (!plain) answer.hits = solver.found();
  }
}

bool Table::solve_by_lookup(Answer& answer, const Part& part, const BoxLookup& lookup, const int64_t* boxes,
                            size_t n) const {
  const int first = answer.given0, axes = answer.given1 - answer.given0;
  const size_t hits = answer.hits, size = answer.found.size(), most = kSteps * (part.rows + n);
  const bool plain = without_parents(part, 0, static_cast<int>(part.pattern.size()));
  Solver solver(part, first, answer.given1, answer.wanted0, answer.wanted1, answer.limit, answer.hits);
  size_t steps = 0;
  for (size_t r = 0; r < part.rows && steps <= most; ++r) {
    lookup.find(part.lo[first][r], part.hi(first, r), [&](size_t j) {
      const int64_t* box = boxes + j * 2 * static_cast<size_t>(axes);
      for (int a = 1; a < axes; ++a) {
        if (part.lo[first + a][r] > box[2 * a + 1] || part.hi(first + a, r) < box[2 * a]) return ++steps <= most;
      }
      if (plain) {
        take(answer, part, r);
        return false;
      }
      solver.solve(r, box, answer.found);
      return ++steps <= most;
    });
  }
  if (steps > most) {
    answer.hits = hits;
    answer.found.resize(size);
    return false;
  }
  if (!plain) answer.hits = solver.found();
  return true;
}

bool Table::solve_by_rows(Answer& answer, const int64_t* boxes, size_t n, size_t budget) const {
  const std::vector<int64_t>& shape = answer.backward ? out_shape_ : in_shape_;
  const std::vector<int64_t>& view = answer.backward ? out_view_ : in_view_;
  const size_t k = out_view_.size() + in_view_.size();
  Window window(shape, view);
  std::vector<int64_t> around(2 * view.size()), lo(k), hi(k), pieces;
  size_t spent = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const std::vector<int> topo = topological(part.pattern);
    Solver solver(part, answer.given0, answer.given1, answer.wanted0, answer.wanted1, answer.limit, answer.hits);
    Near near(part, answer.given0, answer.given1, [&] { return index(i, answer.backward, n, false); });
    for (size_t j = 0; j < n; ++j) {
      const int64_t* box = boxes + j * 2 * shape.size();
      window.around(box, around.data());
      near.find(around.data(), [&](size_t r) {
        if (++spent > budget) return;
        hull(part, topo, r, lo.data(), hi.data());
        pieces.clear();
        if (!window.cut(box, lo.data() + answer.given0, hi.data() + answer.given0, budget - spent, pieces)) {
          spent = budget + 1;
          return;
        }
        const size_t width = 2 * view.size();
        spent += width > 0 ? pieces.size() / width : 0;
        for (size_t at = 0; at < pieces.size(); at += width) solver.solve(r, pieces.data() + at, answer.found);
      });
      if (spent > budget) return false;
    }
    answer.hits = solver.found();
  }
  return true;
}

std::vector<int64_t> Table::ask(const int64_t* boxes, size_t n, bool backward, size_t limit) const {
  if (n == 0 || has_zero(out_shape_) || has_zero(in_shape_)) return {};
  const std::vector<int64_t>& given_shape = backward ? out_shape_ : in_shape_;
  const std::vector<int64_t>& given_view = backward ? out_view_ : in_view_;
  const std::vector<int64_t>& wanted_shape = backward ? in_shape_ : out_shape_;
  const std::vector<int64_t>& wanted_view = backward ? in_view_ : out_view_;
  const int l = static_cast<int>(out_view_.size()), k = l + static_cast<int>(in_view_.size());
  const auto fresh = [&]() -> Answer { return {backward ? 0 : l, backward ? l : k, backward ? l : 0, backward ? k : l, backward, limit, {}}; };
  Answer answer = fresh();
  if (given_view == given_shape) {
    solve(answer, boxes, n);
  } else {
    // If boxes split into many pieces, few rows are compared with them one by one: only the pieces near a row are made.
    const double count = pieces(boxes, n, given_shape, given_view);
    const size_t budget = count < static_cast<double>(limit) ? static_cast<size_t>(count) : limit;
    if (count <= kFewPieces || given_view.empty() || !solve_by_rows(answer, boxes, n, budget)) {
      answer = fresh();
      const std::vector<int64_t> viewed = review(boxes, n, given_shape, given_view, limit);
      const size_t d = given_view.size();
      solve(answer, viewed.data(), d > 0 ? viewed.size() / (2 * d) : n);
    }
  }
  // The value 1 means the only cell of an array without axes.
  if (wanted_shape.empty()) return answer.hits > 0 ? std::vector<int64_t>{1} : std::vector<int64_t>{};
  const size_t dw = wanted_view.size();
  std::vector<int64_t> found = std::move(answer.found);
  if (wanted_view != wanted_shape) {
    const size_t boxes_found = dw > 0 ? found.size() / (2 * dw) : (answer.hits > 0 ? 1 : 0);
    found = review(found.data(), boxes_found, wanted_view, wanted_shape, limit);
  }
  const size_t ds = wanted_shape.size();
  return normalize(found.data(), found.size() / (2 * ds), static_cast<int>(ds));
}

std::vector<unsigned char> Table::contains(const uint64_t* keys, size_t n) const {
  std::vector<int64_t> view = out_view_;
  view.insert(view.end(), in_view_.begin(), in_view_.end());
  const size_t k = view.size();
  std::vector<unsigned char> found(n, 0);
  std::vector<int64_t> tuple(k), box(2 * k);
  for (const Part& part : parts_) {
    const BoxIndex tree(part, 0, static_cast<int>(k), BoxIndex::in_order(part, 0, static_cast<int>(k)));
    for (size_t i = 0; i < n; ++i) {
      decode(keys + i, 1, view, tuple.data());
      for (size_t v = 0; v < k; ++v) box[2 * v] = box[2 * v + 1] = tuple[v];
      size_t cursor = 0;
      tree.find(box.data(), cursor, [&](size_t r) {
        bool in = true;
        for (size_t v = 0; v < k; ++v) {
          const Axis& a = part.pattern[v];
          const int64_t x = a.parent < 0 ? 0 : tuple[a.parent];
          in &= tuple[v] >= part.lo[v][r] + a.p * x && tuple[v] <= part.hi(v, r) + a.q * x;
        }
        found[i] |= static_cast<unsigned char>(in);
      });
    }
  }
  return found;
}

std::vector<int64_t> Table::expand(size_t limit) const {
  const size_t k = out_view_.size() + in_view_.size();
  std::vector<int64_t> out;
  std::vector<int64_t> at(k), hi(k);
  for (const Part& part : parts_) {
    const std::vector<int> topo = topological(part.pattern);
    const auto open = [&](size_t t, size_t i) {
      const int v = topo[t];
      const Axis& a = part.pattern[v];
      const int64_t x = a.parent < 0 ? 0 : at[a.parent];
      at[v] = part.lo[v][i] + a.p * x;
      hi[v] = part.hi(v, i) + a.q * x;
    };
    for (size_t i = 0; i < part.rows; ++i) {
      for (size_t t = 0; t < k; ++t) open(t, i);
      while (true) {
        if (out.size() + k > limit) throw TooLarge("the tuples of the relation would not fit into memory");
        out.insert(out.end(), at.begin(), at.end());
        size_t t = k;
        while (t > 0 && at[topo[t - 1]] == hi[topo[t - 1]]) --t;
        if (t == 0) break;
        ++at[topo[t - 1]];
        for (; t < k; ++t) open(t, i);
      }
    }
  }
  return out;
}

}  // namespace whence
