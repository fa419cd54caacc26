#include "graph_cflr.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "values.hpp"  // TooLarge

namespace whence::graph {

namespace {

// A set of pairs: one bit for each.
class PairSet {
 public:
  PairSet(std::size_t rows, std::size_t columns) : columns_(columns), words_((rows * columns + 63) / 64, 0) {}

  bool has(std::size_t r, std::size_t c) const {
    const std::size_t i = r * columns_ + c;
    return words_[i / 64] >> (i % 64) & 1;
  }

  bool add(std::size_t r, std::size_t c) {  // false if it was there
    const std::size_t i = r * columns_ + c;
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    if (words_[i / 64] & bit) return false;
    words_[i / 64] |= bit;
    return true;
  }

 private:
  std::size_t columns_;
  std::vector<std::uint64_t> words_;
};

// Entities and activities, each numbered separately; the parts of the graph that the grammar uses.
struct Sides {
  std::vector<Index> number;
  std::vector<Index> entities, activities;

  explicit Sides(const Ancestry& g) : number(g.n, 0) {
    for (std::size_t v = 0; v < g.n; ++v) {
      auto& own = g.made[v].empty() && g.used[v].empty() ? entities : activities;
      number[v] = static_cast<Index>(own.size());
      own.push_back(static_cast<Index>(v));
    }
  }
};

struct Fact {
  Index left, right;
};

void refuse(const char* name, std::int64_t bytes) {
  throw TooLarge(std::string(name) + " needs more than " + std::to_string(bytes >> 20) +
                 " MB for this graph: its memory grows with the square of the number of vertices");
}

// Starts from the facts about entities that begin at a source, and goes back over all facts that they can be derived
// from: their vertices are on an accepted path.
template <class Entities, class Activities>
void mark_derivations(const Ancestry& g, const Sides& sides, std::span<const Index> sources, const Entities& entities,
                      const Activities& activities, Flags& marked) {
  const std::size_t e = sides.entities.size(), a = sides.activities.size();
  PairSet seen_e(e, e), seen_a(a, a);
  std::vector<Fact> stack;  // of vertices
  const auto meet = [&](Index u, Index v, bool activity) {
    auto& seen = activity ? seen_a : seen_e;
    if (!seen.add(sides.number[u], sides.number[v])) return;
    marked[u] = marked[v] = 1;
    stack.push_back({u, v});
  };
  for (const Index s : sources) {
    if (g.readers[s].empty()) continue;
    for (const Index other : sides.entities) {
      if (!entities(s, other)) continue;
      for (const Index p : g.readers[s]) {
        for (const Index q : g.readers[other]) {
          if (activities(p, q)) marked[s] = marked[other] = 1, meet(p, q, true);
        }
      }
    }
  }
  while (!stack.empty()) {
    const auto [u, v] = stack.back();
    stack.pop_back();
    const bool activity = !(g.made[u].empty() && g.used[u].empty());
    const auto before_u = activity ? g.made[u] : g.readers[u], before_v = activity ? g.made[v] : g.readers[v];
    for (const Index p : before_u) {
      for (const Index q : before_v) {
        if (activity ? entities(p, q) : activities(p, q)) meet(p, q, !activity);
      }
    }
  }
}

// The normal form of SimProv (Fig. 6). A fact N(u, v) means that there is a path from u to v whose word N produces.
enum Symbol : std::uint8_t { QD, LG, RG, LA, RA, LU, RU, LE, RE };

}  // namespace

std::int64_t mark_by_cflrb(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                           std::int64_t bytes, Flags& marked) {
  const Sides sides(g);
  const std::size_t e = sides.entities.size(), a = sides.activities.size();
  const double bits = 5.0 * e * e + 2.0 * e * a + 4.0 * a * a;  // including those of mark_derivations
  if (bits / 8 > static_cast<double>(bytes)) refuse("CflrB", bytes);

  struct Item {
    Index u, v;
    Symbol n;
  };
  std::array<PairSet, 9> known{PairSet(e, e), PairSet(a, e), PairSet(a, a), PairSet(a, a), PairSet(a, a),
                               PairSet(e, a), PairSet(e, e), PairSet(e, e), PairSet(e, e)};
  std::vector<Item> work;
  std::int64_t facts = 0;
  const auto found = [&](Symbol n, Index u, Index v) {
    if (!known[n].add(sides.number[u], sides.number[v])) return;
    ++facts;
    work.push_back({u, v, n});
    if (static_cast<std::int64_t>(work.size() * sizeof(Item) + static_cast<std::size_t>(bits / 8)) > bytes) {
      refuse("CflrB", bytes);
    }
  };
  for (const Index d : destinations) found(QD, d, d);
  while (!work.empty()) {
    const auto [u, v, n] = work.back();
    work.pop_back();
    switch (n) {
      case QD:
      case RE:
        for (const Index x : g.generated[u]) found(LG, x, v);
        break;
      case LG:
        for (const Index x : g.generated[v]) found(RG, u, x);
        break;
      case RG: found(LA, u, v); break;
      case LA: found(RA, u, v); break;
      case RA:
        for (const Index x : g.used[u]) found(LU, x, v);
        break;
      case LU:
        for (const Index x : g.used[v]) found(RU, u, x);
        break;
      case RU: found(LE, u, v); break;
      case LE: found(RE, u, v); break;
    }
  }
  mark_derivations(
      g, sides, sources,
      [&](Index u, Index v) {
        return known[RE].has(sides.number[u], sides.number[v]) || known[QD].has(sides.number[u], sides.number[v]);
      },
      [&](Index u, Index v) { return known[RA].has(sides.number[u], sides.number[v]); }, marked);
  return facts;
}

std::int64_t mark_by_pairs(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                           bool stop_early, std::int64_t bytes, Flags& marked) {
  const Sides sides(g);
  const std::size_t e = sides.entities.size(), a = sides.activities.size();
  const double bits = 2.0 * e * e + 2.0 * a * a;
  if (bits / 8 > static_cast<double>(bytes)) refuse("SimProvAlg", bytes);
  PairSet ee(e, e), aa(a, a);
  std::vector<Fact> work;
  std::int64_t facts = 0;
  // Both kinds of facts are symmetric, so only one of (u, v) and (v, u) is stored.
  const auto found = [&](PairSet& set, Index u, Index v) {
    if (sides.number[u] > sides.number[v]) std::swap(u, v);
    if (!set.add(sides.number[u], sides.number[v])) return;
    ++facts;
    work.push_back({u, v});
    if (static_cast<std::int64_t>(work.size() * sizeof(Fact) + static_cast<std::size_t>(bits / 8)) > bytes) {
      refuse("SimProvAlg", bytes);
    }
  };
  Index oldest = static_cast<Index>(g.n);
  for (const Index s : sources) oldest = std::min(oldest, g.rank[s]);
  for (const Index d : destinations) found(ee, d, d);
  while (!work.empty()) {
    const auto [u, v] = work.back();
    work.pop_back();
    const bool activity = !(g.made[u].empty() && g.used[u].empty());
    // Once both are older than all sources, nothing further back can reach a source.
    if (stop_early && g.rank[u] < oldest && g.rank[v] < oldest) continue;
    const auto next_u = activity ? g.used[u] : g.generated[u], next_v = activity ? g.used[v] : g.generated[v];
    for (const Index x : next_u) {
      for (const Index y : next_v) found(activity ? ee : aa, x, y);
    }
  }
  const auto either = [&](const PairSet& set, Index u, Index v) {
    const auto [lo, hi] = std::minmax(sides.number[u], sides.number[v]);
    return set.has(lo, hi);
  };
  mark_derivations(
      g, sides, sources, [&](Index u, Index v) { return either(ee, u, v); },
      [&](Index u, Index v) { return either(aa, u, v); }, marked);
  return facts;
}

}  // namespace whence::graph
