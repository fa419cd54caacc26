// SimProvTst, made exact. All that matters about a vertex v is the set D(v) of the lengths of its paths from the
// destination d, counted in activities. If L is the set of lengths at which d reaches a source, and h(v) is how far
// back one can go from v, then v is on a similar path exactly if t <= m <= t + h(v) for some length t in D(v) and some
// m in L: any path back can be cut short, so only its greatest length counts.
//
// (The paper puts vertices of one length into a class and visits each edge once. But a vertex can have many lengths,
// and classes that share one must not be joined: having the same length is not a transitive relation between vertices.)
//
// D(v) is stored as sorted intervals. In provenance graphs they are few: between the shortest and the longest path
// there are paths of nearly every length. If they are many, 512 levels at a time are swept over the graph as bits,
// which needs memory proportional to the number of vertices for any graph.
#include "graph_similar.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <optional>

namespace whence::graph {

namespace {

struct Run {
  Index lo, hi;
};
using Lengths = std::vector<Run>;

constexpr Index kUnbounded = std::numeric_limits<Index>::max() / 2;

// Joins intervals that overlap or touch, in place; lengths above `most` are removed.
void tidy(Lengths& runs, std::size_t first, Index most) {
  const auto begin = runs.begin() + static_cast<std::ptrdiff_t>(first);
  if (!std::is_sorted(begin, runs.end(), [](Run a, Run b) { return a.lo < b.lo; })) {
    std::sort(begin, runs.end(), [](Run a, Run b) { return a.lo < b.lo; });
  }
  std::size_t kept = first;
  for (std::size_t i = first; i < runs.size(); ++i) {
    const Run r = runs[i];
    if (r.lo > most) break;
    if (kept > first && r.lo <= runs[kept - 1].hi + 1) {
      runs[kept - 1].hi = std::max(runs[kept - 1].hi, std::min(r.hi, most));
    } else {
      runs[kept++] = {r.lo, std::min(r.hi, most)};
    }
  }
  runs.resize(kept);
}

// Whether t + ahead <= m <= t + far for some t of `lengths` and some m of `goals`.
bool meets(std::span<const Run> lengths, const Lengths& goals, Index ahead, Index far) {
  if (far < ahead) return false;
  for (const Run r : lengths) {
    const Index lo = r.lo + ahead;
    const auto goal = std::partition_point(goals.begin(), goals.end(), [&](Run g) { return g.hi < lo; });
    if (goal != goals.end() && goal->lo <= r.hi + far) return true;
  }
  return false;
}

class Search {
 public:
  Search(const Ancestry& g, std::span<const Index> sources, std::int64_t budget, Flags& marked)
      : g_(g), budget_(budget), marked_(marked), source_(g.n, 0), below_(g.n, 0), closed_(g.n, 0), met_(g.n, 0),
        begin_(g.n, 0), end_(g.n, 0) {
    oldest_ = static_cast<Index>(g.n);
    for (const Index s : sources) source_[s] = 1, oldest_ = std::min(oldest_, g.rank[s]);
    // Vertices that came from a source, by used and generated alone; nothing older than the oldest source did.
    for (std::size_t i = oldest_; i < g.n; ++i) {
      const Index v = g.order[i];
      const auto known = [&](Index w) { return below_[w] != 0; };
      below_[v] = source_[v] || std::ranges::any_of(g.used[v], known) || std::ranges::any_of(g.generated[v], known);
    }
    close();
  }

  // Whether there is a path from d to a source.
  bool from(Index d) {
    const auto makers = g_.generated[d];
    if (std::ranges::none_of(makers, [&](Index a) { return below_[a] != 0; })) return false;
    marked_[d] = 1;
    if (std::ranges::all_of(makers, [&](Index a) { return closed_[a] != 0; })) return true;
    Lengths goals;
    bool few = walk(d, kUnbounded, below_, oldest_, [&](Index v, std::span<const Run> lengths) {
      if (source_[v] && v != d) goals.insert(goals.end(), lengths.begin(), lengths.end());
      return true;
    });
    if (few) {
      tidy(goals, 0, kUnbounded);
    } else {
      goals = sweep_goals(d);
    }
    if (goals.empty()) return false;
    for (const Run r : goals) told_.levels += r.hi - r.lo + 1;
    const Index most = goals.back().hi;
    few = few && walk(d, most, {}, 0, [&](Index v, std::span<const Run> lengths) {
      if (!marked_[v]) marked_[v] = meets(lengths, goals, ahead(v), g_.height[v]);
      return !closed_[v];
    });
    if (!few) {
      ++told_.swept;
      sweep_marks(d, goals);
    }
    if (std::has_single_bit(++done_)) close();
    return true;
  }

  const Similar& told() const { return told_; }

 private:
  // An activity is half a step: its path continues to an entity that it used.
  Index ahead(Index v) const { return g_.made[v].empty() ? 0 : 1; }

  // A vertex is closed if it and all its ancestors are in the answer, so that a later walk need not visit it again.
  void close() {
    for (const Index v : g_.order) {
      const auto known = [&](Index w) { return closed_[w] != 0; };
      closed_[v] = marked_[v] && std::ranges::all_of(g_.used[v], known) && std::ranges::all_of(g_.generated[v], known);
    }
  }

