#include "kernels/table.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "kernels/boxes.hpp"
#include "kernels/index.hpp"
#include "kernels/keys.hpp"
#include "kernels/solve.hpp"
#include "kernels/view.hpp"

namespace whence {

namespace {

constexpr size_t kScan = 48;  // below so many rows, looking at each is cheaper than an index

int64_t size_of(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

bool has_zero(const std::vector<int64_t>& shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

}  // namespace

Column::Column(std::vector<int64_t> values) {
  if (values.empty()) return;
  first_ = values[0];
  step_ = values.size() > 1 ? values[1] - values[0] : 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] - values[i - 1] != step_) {
      values.shrink_to_fit();
      values_ = std::move(values);
      return;
    }
  }
}

void Column::push_back(int64_t value) {
  if (!values_.empty()) {
    values_.push_back(value);
    return;
  }
  if (pushed_ == 0) first_ = value;
  if (pushed_ == 1) step_ = value - first_;
  if (pushed_ > 1 && value != (*this)[pushed_]) {
    std::vector<int64_t> grown;
    grown.reserve(pushed_ + 1);
    for (size_t i = 0; i < pushed_; ++i) grown.push_back((*this)[i]);
    grown.push_back(value);
    values_ = std::move(grown);
  }
  ++pushed_;
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

struct Table::Lazy {
  std::mutex mutex;
  std::vector<std::unique_ptr<BoxIndex>> index;  // two for each part: output side, input side
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

void Table::add(Part part) {
  const size_t k = out_view_.size() + in_view_.size();
  if (part.pattern.size() != k || part.lo.size() != k || part.width.size() != k) {
    throw std::invalid_argument("a part must have one column pair for each axis");
  }
  for (const Axis& a : part.pattern) {
    if (a.parent >= static_cast<int>(k)) throw std::invalid_argument("a parent that is not an axis");
  }
  if (k > 0 && topological(part.pattern).empty()) throw std::invalid_argument("parents form a cycle");
  parts_.push_back(std::move(part));
  lazy_->index.resize(parts_.size() * 2);
}

size_t Table::rows() const {
  size_t n = 0;
  for (const Part& part : parts_) n += part.rows;
  return n;
}

const BoxIndex& Table::index(size_t part, bool out_side) const {
  const std::lock_guard<std::mutex> hold(lazy_->mutex);
  std::unique_ptr<BoxIndex>& slot = lazy_->index[2 * part + (out_side ? 0 : 1)];
  if (!slot) {
    const int l = static_cast<int>(out_view_.size()), k = l + static_cast<int>(in_view_.size());
    slot = std::make_unique<BoxIndex>(parts_[part], out_side ? 0 : l, out_side ? l : k);
  }
  return *slot;
}

std::vector<int64_t> Table::ask(const int64_t* boxes, size_t n, bool backward, size_t limit) const {
  if (n == 0 || has_zero(out_shape_) || has_zero(in_shape_)) return {};
  const std::vector<int64_t>& given_shape = backward ? out_shape_ : in_shape_;
  const std::vector<int64_t>& given_view = backward ? out_view_ : in_view_;
  const std::vector<int64_t>& wanted_shape = backward ? in_shape_ : out_shape_;
  const std::vector<int64_t>& wanted_view = backward ? in_view_ : out_view_;
  const int l = static_cast<int>(out_view_.size()), k = l + static_cast<int>(in_view_.size());
  const int given0 = backward ? 0 : l, given1 = backward ? l : k;
  const int wanted0 = backward ? l : 0, wanted1 = backward ? k : l;
  const size_t d = given_view.size();

  std::vector<int64_t> viewed;
  if (given_view != given_shape) {
    viewed = review(boxes, n, given_shape, given_view);
    if (d > 0) n = viewed.size() / (2 * d);
    boxes = viewed.data();
  }

  std::vector<int64_t> found;
  size_t hits = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    Solver solver(part, given0, given1, wanted0, wanted1, limit);
    if (part.rows <= kScan || d == 0) {
      for (size_t j = 0; j < n; ++j) {
        for (size_t r = 0; r < part.rows; ++r) solver.solve(r, boxes + j * 2 * d, found);
      }
    } else {
      const BoxIndex& tree = index(i, backward);
      const bool plain = std::all_of(part.pattern.begin(), part.pattern.end(), [](const Axis& a) { return a.parent < 0; });
      size_t cursor = 0;
      for (size_t j = 0; j < n; ++j) {
        const int64_t* box = boxes + j * 2 * d;
        tree.find(box, cursor, [&](size_t r) {
          if (!plain) {
            solver.solve(r, box, found);
            return;
          }
          // Rows without parents are boxes: the index has compared them exactly.
          if (++hits > limit) throw std::length_error("more boxes than the limit");
          for (int v = wanted0; v < wanted1; ++v) {
            found.push_back(part.lo[v][r]);
            found.push_back(part.hi(v, r));
          }
        });
      }
    }
    hits += solver.found();
  }
  // Marks "the one cell" of an array without axes, which no number can.
  if (wanted_shape.empty()) return hits > 0 ? std::vector<int64_t>{1} : std::vector<int64_t>{};
  const size_t dw = wanted_view.size();
  if (wanted_view != wanted_shape) {
    found = review(found.data(), dw > 0 ? found.size() / (2 * dw) : (hits > 0 ? 1 : 0), wanted_view, wanted_shape);
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
    const BoxIndex tree(part, 0, static_cast<int>(k));
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

namespace {

// Tuples below axis v for one value x of its parent; rows of constant width need no walk over values.
class Counter {
 public:
  explicit Counter(const Part& part) : part_(part), kids_(part.pattern.size()), even_(part.pattern.size(), 1) {
    const std::vector<int> topo = topological(part.pattern);
    for (size_t t = topo.size(); t-- > 0;) {
      const int v = topo[t];
      const Axis& a = part.pattern[v];
      if (a.parent < 0) {
        roots_.push_back(v);
      } else {
        kids_[a.parent].push_back(v);
        if (a.p != a.q || !even_[v]) even_[a.parent] = 0;
      }
    }
  }
  unsigned __int128 row(size_t i) {
    unsigned __int128 n = 1;
    for (int v : roots_) n *= below(v, i, 0);
    return n;
  }

 private:
  unsigned __int128 below(int v, size_t i, int64_t x) {
    const Axis& a = part_.pattern[v];
    const int64_t lo = part_.lo[v][i] + a.p * x, hi = part_.hi(v, i) + a.q * x;
    if (even_[v]) {
      unsigned __int128 n = static_cast<unsigned __int128>(hi - lo + 1);
      for (int w : kids_[v]) n *= below(w, i, lo);
      return n;
    }
    unsigned __int128 n = 0;
    for (int64_t y = lo; y <= hi; ++y) {
      unsigned __int128 one = 1;
      for (int w : kids_[v]) one *= below(w, i, y);
      n += one;
    }
    return n;
  }
  const Part& part_;
  std::vector<int> roots_;
  std::vector<std::vector<int>> kids_;
  std::vector<char> even_;  // the number of tuples below does not depend on this axis's value
};

}  // namespace

unsigned __int128 Table::count() const {
  unsigned __int128 n = 0;
  for (const Part& part : parts_) {
    Counter counter(part);
    for (size_t i = 0; i < part.rows; ++i) n += counter.row(i);
  }
  return n;
}

std::vector<int64_t> Table::expand() const {
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
