#include "graph_ancestry.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace whence::graph {

namespace {

std::vector<Index> begins_of(std::size_t n, std::span<const Index> from) {
  std::vector<Index> begin(n + 1, 0);
  for (const Index v : from) ++begin[v + 1];
  for (std::size_t v = 0; v < n; ++v) begin[v + 1] += begin[v];
  return begin;
}

template <class F>
void each(const Ancestry& g, Index v, bool backward, F&& visit) {
  for (const Rows* rows : backward ? std::array{&g.generated, &g.used, &g.derived}
                                   : std::array{&g.made, &g.readers, &g.derivatives}) {
    for (const Index w : (*rows)[v]) visit(w);
  }
}

// Sorts ancestors first, and otherwise by vertex number, so that vertices that are close in time are close in memory.
// Returns false if there is a cycle.
bool put_in_order_by_depth(Ancestry& g) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  Flags state(g.n, kNew);
  std::vector<Index> stack;
  g.order.reserve(g.n);
  for (std::size_t start = 0; start < g.n; ++start) {
    if (state[start] != kNew) continue;
    stack.push_back(static_cast<Index>(start));
    while (!stack.empty()) {
      const Index v = stack.back();
      if (state[v] == kNew) {
        state[v] = kOpen;
        bool cyclic = false;
        each(g, v, true, [&](Index w) {
          if (state[w] == kNew) stack.push_back(w);
          cyclic = cyclic || state[w] == kOpen;
        });
        if (cyclic) return false;
      } else {
        stack.pop_back();
        if (state[v] == kOpen) state[v] = kDone, g.order.push_back(v);
      }
    }
  }
  return true;
}

// Kahn's algorithm: a vertex is placed after all vertices that it came from. Vertices that are part of a cycle, or come
// from one, are left out.
void put_in_order_by_count(Ancestry& g) {
  std::vector<Index> waiting(g.n);
  g.order.clear();
  for (std::size_t v = 0; v < g.n; ++v) {
    waiting[v] = static_cast<Index>(g.generated[v].size() + g.used[v].size() + g.derived[v].size());
    if (waiting[v] == 0) g.order.push_back(static_cast<Index>(v));
  }
  for (std::size_t i = 0; i < g.order.size(); ++i) {
    each(g, g.order[i], false, [&](Index w) {
      if (--waiting[w] == 0) g.order.push_back(w);
    });
  }
}

void put_in_order(Ancestry& g) {
  if (!put_in_order_by_depth(g)) put_in_order_by_count(g);
  g.rank.assign(g.n, -1);
  for (std::size_t i = 0; i < g.order.size(); ++i) g.rank[g.order[i]] = static_cast<Index>(i);
}

void measure(Ancestry& g) {
  g.height.assign(g.n, 0);
  for (const Index v : g.order) {
    Index best = 0;
    for (const Index e : g.used[v]) best = std::max(best, g.height[e] + 1);
    for (const Index a : g.generated[v]) best = std::max(best, g.height[a]);
    g.height[v] = best;
  }
}

}  // namespace

Rows rows_of(std::size_t n, std::span<const Index> from, std::span<const Index> to) {
  Rows rows{begins_of(n, from), std::vector<Index>(to.size())};
  std::vector<Index> next(rows.begin.begin(), rows.begin.end() - 1);
  for (std::size_t i = 0; i < from.size(); ++i) rows.to[next[from[i]]++] = to[i];
  return rows;
}

std::vector<Index> places_of(std::size_t n, std::span<const Index> from) {
  std::vector<Index> next = begins_of(n, from), places(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) places[next[from[i]]++] = static_cast<Index>(i);
  return places;
}

Ancestry::Ancestry(std::size_t count, Pairs g, Pairs u, Pairs d)
    : n(count),
      generated(rows_of(n, g.from, g.to)),
      used(rows_of(n, u.from, u.to)),
      derived(rows_of(n, d.from, d.to)),
      made(rows_of(n, g.to, g.from)),
      readers(rows_of(n, u.to, u.from)),
      derivatives(rows_of(n, d.to, d.from)) {
  put_in_order(*this);
  measure(*this);
}

Flags Ancestry::reach(std::span<const Index> starts, bool backward) const {
  Flags seen(n, 0);
  std::vector<Index> stack;
  const auto meet = [&](Index v) {
    if (!seen[v]) seen[v] = 1, stack.push_back(v);
  };
  for (const Index v : starts) meet(v);
  while (!stack.empty()) {
    const Index v = stack.back();
    stack.pop_back();
    each(*this, v, backward, meet);
  }
  return seen;
}

std::vector<Index> Ancestry::shortest(std::span<const Index> starts, bool backward) const {
  std::vector<Index> before(n, -1), queue;
  for (const Index v : starts) {
    if (before[v] < 0) before[v] = v, queue.push_back(v);
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Index v = queue[i];
    each(*this, v, backward, [&](Index w) {
      if (before[w] < 0) before[w] = v, queue.push_back(w);
    });
  }
  return before;
}

std::vector<std::vector<Index>> generated_alike(const Ancestry& g, std::span<const Index> entities) {
  std::vector<Index> sorted(entities.begin(), entities.end());
  std::ranges::sort(sorted, std::greater{}, [&](Index v) { return g.rank[v]; });
  std::vector<std::vector<Index>> groups;
  std::map<std::vector<Index>, std::size_t> known;
  for (const Index v : sorted) {
    std::vector<Index> makers(g.generated[v].begin(), g.generated[v].end());
    if (makers.empty()) continue;
    std::ranges::sort(makers);
    const auto [place, fresh] = known.try_emplace(std::move(makers), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(v);
  }
  return groups;
}

}  // namespace whence::graph
