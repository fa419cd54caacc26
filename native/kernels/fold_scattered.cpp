// The short way for scattered tuples: output cells one after the other, each with one input cell far from any line.
#include <algorithm>
#include <cstdlib>

#include "kernels/fold.hpp"

namespace whence {

namespace {

// Whether three numbers are on a line. Tuples that were not checked yet may be out of range, so differences wrap.
bool even(int64_t a, int64_t b, int64_t c) {
  const auto u = [](int64_t x) { return static_cast<uint64_t>(x); };
  return u(b) - u(a) == u(c) - u(b);
}

// Whether no run is left in a list of runs that have moved on.
template <typename Runs>
bool gone(const Runs& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run == nullptr; });
}

}  // namespace

// Tuple t[0] was just pushed. Any two rows are on a line, so each next tuple would join a run of two and separate it
// again. Here the same rows are emitted, and the runs are left, as if the tuples were pushed one by one. Returns how
// many tuples after t[0] were taken.
size_t Folder::scattered(const int64_t* t, size_t n) {
  if (k_ != 2 || n < 4) return 0;
  Level &first = levels_[0], &last = levels_[1];
  if (first.now.size() != 1 || last.now.size() != 1 || !gone(first.old) || !gone(last.old)) return 0;
  Run &pair = *first.now[0], &one = *last.now[0];
  const bool two = pair.count == 2 && pair.axes[1].parent < 0 && pair.lo[1] == pair.hi[1] && pair.dlo[1] == pair.dhi[1];
  if (!two || one.count != 1 || first.at != t[0] - 1) return 0;
  int64_t p = pair.lo[1], q = p + pair.dlo[1], r = t[1];
  size_t taken = 0;
  for (const int64_t* s = t + 2; taken + 3 < n; s += 2) {
    const bool lonely = s[0] == s[-2] + 1 && s[2] == s[0] + 1 && in_range(s);
    if (!lonely || even(p, q, r) || std::abs(q - p) <= 1 || steep(0, r - q)) break;
    if (s[4] == s[2] + 1 && even(s[1], s[3], s[5])) break;  // a run begins
    p = q;
    q = r;
    r = s[1];
    ++taken;
  }
  if (taken == 0) return 0;
  const int64_t q_before = pair.lo[1] + pair.dlo[1];
  emit(pair);  // as a row, it is its first tuple
  Rows& rows = parts_[recent_];
  const auto add = [&](int64_t x, int64_t y) {
    rows.lo[0].push_back(x);
    rows.lo[1].push_back(y);
    rows.width[0].push_back(0);
    rows.width[1].push_back(0);
  };
  if (taken > 1) add(pair.lo[0] + 1, q_before);
  for (size_t i = 0; i + 2 < taken; ++i) add(t[2 * i], t[2 * i + 1]);
  rows.rows += taken - 1;
  rows_ += taken - 1;
  const int64_t x = t[2 * taken];
  pair.lo[0] = pair.hi[0] = x - 2;
  pair.lo[1] = pair.hi[1] = p;
  pair.dlo[1] = pair.dhi[1] = q - p;
  first.at = x - 1;
  one.lo[0] = one.hi[0] = x;
  one.lo[1] = one.hi[1] = last.at = r;
  return taken;
}

}  // namespace whence
