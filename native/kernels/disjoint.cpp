// Whether rows share a tuple. Rows that were folded from sorted tuples mostly follow each other along the axes, which one
// look at each pair of neighbours shows; rows that do not, even sorted, are looked up in an index and compared pair by pair.
#include <algorithm>
#include <numeric>

#include "kernels/index.hpp"
#include "kernels/validate.hpp"

namespace whence {
namespace {

__extension__ using Signed = __int128;

constexpr size_t kMostRows = size_t{1} << 26;   // that are indexed
constexpr size_t kMostPairs = size_t{1} << 24;  // that are compared

struct Enough {};  // thrown out of an index's search

// The given order of axes, but each after its parent.
std::vector<int> parents_first(const Pattern& pattern, const std::vector<int>& order) {
  std::vector<int> out;
  std::vector<char> done(pattern.size(), 0);
  std::vector<int> path;
  for (const int v : order) {
    for (int u = v; u >= 0 && !done[u]; u = pattern[u].parent) path.push_back(u);
    for (; !path.empty(); path.pop_back()) {
      done[path.back()] = 1;
      out.push_back(path.back());
    }
  }
  return out;
}

// Whether axis v of row j lies wholly after that of row i, for each value of a parent that has the same values in both.
bool after(const Part& part, int v, size_t i, size_t j, const std::vector<int>& topo, std::vector<int64_t>& hulls) {
  const Axis& a = part.pattern[v];
  const Signed gap = Signed{part.lo[v][j]} - part.lo[v][i] - part.width[v][i];
  if (a.p == a.q) return gap > 0;
  const size_t k = part.pattern.size();
  hulls.resize(2 * k);
  hull(part, topo, i, hulls.data(), hulls.data() + k);
  const Signed widen = Signed{a.p} - a.q;
  return gap + widen * hulls[a.parent] > 0 && gap + widen * hulls[k + a.parent] > 0;
}

// Rows in some order: their own, or sorted.
class Sequence {
 public:
  explicit Sequence(const Part& part) : part_(part), topo_(topological(part.pattern)) {}

  void sort(const std::vector<int>& order) {
    rows_.resize(part_.rows);
    std::iota(rows_.begin(), rows_.end(), 0U);
    std::sort(rows_.begin(), rows_.end(), [&](uint32_t i, uint32_t j) {
      for (const int v : order) {
        if (part_.lo[v][i] != part_.lo[v][j]) return part_.lo[v][i] < part_.lo[v][j];
      }
      return i < j;
    });
  }

  // Whether, of any two neighbours, the second lies wholly after the first on the first axis on which they differ. Then
  // that is true of any two rows, and none share a tuple.
  bool follows(const std::vector<int>& order) {
    // Axis by axis, over the neighbours that are equal so far.
    std::vector<uint32_t> equal, still;
    for (size_t c = 0; c < order.size(); ++c) {
      const int v = order[c];
      const size_t n = c == 0 ? part_.rows - 1 : equal.size();
      still.clear();
      for (size_t e = 0; e < n; ++e) {
        const size_t at = c == 0 ? e : equal[e];
        const size_t i = row(at), j = row(at + 1);
        if (part_.lo[v][i] == part_.lo[v][j] && part_.width[v][i] == part_.width[v][j]) {
          still.push_back(static_cast<uint32_t>(at));
        } else if (!after(part_, v, i, j, topo_, hulls_)) {
          return false;
        }
      }
      equal.swap(still);
      if (equal.empty()) return true;
    }
    return false;
  }

  // The same of rows whose columns are all stepped: what is true of the first two and of the last two is true of all.
  bool steps(const std::vector<int>& order) {
    for (const int v : order) {
      if (part_.lo[v].step() == 0 && part_.width[v].step() == 0) continue;
      return after(part_, v, 0, 1, topo_, hulls_) && after(part_, v, part_.rows - 2, part_.rows - 1, topo_, hulls_);
    }
    return false;
  }

 private:
  size_t row(size_t at) const { return rows_.empty() ? at : rows_[at]; }

