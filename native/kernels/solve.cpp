#include "kernels/solve.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/values.hpp"

namespace whence {
namespace {

// Returns a - b, or the nearest value that fits and can be negated: either way it is beyond all that an axis can reach.
int64_t difference(int64_t a, int64_t b) {
  int64_t found;
  if (!__builtin_sub_overflow(a, b, &found) && found > std::numeric_limits<int64_t>::min()) return found;
  return b > 0 ? -std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::max();
}

}  // namespace

Solver::Solver(const Part& part, int given0, int given1, int wanted0, int wanted1, size_t limit, size_t found)
    : part_(part),
      k_(static_cast<int>(part.pattern.size())),
      given0_(given0),
      given1_(given1),
      wanted0_(wanted0),
      wanted1_(wanted1),
      limit_(limit),
      found_(found),
      topo_(topological(part.pattern)),
      live_(k_),
      lo_(k_),
      hi_(k_),
      limit_of_(k_),
      at_(k_) {
  std::vector<char> alive(k_, 0);
  for (int t = k_ - 1; t >= 0; --t) {
    const int v = topo_[t];
    if (v >= wanted0_ && v < wanted1_) alive[v] = 1;
    const int u = part.pattern[v].parent;
    if (alive[v] && u >= 0) alive[u] = 1;
  }
  for (int v : topo_) {
    if (!alive[v]) continue;
    walk_.push_back(v);
    if (part.pattern[v].parent >= 0) live_[part.pattern[v].parent].push_back(v);
  }
}

// Children first: the limits of each axis such that all axes below it can be satisfied, too. Because an axis has one
// parent, "some value of the child fits" is two inequalities in the parent alone, so this is exact.
bool Solver::tighten(size_t i, const int64_t* box) {
  for (int v = 0; v < k_; ++v) {
    lo_[v] = part_.lo[v][i];
    hi_[v] = lo_[v] + part_.width[v][i];
    limit_of_[v] = {kMin, kMax};
  }
  for (int v = given0_; v < given1_; ++v) limit_of_[v] = {box[2 * (v - given0_)], box[2 * (v - given0_) + 1]};
  for (int t = k_ - 1; t >= 0; --t) {
    const int v = topo_[t];
    const Interval c = limit_of_[v];
    if (c.lo > c.hi) return false;
    const Axis& axis = part_.pattern[v];
    if (axis.parent < 0) {
      if (c.lo > hi_[v] || c.hi < lo_[v]) return false;
      continue;
    }
    Interval& parent = limit_of_[axis.parent];
    if (c.hi < kMax) {  // lo + p*x <= c.hi
      const int64_t room = difference(c.hi, lo_[v]);
      if (axis.p == 0) {
        if (room < 0) return false;
      } else if (axis.p > 0) {
        parent.hi = std::min(parent.hi, floor_div(room, axis.p));
      } else {
        parent.lo = std::max(parent.lo, ceil_div(room, axis.p));
      }
    }
    if (c.lo > kMin) {  // hi + q*x >= c.lo
      const int64_t need = difference(c.lo, hi_[v]);
      if (axis.q == 0) {
        if (need > 0) return false;
      } else if (axis.q > 0) {
        parent.lo = std::max(parent.lo, ceil_div(need, axis.q));
      } else {
        parent.hi = std::min(parent.hi, floor_div(need, axis.q));
      }
    }
  }
  return true;
}

Solver::Interval Solver::bounds(int v, int64_t x) const {
  const Axis& a = part_.pattern[v];
  return {std::max(lo_[v] + a.p * x, limit_of_[v].lo), std::min(hi_[v] + a.q * x, limit_of_[v].hi)};
}

// The bounds are monotone in the parent's value: if both ends are equal, all are.
bool Solver::varies(int v, Interval parent) const {
  const Interval a = bounds(v, parent.lo), b = bounds(v, parent.hi);
  return a.lo != b.lo || a.hi != b.hi;
}

// Whether the child's intervals for consecutive parent values touch, so that their union is one interval. The condition
// is linear in the parent's value, so it is enough to check both ends.
bool Solver::gapless(int v, Interval parent) const {
  const Axis& a = part_.pattern[v];
  const auto touch = [&](int64_t x) {
    return lo_[v] + a.p * x + std::max<int64_t>(a.p, 0) <= hi_[v] + a.q * x + std::min<int64_t>(a.q, 0) + 1;
  };
  return touch(parent.lo) && touch(parent.hi - 1);
}

void Solver::place(size_t k, std::vector<int64_t>& out) {
  for (; k < walk_.size(); ++k) {
    const int v = walk_[k];
    const int u = part_.pattern[v].parent;
    Interval here;
    if (u < 0) {
      here = {std::max(lo_[v], limit_of_[v].lo), std::min(hi_[v], limit_of_[v].hi)};
    } else {
      const Interval a = bounds(v, at_[u].lo), b = bounds(v, at_[u].hi);
      here = {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    if (here.lo > here.hi) return;
    at_[v] = here;
    if (here.lo == here.hi || live_[v].empty()) continue;
    int varying = 0, only = -1;
    for (int w : live_[v]) {
      if (varies(w, here)) {
        ++varying;
        only = w;
      }
    }
    const bool wanted = v >= wanted0_ && v < wanted1_;
    if (varying == 0 || (!wanted && varying == 1 && gapless(only, here))) continue;
    // No box can express this dependency: at least one box is needed for each value.
    const auto more = static_cast<uint64_t>(here.hi - here.lo);
    if (more >= limit_ - found_) {
      throw TooLarge("the answer needs " + std::to_string(more + 1) + " boxes or more, and " + std::to_string(limit_) +
                     " is the limit; ask for fewer cells at a time");
    }
    for (int64_t x = here.lo; x <= here.hi; ++x) {
      at_[v] = {x, x};
      place(k + 1, out);
    }
    return;
  }
  if (++found_ > limit_) {
    throw TooLarge("the answer needs more than " + std::to_string(limit_) + " boxes; ask for fewer cells at a time");
  }
  for (int v = wanted0_; v < wanted1_; ++v) {
    out.push_back(at_[v].lo);
    out.push_back(at_[v].hi);
  }
}

void Solver::solve(size_t i, const int64_t* box, std::vector<int64_t>& out) {
  if (tighten(i, box)) place(0, out);
}

}  // namespace whence
