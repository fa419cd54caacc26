// Whether rows share a tuple. Rows that were folded from sorted tuples mostly follow each other along the axes, which a
// comparison of neighbours shows. If rows do not follow each other even when sorted, the pairs whose bounds overlap are
// compared.
#include <algorithm>
#include <numeric>

#include "kernels/apart.hpp"
#include "kernels/pairs.hpp"
#include "kernels/validate.hpp"

namespace whence {
namespace {

__extension__ using Signed = __int128;

constexpr size_t kMostRows = size_t{1} << 26;         // that are sorted
constexpr size_t kMostBounds = size_t{1} << 26;       // in memory at a time
constexpr size_t kMostComparisons = size_t{1} << 30;  // of the bounds of rows
constexpr size_t kMostPairs = size_t{1} << 24;        // of rows that are compared
constexpr size_t kMostInequalities = size_t{1} << 26; // for pairs whose parents do not form one forest
constexpr size_t kSetUp = 1 << 10;                     // comparisons that take as long as preparing two parts

// Returns the given order of axes, but each after its parent.
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

// Whether axis v of row j is completely after that of row i, for each value of a parent that has the same values in
// both.
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

// Rows in some order: the stored one, or sorted.
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

  // Whether, of any two neighbours, the second is completely after the first on the first axis on which they differ.
  // Then the same is true of any two rows, and none share a tuple.
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

