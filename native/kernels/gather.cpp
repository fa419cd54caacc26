#include "kernels/gather.hpp"

#include <algorithm>
#include <numeric>

namespace whence {

namespace {

constexpr size_t kFewRows = 64;  // with so few rows in all, parts are left as they are
constexpr size_t kFew = 4096;    // rewritten rows stay separate if the main part has so many rows for each
constexpr double kThin = 8;      // a part is rewritten if that makes at most so many rows of each of its own

// Rewrites rows of one pattern as rows of another. An axis with a different parent or slope in the two patterns needs
// its parents, in both patterns, at single values: those axes are enumerated value by value.
class Rewriter {
 public:
  Rewriter(const Part& from, const Pattern& to)
      : from_(from), to_(to), k_(from.pattern.size()), topo_(topological(from.pattern)), walked_(k_, 0), at_(k_), end_(k_) {
    for (size_t v = 0; v < k_; ++v) {
      if (from.pattern[v] == to[v]) continue;
      if (from.pattern[v].parent >= 0) walked_[from.pattern[v].parent] = 1;
      if (to[v].parent >= 0) walked_[to[v].parent] = 1;
    }
    for (size_t t = k_; t-- > 0;) {
      const int v = topo_[t];
      if (walked_[v] && from.pattern[v].parent >= 0) walked_[from.pattern[v].parent] = 1;
    }
  }

  // Returns the most rows that it needs; exact except for axes whose number of values depends on another's.
  double cost() const {
    double total = 0;
    std::vector<int64_t> lo(k_), hi(k_);
    for (size_t i = 0; i < from_.rows; ++i) {
      double n = 1;
      hull(from_, topo_, i, lo.data(), hi.data());
      for (size_t v = 0; v < k_; ++v) {
        if (!walked_[v]) continue;
        // The number of values of an axis is linear in its parent's value, so the greatest number is at one end.
        const Axis& a = from_.pattern[v];
        int64_t most = from_.width[v][i];
        if (a.parent >= 0) most += std::max((a.q - a.p) * lo[a.parent], (a.q - a.p) * hi[a.parent]);
        n *= static_cast<double>(most) + 1;
      }
      total += n;
    }
    return total;
  }

  void rewrite(size_t i, std::vector<std::vector<int64_t>>& lo, std::vector<std::vector<int64_t>>& width) {
    for (size_t t = 0; t < k_; ++t) open(t, i);
    while (true) {
      for (size_t v = 0; v < k_; ++v) write(static_cast<int>(v), i, lo[v], width[v]);
      size_t t = k_;
      while (t > 0 && (!walked_[topo_[t - 1]] || at_[topo_[t - 1]] == end_[topo_[t - 1]])) --t;
      if (t == 0) return;
      ++at_[topo_[t - 1]];
      for (; t < k_; ++t) open(t, i);
    }
  }

 private:
  void open(size_t t, size_t i) {
    const int v = topo_[t];
    if (!walked_[v]) return;
    const Axis& a = from_.pattern[v];
    const int64_t x = a.parent < 0 ? 0 : at_[a.parent];
    at_[v] = from_.lo[v][i] + a.p * x;
    end_[v] = from_.hi(v, i) + a.q * x;
  }

  void write(int v, size_t i, std::vector<int64_t>& lo, std::vector<int64_t>& width) const {
    const Axis& a = from_.pattern[v];
    int64_t low = from_.lo[v][i], high = from_.hi(v, i);
    const bool kept = a == to_[v] && !walked_[v] && (a.parent < 0 || !walked_[a.parent]);
    if (!kept) {
      if (walked_[v]) {
        low = high = at_[v];
      } else if (a.parent >= 0) {
        low += a.p * at_[a.parent];
        high += a.q * at_[a.parent];
      }
      const Axis& b = to_[v];
      if (b.parent >= 0) {
        low -= b.p * at_[b.parent];
        high -= b.q * at_[b.parent];
      }
    }
    lo.push_back(low);
    width.push_back(high - low);
  }

