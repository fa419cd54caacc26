#include "graph_overlap.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace whence::graph {
namespace {

using Word = std::uint64_t;

bool is_empty(const Word* set, std::size_t words) {
  return std::all_of(set, set + words, [](Word each) { return each == 0; });
}

bool is_within(const Word* one, const Word* other, std::size_t words) {
  for (std::size_t i = 0; i < words; ++i)
    if (one[i] & ~other[i]) return false;
  return true;
}

int size_of(const Word* set, std::size_t words) {
  int found = 0;
  for (std::size_t i = 0; i < words; ++i) found += std::popcount(set[i]);
  return found;
}

// Returns the sets that contain no other: if an intersection with one of these is not empty, neither is that with a
// superset. There are few at a vertex.
std::vector<Word> smallest(const std::vector<Word>& sets, std::size_t words) {
  std::vector<std::size_t> order(sets.size() / words);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto at = [&](std::size_t i) { return sets.data() + i * words; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size_of(at(a), words) < size_of(at(b), words); });
  std::vector<Word> found;
  for (const std::size_t each : order) {
    bool is_new = true;
    for (std::size_t i = 0; is_new && i < found.size(); i += words)
      is_new = !is_within(found.data() + i, at(each), words);
    if (is_new) found.insert(found.end(), at(each), at(each) + words);
  }
  return found;
}

void add(std::vector<Word>& sets, const Word* set, std::size_t words) {
  for (std::size_t i = 0; i < sets.size(); i += words)
    if (std::equal(set, set + words, sets.data() + i)) return;
  sets.insert(sets.end(), set, set + words);
}

}  // namespace

Covered covered(std::size_t n, Pairs edges, std::span<const Word> of_vertex, std::span<const Word> of_edge,
                std::size_t words, std::int64_t& budget, std::size_t most) {
  const Rows rows = rows_of(n, edges.from, edges.to);
  const std::vector<Index> places = places_of(n, edges.from);
  std::vector<Index> waiting(n, 0), ready;
  for (const Index to : edges.to) ++waiting[to];
  for (std::size_t v = 0; v < n; ++v)
    if (!waiting[v]) ready.push_back(static_cast<Index>(v));
  std::vector<std::vector<Word>> sets(n);
  std::vector<Word> following(words);
  std::size_t done = 0;
  while (!ready.empty()) {
    const auto v = static_cast<std::size_t>(ready.back());
    ready.pop_back();
    ++done;
    if (rows.begin[v] == rows.begin[v + 1]) {  // no path continues
      sets[v] = {};
      continue;
    }
    if (sets[v].empty()) sets[v].assign(of_vertex.begin() + v * words, of_vertex.begin() + (v + 1) * words);
    const std::vector<Word> here = smallest(sets[v], words);
    sets[v] = {};
    if (here.size() / words > most) return Covered::unsure;
    for (Index place = rows.begin[v]; place < rows.begin[v + 1]; ++place) {
      budget -= static_cast<std::int64_t>(here.size() / words);
      if (budget < 0) return Covered::unsure;
      const auto older = static_cast<std::size_t>(rows.to[place]);
      const Word* const parts = of_edge.data() + static_cast<std::size_t>(places[place]) * words;
      for (std::size_t i = 0; i < here.size(); i += words) {
        for (std::size_t w = 0; w < words; ++w) following[w] = here[i + w] & parts[w];
        if (is_empty(following.data(), words)) return Covered::no;
        add(sets[older], following.data(), words);
      }
      if (!--waiting[older]) ready.push_back(static_cast<Index>(older));
    }
  }
  return done == n ? Covered::yes : Covered::no;  // less than n if the union has a cycle, which none of the parts has
}

}  // namespace whence::graph