  const Part& part_;
  const std::vector<int> topo_;
  std::vector<uint32_t> rows_;
  std::vector<int64_t> hulls_;
};

bool in_some_order(const Part& part, int outs) {
  const int k = static_cast<int>(part.pattern.size());
  std::vector<int> first, second, turns, other_turns;
  for (int v = 0; v < k; ++v) first.push_back(v), second.push_back((v + outs) % k);
  for (int i = 0; i < std::max(outs, k - outs); ++i) {
    if (i < outs) turns.push_back(i);
    if (outs + i < k) turns.push_back(outs + i);
    if (outs + i < k) other_turns.push_back(outs + i);
    if (i < outs) other_turns.push_back(i);
  }
  std::vector<std::vector<int>> orders;
  for (const auto* order : {&first, &second, &turns, &other_turns}) {
    orders.push_back(parents_first(part.pattern, *order));
  }
  Sequence rows(part);
  if (part.stepped()) {
    return std::any_of(orders.begin(), orders.end(), [&](const auto& order) { return rows.steps(order); });
  }
  if (part.rows > kMostRows) return false;
  if (std::any_of(orders.begin(), orders.end(), [&](const auto& order) { return rows.follows(order); })) return true;
  for (size_t i = 0; i < 2; ++i) {
    rows.sort(orders[i]);
    if (rows.follows(orders[i])) return true;
  }
  return false;
}

// Whether row i of one part and row j of another share a tuple. Children first, as a question does: an axis has a value if
// each of its lower bounds is at most each of its upper ones, which are half-lines in its parent's value.
Disjoint apart(const Part& a, size_t i, const Part& b, size_t j) {
  const size_t k = a.pattern.size();
  Pattern merged(k);
  for (size_t v = 0; v < k; ++v) {
    const int u = a.pattern[v].parent, w = b.pattern[v].parent;
    if (u >= 0 && w >= 0 && u != w) return Disjoint::unknown;
    merged[v].parent = std::max(u, w);
  }
  const std::vector<int> topo = topological(merged);
  if (topo.empty()) return k == 0 ? Disjoint::no : Disjoint::unknown;
  struct Limit {
    Signed lo = kMin, hi = kMax;
  };
  std::vector<Limit> limits(k);
  for (size_t t = k; t-- > 0;) {
    const int v = topo[t];
    struct Bound {
      Signed at, slope;
    };
    const Bound lower[] = {{a.lo[v][i], a.pattern[v].p}, {b.lo[v][j], b.pattern[v].p}, {limits[v].lo, 0}};
    const Bound upper[] = {{Signed{a.lo[v][i]} + a.width[v][i], a.pattern[v].q},
                           {Signed{b.lo[v][j]} + b.width[v][j], b.pattern[v].q},
                           {limits[v].hi, 0}};
    for (const Bound& l : lower) {
      for (const Bound& u : upper) {  // l.at + l.slope * x <= u.at + u.slope * x
        const Signed slope = u.slope - l.slope, need = l.at - u.at;
        if (slope == 0) {
          if (need > 0) return Disjoint::yes;
          continue;
        }
        Limit& x = limits[merged[v].parent];
        const Signed q = need / slope, r = need % slope;
        const Signed down = r != 0 && (r < 0) != (slope < 0) ? q - 1 : q;
        if (slope > 0) x.lo = std::max(x.lo, r == 0 ? q : down + 1);
        else x.hi = std::min(x.hi, down);
      }
    }
  }
  for (const Limit& x : limits) {
    if (x.lo > x.hi) return Disjoint::yes;
  }
  return Disjoint::no;
}

// Looks up each row of one part among the rows of another, or of the same.
Disjoint compared(const Part& some, const Part& others, size_t& pairs) {
  if (some.rows > kMostRows || others.rows > kMostRows) return Disjoint::unknown;
  if (some.rows == 1 && others.rows == 1) return ++pairs > kMostPairs ? Disjoint::unknown : apart(some, 0, others, 0);
  const int k = static_cast<int>(some.pattern.size());
  const BoxIndex tree(others, 0, k);
  const std::vector<int> topo = topological(some.pattern);
  std::vector<int64_t> lo(k), hi(k), box(2 * k);
  Disjoint found = Disjoint::yes;
  size_t cursor = 0;
  try {
    for (size_t i = 0; i < some.rows; ++i) {
      hull(some, topo, i, lo.data(), hi.data());
      for (int v = 0; v < k; ++v) box[2 * v] = lo[v], box[2 * v + 1] = hi[v];
      tree.find(box.data(), cursor, [&](size_t j) {
        if (&some == &others && j <= i) return;
        if (++pairs > kMostPairs) {
          found = Disjoint::unknown;
          throw Enough{};
        }
        const Disjoint each = apart(some, i, others, j);
        if (each == Disjoint::yes) return;
        found = each;
        if (each == Disjoint::no) throw Enough{};
      });
    }
  } catch (const Enough&) {
  }
  return found;
}

// The smallest box around all rows of a part.
std::vector<int64_t> around(const Part& part) {
  const size_t k = part.pattern.size();
  const std::vector<int> topo = topological(part.pattern);
  std::vector<int64_t> lo(k), hi(k), box(2 * k);
  const size_t step = part.stepped() ? std::max<size_t>(part.rows - 1, 1) : 1;  // linear in the row's number
  for (size_t i = 0; i < part.rows; i += step) {
    hull(part, topo, i, lo.data(), hi.data());
    for (size_t v = 0; v < k; ++v) {
      box[2 * v] = i == 0 ? lo[v] : std::min(box[2 * v], lo[v]);
      box[2 * v + 1] = i == 0 ? hi[v] : std::max(box[2 * v + 1], hi[v]);
    }
  }
  return box;
}

bool meet(const std::vector<int64_t>& x, const std::vector<int64_t>& y) {
  for (size_t v = 0; v < x.size(); v += 2) {
    if (x[v] > y[v + 1] || y[v] > x[v + 1]) return false;
  }
  return true;
}

}  // namespace

Disjoint disjoint(const std::vector<Part>& parts, int outs) {
  Disjoint all = Disjoint::yes;
  size_t pairs = 0;
  std::vector<std::vector<int64_t>> boxes;
  const auto take = [&](Disjoint found) {
    if (found != Disjoint::yes) all = found;
    return found == Disjoint::no;
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.rows > 1) {
      const auto moves = [](const Column& column) { return column.dense() || column.step() != 0; };
      if (std::none_of(part.lo.begin(), part.lo.end(), moves) && std::none_of(part.width.begin(), part.width.end(), moves)) {
        return Disjoint::no;  // the same row again and again
      }
      if (!in_some_order(part, outs) && take(compared(part, part, pairs))) return all;
    }
    boxes.push_back(around(part));
    for (size_t j = 0; j < i; ++j) {
      const bool fewer = part.rows < parts[j].rows;
      if (!meet(boxes[i], boxes[j])) continue;
      if (take(fewer ? compared(part, parts[j], pairs) : compared(parts[j], part, pairs))) return all;
    }
  }
  return all;
}

}  // namespace whence