  const Part& from_;
  const Pattern& to_;
  const size_t k_;
  const std::vector<int> topo_;
  std::vector<char> walked_;
  std::vector<int64_t> at_, end_;
};

using Columns = std::vector<std::vector<int64_t>>;

// Sorts rows by their first tuples; from `sorted` on they are expected to be in order already.
void sort_rows(const Pattern& pattern, Columns& lo, Columns& width, size_t sorted, const std::vector<int>& order) {
  const size_t k = lo.size(), n = lo[0].size();
  Columns first(k, std::vector<int64_t>(n));
  for (int v : topological(pattern)) {
    const Axis& a = pattern[v];
    for (size_t i = 0; i < n; ++i) first[v][i] = lo[v][i] + (a.parent < 0 ? 0 : a.p * first[a.parent][i]);
  }
  std::vector<size_t> by(n);
  std::iota(by.begin(), by.end(), size_t{0});
  const auto before = [&](size_t i, size_t j) {
    for (int v : order) {
      if (first[v][i] != first[v][j]) return first[v][i] < first[v][j];
    }
    return false;
  };
  const auto middle = by.begin() + static_cast<std::ptrdiff_t>(sorted);
  std::stable_sort(by.begin(), middle, before);
  if (!std::is_sorted(middle, by.end(), before)) std::stable_sort(middle, by.end(), before);
  std::inplace_merge(by.begin(), middle, by.end(), before);
  std::vector<int64_t> moved(n);
  for (auto* columns : {&lo, &width}) {
    for (std::vector<int64_t>& column : *columns) {
      for (size_t i = 0; i < n; ++i) moved[i] = column[by[i]];
      column.swap(moved);
    }
  }
}

// Rewriting can split a run: rows that continue where the one before ends are joined.
void join_rows(const Pattern& pattern, Columns& lo, Columns& width) {
  const size_t k = lo.size(), n = lo[0].size();
  size_t last = 0;
  for (size_t i = 1; i < n; ++i) {
    int moved = -1, differ = 0;
    for (size_t v = 0; v < k && differ < 2; ++v) {
      if (lo[v][i] != lo[v][last] || width[v][i] != width[v][last]) {
        ++differ;
        moved = static_cast<int>(v);
      }
    }
    if (differ == 1 && pattern[moved].parent < 0 && lo[moved][i] == lo[moved][last] + width[moved][last] + 1) {
      width[moved][last] += width[moved][i] + 1;
      continue;
    }
    if (++last == i) continue;
    for (size_t v = 0; v < k; ++v) {
      lo[v][last] = lo[v][i];
      width[v][last] = width[v][i];
    }
  }
  for (size_t v = 0; v < k; ++v) {
    lo[v].resize(last + 1);
    width[v].resize(last + 1);
  }
}

}  // namespace

std::vector<Part> gather(std::vector<Part> parts, const std::vector<int>& order) {
  size_t rows = 0, most = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    rows += parts[i].rows;
    if (parts[i].rows > parts[most].rows) most = i;
  }
  if (rows <= kFewRows || parts.size() < 2) return parts;
  Part& main = parts[most];
  const size_t k = main.pattern.size();
  Columns lo(k), width(k);
  std::vector<Part> kept(1);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == most) continue;
    Rewriter rewriter(parts[i], main.pattern);
    if (rewriter.cost() > kThin * static_cast<double>(parts[i].rows)) {
      kept.push_back(std::move(parts[i]));
      continue;
    }
    for (size_t r = 0; r < parts[i].rows; ++r) rewriter.rewrite(r, lo, width);
  }
  const size_t rewritten = lo[0].size();
  if (rewritten > 0) {
    // A few rows become a separate part, so that all the others need not be moved.
    const bool apart = rewritten * kFew < main.rows;
    if (!apart) {
      for (size_t v = 0; v < k; ++v) {
        lo[v].reserve(rewritten + main.rows);
        width[v].reserve(rewritten + main.rows);
        for (size_t r = 0; r < main.rows; ++r) {
          lo[v].push_back(main.lo[v][r]);
          width[v].push_back(main.width[v][r]);
        }
      }
    }
    sort_rows(main.pattern, lo, width, rewritten, order);
    join_rows(main.pattern, lo, width);
    Part joined;
    joined.pattern = main.pattern;
    joined.rows = lo[0].size();
    for (size_t v = 0; v < k; ++v) {
      joined.lo.emplace_back(std::move(lo[v]));
      joined.width.emplace_back(std::move(width[v]));
    }
    if (apart) {
      kept.push_back(std::move(joined));
    } else {
      main = std::move(joined);
    }
  }
  kept[0] = std::move(main);
  return kept;
}

}  // namespace whence
