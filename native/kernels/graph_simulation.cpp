#include "graph_simulation.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

namespace whence::graph {

namespace {

struct Step {
  Index edge, to;
  auto operator<=>(const Step&) const = default;
};

}  // namespace

Labelled::Labelled(std::span<const Index> labels, Pairs edges, std::span<const Index> edge_label)
    : label(labels), rows(rows_of(labels.size(), edges.from, edges.to)) {
  const std::vector<Index> places = places_of(label.size(), edges.from);
  edge.reserve(places.size());
  for (const Index i : places) edge.push_back(edge_label[i]);
  const Rows back = rows_of(label.size(), edges.to, edges.from);
  std::vector<Index> waiting(label.size());
  for (std::size_t v = 0; v < label.size(); ++v) {
    waiting[v] = static_cast<Index>(rows[v].size());
    if (!waiting[v]) order.push_back(static_cast<Index>(v));
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const Index w : back[order[i]]) {
      if (--waiting[w] == 0) order.push_back(w);
    }
  }
}

std::vector<Index> bisimulation(const Labelled& g) {
  std::vector<Index> classes(g.size(), -1);
  std::map<std::pair<Index, std::vector<Step>>, Index> known;
  for (const Index v : g.order) {
    std::vector<Step> steps;
    for (Index k = g.rows.begin[v]; k < g.rows.begin[v + 1]; ++k) {
      steps.push_back({g.edge[k], classes[g.rows.to[k]]});
    }
    std::ranges::sort(steps);
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    classes[v] = known.try_emplace({g.label[v], std::move(steps)}, static_cast<Index>(known.size())).first->second;
  }
  return classes;
}

// On an acyclic graph one pass suffices: when the neighbours of u are final, the vertices above u are those reached,
// against the edges, from the vertices above each neighbour. For a cyclic graph, passes are repeated until nothing
// changes.
Preorder::Preorder(const Labelled& g) : block_(g.size()), place_(g.size()), at_(g.size()), row_(g.size()) {
  const std::size_t n = g.size();
  std::vector<Index> labels(g.label.begin(), g.label.end());
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  for (std::size_t v = 0; v < n; ++v) {
    block_[v] = static_cast<Index>(std::ranges::lower_bound(labels, g.label[v]) - labels.begin());
  }
  std::iota(at_.begin(), at_.end(), 0);
  std::ranges::stable_sort(at_, {}, [&](Index v) { return block_[v]; });
  first_.assign(labels.size() + 1, static_cast<Index>(n));
  for (std::size_t i = n; i-- > 0;) place_[at_[i]] = static_cast<Index>(i), first_[block_[at_[i]]] = static_cast<Index>(i);
  std::size_t total = 0;
  for (std::size_t v = 0; v < n; ++v) row_[v] = total, total += words(block_[v]);
  bits_.assign(total, 0);
  for (std::size_t v = 0; v < n; ++v) {
    const Index size = first_[block_[v] + 1] - first_[block_[v]];
    for (Index i = 0; i < size; ++i) row(static_cast<Index>(v))[i / 64] |= std::uint64_t{1} << (i % 64);
  }

  // Reversed edges: from a neighbour to the vertices that it is a neighbour of, with the edge's label.
  std::vector<Index> from, to;
  for (std::size_t v = 0; v < n; ++v) {
    for (Index k = g.rows.begin[v]; k < g.rows.begin[v + 1]; ++k) {
      from.push_back(g.rows.to[k]), to.push_back(static_cast<Index>(v));
    }
  }
  const Rows back = rows_of(n, from, to);
  const std::vector<Index> places = places_of(n, from);
  const auto edge_back = [&](Index slot) { return g.edge[places[slot]]; };

  std::vector<Index> sequence = g.order;
  if (sequence.size() < n) {
    std::vector<bool> there(n, false);
    for (const Index v : sequence) there[v] = true;
    for (std::size_t v = 0; v < n; ++v) {
      if (!there[v]) sequence.push_back(static_cast<Index>(v));
    }
  }
  const bool acyclic = g.order.size() == n;
  std::vector<std::vector<std::uint64_t>> reached(labels.size());
  std::vector<Index> edges, blocks;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Index p : sequence) {
      edges.clear();
      for (Index k = back.begin[p]; k < back.begin[p + 1]; ++k) edges.push_back(edge_back(k));
      std::ranges::sort(edges);
      edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
      for (const Index edge : edges) {
        blocks.clear();
        for (Index k = back.begin[p]; k < back.begin[p + 1]; ++k) {
          if (edge_back(k) == edge) blocks.push_back(block_[back.to[k]]);
        }
        std::ranges::sort(blocks);
        blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
        for (const Index b : blocks) reached[b].assign(words(b), 0);
        const std::uint64_t* own = row(p);
        for (std::size_t w = 0; w < words(block_[p]); ++w) {
          for (std::uint64_t rest = own[w]; rest; rest &= rest - 1) {
            const Index q = at_[first_[block_[p]] + static_cast<Index>(64 * w) + std::countr_zero(rest)];
            for (Index k = back.begin[q]; k < back.begin[q + 1]; ++k) {
              const Index u = back.to[k], b = block_[u];
              if (edge_back(k) != edge || reached[b].empty()) continue;
              const auto i = static_cast<std::size_t>(place_[u] - first_[b]);
              reached[b][i / 64] |= std::uint64_t{1} << (i % 64);
            }
          }
        }
        for (Index k = back.begin[p]; k < back.begin[p + 1]; ++k) {
          if (edge_back(k) != edge) continue;
          const Index u = back.to[k];
          std::uint64_t* target = row(u);
          const auto& allowed = reached[block_[u]];
          for (std::size_t w = 0; w < allowed.size(); ++w) {
            const std::uint64_t now = target[w] & allowed[w];
            changed = changed || now != target[w];
            target[w] = now;
          }
        }
        for (const Index b : blocks) reached[b].clear();
      }
    }
    if (acyclic) break;
  }
}

std::vector<Index> Preorder::classes() const {
  std::vector<Index> found(size(), -1);
  Index count = 0;
  for (std::size_t v = 0; v < size(); ++v) {
    if (found[v] >= 0) continue;
    const Index u = static_cast<Index>(v);
    for (std::size_t w = 0; w < words(block_[v]); ++w) {
      for (std::uint64_t rest = row(u)[w]; rest; rest &= rest - 1) {
        const Index q = at_[first_[block_[v]] + static_cast<Index>(64 * w) + std::countr_zero(rest)];
        if (found[q] < 0 && below(q, u)) found[q] = count;
      }
    }
    ++count;
  }
  return found;
}

std::vector<Index> Preorder::above_in_both(const Preorder& a, const Preorder& b) {
  std::vector<Index> found(a.size(), -1);
  for (std::size_t v = 0; v < a.size(); ++v) {
    const Index u = static_cast<Index>(v);
    for (std::size_t w = 0; w < a.words(a.block_[v]); ++w) {
      for (std::uint64_t rest = a.row(u)[w] & b.row(u)[w]; rest; rest &= rest - 1) {
        const Index q = a.at_[a.first_[a.block_[v]] + static_cast<Index>(64 * w) + std::countr_zero(rest)];
        if (q == u) continue;
        // Go up while there is something above the vertex that was found.
        if (found[v] < 0 || (a.below(found[v], q) && b.below(found[v], q))) found[v] = q;
      }
    }
  }
  return found;
}

}  // namespace whence::graph