  // Visits the ancestors of d (those that are `within`, if it is given, and no older than `oldest`), youngest first,
  // each with its lengths up to `most`; the visitor returns whether to go on from there. Returns false if there were
  // too many intervals: then only the marks are valid.
  template <class Visit>
  bool walk(Index d, Index most, std::optional<std::reference_wrapper<const Flags>> within, Index oldest, Visit visit) {
    runs_.clear();
    met_[d] = 1;
    std::int64_t open = 1;
    bool few = true;
    for (Index i = g_.rank[d]; i >= oldest && open > 0; --i) {
      const Index v = g_.order[i];
      if (!met_[v]) continue;
      met_[v] = 0;
      --open;
      if (!few) continue;
      begin_[v] = runs_.size();
      if (v == d) {
        runs_.push_back({0, 0});
      } else {
        gather(g_.made[v], 0);
        gather(g_.readers[v], 1);
        tidy(runs_, begin_[v], most);
      }
      end_[v] = runs_.size();
      walked_.push_back(v);
      if (begin_[v] == end_[v]) continue;
      few = static_cast<std::int64_t>(runs_.size()) <= budget_ + 4 * static_cast<std::int64_t>(walked_.size());
      if (!visit(v, std::span(runs_).subspan(begin_[v]))) {
        end_[v] = begin_[v], runs_.resize(begin_[v]);
        continue;
      }
      const auto meet = [&](Index w) {
        if (!met_[w] && (!within || within->get()[w]) && g_.rank[w] >= oldest) met_[w] = 1, ++open;
      };
      for (const Index w : g_.generated[v]) meet(w);
      for (const Index w : g_.used[v]) meet(w);
    }
    told_.runs = std::max(told_.runs, static_cast<std::int64_t>(runs_.size()));
    for (const Index v : walked_) begin_[v] = end_[v] = 0;
    walked_.clear();
    return few;
  }

  void gather(std::span<const Index> before, Index shift) {
    for (const Index w : before) {
      for (std::size_t k = begin_[w]; k < end_[w]; ++k) {
        const Run r = runs_[k];
        runs_.push_back({r.lo + shift, r.hi + shift});
      }
    }
  }

  // --- The same in windows of levels.

  static constexpr int kWords = 8;
  static constexpr Index kWindow = 64 * kWords;
  using Bits = std::array<std::uint64_t, kWords>;

  static bool any(const Bits& b) {
    std::uint64_t all = 0;
    for (const std::uint64_t w : b) all |= w;
    return all != 0;
  }

  // Calls visit(window's first level, vertex, its levels in the window) for each window until one is empty.
  template <class Visit>
  void sweep(Index d, Index most, std::optional<std::reference_wrapper<const Flags>> within, Index oldest, Visit visit) {
    std::vector<Bits> bits(g_.n, Bits{});
    Flags carry(g_.n, 0);  // an activity's last level of the previous window
    for (Index first = 0; first <= most; first += kWindow) {
      bool some = first == 0;
      for (Index i = g_.rank[d]; i >= oldest; --i) {
        const Index v = g_.order[i];
        if (within && !within->get()[v]) continue;
        Bits own{};
        if (v == d) {
          own[0] = first == 0;
        } else {
          for (const Index e : g_.made[v]) {
            for (int k = 0; k < kWords; ++k) own[k] |= bits[e][k];
          }
          for (const Index a : g_.readers[v]) {
            std::uint64_t low = carry[a];
            for (int k = 0; k < kWords; ++k) {
              own[k] |= bits[a][k] << 1 | low;
              low = bits[a][k] >> 63;
            }
          }
        }
        bits[v] = own;
        if (any(own)) some = true, visit(first, v, own);
      }
      for (std::size_t v = 0; v < g_.n; ++v) {
        carry[v] = static_cast<std::uint8_t>(bits[v][kWords - 1] >> 63);
        some = some || carry[v];
      }
      if (!some) break;
    }
  }

  template <class F>
  static void each_level(Index first, const Bits& bits, F&& f) {
    for (int k = 0; k < kWords; ++k) {
      for (std::uint64_t w = bits[k]; w; w &= w - 1) {
        if (!f(static_cast<Index>(first + 64 * k + std::countr_zero(w)))) return;
      }
    }
  }

  Lengths sweep_goals(Index d) {
    Lengths goals;
    sweep(d, kUnbounded, below_, oldest_, [&](Index first, Index v, const Bits& bits) {
      if (!source_[v] || v == d) return;
      each_level(first, bits, [&](Index t) { return goals.push_back({t, t}), true; });
    });
    tidy(goals, 0, kUnbounded);
    return goals;
  }

  void sweep_marks(Index d, const Lengths& goals) {
    sweep(d, goals.back().hi, {}, 0, [&](Index first, Index v, const Bits& bits) {
      if (marked_[v]) return;
      each_level(first, bits, [&](Index t) {
        const Run at{t, t};
        marked_[v] = meets(std::span(&at, 1), goals, ahead(v), g_.height[v]);
        return !marked_[v];
      });
    });
  }

  const Ancestry& g_;
  const std::int64_t budget_;
  Flags& marked_;
  Flags source_, below_, closed_, met_;
  Index oldest_ = 0;
  std::uint64_t done_ = 0;
  Lengths runs_;
  std::vector<std::size_t> begin_, end_;
  std::vector<Index> walked_;
  Similar told_;
};

}  // namespace

Similar mark_similar(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                     std::int64_t budget, Flags& marked) {
  Search search(g, sources, budget, marked);
  for (const auto& group : generated_alike(g, destinations)) {
    if (!search.from(group[0])) continue;
    for (const Index d : group) marked[d] = 1;
  }
  return search.told();
}

}  // namespace whence::graph
