#include "kernels/apart.hpp"

#include <algorithm>

#include "kernels/integers.hpp"

namespace whence {
namespace {

__extension__ using Signed = __int128;

constexpr size_t kMost = 1 << 16;  // the most inequalities that the integer test may make for one pair

// Two rows whose parents together form one forest. Children come first, as in a question: an axis has a value if each
// of its lower bounds is at most each of its upper bounds, which are linear in its parent's value.
Disjoint in_one_forest(const Part& a, size_t i, const Part& b, size_t j) {
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
  return Disjoint::no;
}

// Adds the inequalities of one side. The axes are the first variables; `number` is the variable of the row's number.
void add(Inequalities& all, const RowOf& side, size_t number) {
  const Part& part = side.part;
  for (size_t v = 0; v < part.pattern.size(); ++v) {
    const Axis& axis = part.pattern[v];
    const size_t u = axis.parent < 0 ? v : static_cast<size_t>(axis.parent);
    const Signed lo = part.lo[v][side.row], hi = lo + part.width[v][side.row];
    const Signed lo_step = side.all ? part.lo[v].step() : 0;
    const Signed hi_step = side.all ? lo_step + part.width[v].step() : 0;
    all.at_least_zero({{v, 1}, {u, -Signed{axis.p}}, {number, -lo_step}}, -lo);
    all.at_least_zero({{v, -1}, {u, axis.q}, {number, hi_step}}, hi);
  }
  if (!side.all) return;
  all.at_least_zero({{number, 1}}, 0);
  all.at_least_zero({{number, -1}}, static_cast<Signed>(part.rows) - 1);
}

}  // namespace

Disjoint apart(const RowOf& a, const RowOf& b, size_t& effort) {
  if (!a.all && !b.all) {
    const Disjoint found = in_one_forest(a.part, a.row, b.part, b.row);
    if (found != Disjoint::unknown) return found;
  }
  const size_t k = a.part.pattern.size();
  Inequalities all(k + 2);
  add(all, a, k);
  add(all, b, k + 1);
  if (a.all && &a.part == &b.part) all.at_least_zero({{k + 1, 1}, {k, -1}}, -1);  // two different rows
  size_t left = std::min(kMost, effort);
  const size_t given = left;
  const Solvable shared = all.solve(left);
  effort -= given - left;
  return shared == Solvable::unknown ? Disjoint::unknown : shared == Solvable::yes ? Disjoint::no : Disjoint::yes;
}

}  // namespace whence