  // The same for rows whose columns are all stepped: if it is true of the first two and of the last two, it is true of
  // all.
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

// A linear form by which boxes are compared: axis v, minus s times axis u if there is a u. Rows along a diagonal all
// have the same bounds on each axis, but not on the difference of the two.
struct Form {
  int v, u;
  int64_t s;
  bool operator==(const Form&) const = default;
};

std::vector<Form> forms_of(const Part& a, const Part& b) {
  std::vector<Form> out;
  for (int v = 0; v < static_cast<int>(a.pattern.size()); ++v) out.push_back({v, -1, 0});
  for (const Part* part : {&a, &b}) {
    for (int v = 0; v < static_cast<int>(part->pattern.size()); ++v) {
      const Axis& axis = part->pattern[v];
      for (const int64_t s : {axis.p, axis.q}) {
        const Form form{v, axis.parent, s};
        if (axis.parent >= 0 && s != 0 && std::find(out.begin(), out.end(), form) == out.end()) out.push_back(form);
      }
    }
  }
  return out;
}

struct Range {
  Signed lo, hi;
};

Range scaled(Signed s, Range x) { return s >= 0 ? Range{s * x.lo, s * x.hi} : Range{s * x.hi, s * x.lo}; }

// Computes the least and the greatest value of a form in row i, whose axes are bounded by [lo, hi], using one edge.
void bound(const Part& part, size_t i, const Form& form, const int64_t* lo, const int64_t* hi, Range out[3]) {
  const Range v{lo[form.v], hi[form.v]};
  out[0] = v;
  out[1] = out[2] = {kMin, kMax};
  if (form.u < 0) return;
  const Range u{lo[form.u], hi[form.u]}, far = scaled(-Signed{form.s}, u);
  out[0] = {v.lo + far.lo, v.hi + far.hi};
  const Axis &child = part.pattern[form.v], &parent = part.pattern[form.u];
  if (child.parent == form.u) {  // v is between its lo + p * u and its hi + q * u
    const Signed first = part.lo[form.v][i];
    const Range below = scaled(Signed{child.p} - form.s, u), above = scaled(Signed{child.q} - form.s, u);
    out[1] = {first + below.lo, first + part.width[form.v][i] + above.hi};
  }
  constexpr int64_t steep = int64_t{1} << 30;  // products of two of them and an index fit into 128 bits
  const bool gentle = std::max({form.s, -form.s, parent.p, -parent.p, parent.q, -parent.q}) <= steep;
  if (parent.parent == form.v && gentle) {  // u is between its lo + p * v and its hi + q * v
    const Signed s = form.s, first = part.lo[form.u][i], last = first + part.width[form.u][i];
    const Signed near = s > 0 ? last : first, other = s > 0 ? first : last;
    const Range below = scaled(1 - s * (s > 0 ? parent.q : parent.p), v);
    const Range above = scaled(1 - s * (s > 0 ? parent.p : parent.q), v);
    out[2] = {below.lo - s * near, above.hi - s * other};
  }
}

// Returns the bounds of the forms in each row; for an evenly stepped part, of all rows together as one box.
Boxed boxed(const Part& part, const std::vector<Form>& forms) {
  const size_t k = part.pattern.size();
  const bool all = part.stepped();
  Boxed out{all ? 1 : part.rows, static_cast<int>(forms.size()), {}, {}};
  out.lo.resize(out.size * forms.size());
  out.hi.resize(out.size * forms.size());
  const std::vector<int> topo = topological(part.pattern);
  std::vector<int64_t> lo(2 * k), hi(2 * k);
  for (size_t i = 0; i < out.size; ++i) {
    // The bounds of a form are linear or convex in the row's number, so the bounds at both ends hold for all rows.
    const size_t last = all ? part.rows - 1 : i;
    hull(part, topo, i, lo.data(), hi.data());
    hull(part, topo, last, lo.data() + k, hi.data() + k);
    for (size_t f = 0; f < forms.size(); ++f) {
      Range first[3], second[3], whole{kMin, kMax};
      bound(part, i, forms[f], lo.data(), hi.data(), first);
      bound(part, last, forms[f], lo.data() + k, hi.data() + k, second);
      for (size_t e = 0; e < 3; ++e) {
        whole.lo = std::max(whole.lo, std::min(first[e].lo, second[e].lo));
        whole.hi = std::min(whole.hi, std::max(first[e].hi, second[e].hi));
      }
      out.lo[f * out.size + i] = static_cast<int64_t>(std::min(whole.lo, Signed{kMax}));
      out.hi[f * out.size + i] = static_cast<int64_t>(std::max(whole.hi, Signed{kMin}));
    }
  }
  return out;
}

// The total cost that comparing the rows of a relation may have.
struct Effort {
  size_t boxes = kMostComparisons;
  size_t rows = kMostPairs;
  size_t inequalities = kMostInequalities;
};

// Compares each row of one part with those of another, or of the same, whose bounds overlap its own.
Disjoint compared(const Part& some, const Part& others, Effort& effort) {
  const bool same = &some == &others;
  const std::vector<Form> forms = forms_of(some, others);
  const bool all = some.stepped(), all_others = others.stepped();
  const size_t items = (all ? 1 : some.rows) + (all_others ? 1 : others.rows);
  if (items * forms.size() > kMostBounds || effort.boxes < kSetUp) return Disjoint::unknown;
  effort.boxes -= kSetUp;
  if (same && all) return apart({some, 0, true}, {some, 0, true}, effort.inequalities);
  const Boxed boxes = boxed(some, forms);
  const Boxed other_boxes = same ? Boxed{} : boxed(others, forms);
  Disjoint found = Disjoint::yes;
  const bool complete = Pairs(boxes, same ? boxes : other_boxes, effort.boxes).each([&](size_t i, size_t j) {
    if (effort.rows-- == 0) {
      effort.rows = 0;
      found = Disjoint::unknown;
      return false;
    }
    const Disjoint each = apart({some, i, all && some.rows > 1}, {others, j, all_others && others.rows > 1}, effort.inequalities);
    if (each != Disjoint::yes) found = each;
    return each != Disjoint::no;
  });
  return complete || found == Disjoint::no ? found : Disjoint::unknown;
}

// Returns the smallest box around all rows of a part.
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
  Effort effort;
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
        return Disjoint::no;  // the same row repeated
      }
      if (!in_some_order(part, outs) && take(compared(part, part, effort))) return all;
    }
    boxes.push_back(around(part));
    for (size_t j = 0; j < i; ++j) {
      if (effort.boxes == 0) return Disjoint::unknown;
      --effort.boxes;
      if (!meet(boxes[i], boxes[j])) continue;
      if (take(compared(parts[j], part, effort))) return all;
    }
  }
  return all;
}

}  // namespace whence
