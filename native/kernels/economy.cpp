#include "kernels/economy.hpp"

#include <algorithm>
#include <numeric>

namespace whence {

namespace {

bool plain(const Pattern& pattern) {
  return std::all_of(pattern.begin(), pattern.end(), [](const Axis& a) { return a.parent < 0; });
}

// Appends row i as boxes: each axis that has children is walked value by value.
void unfold(const Part& part, size_t i, const std::vector<int>& topo, std::vector<std::vector<int64_t>>& lo,
            std::vector<std::vector<int64_t>>& width) {
  const size_t k = part.pattern.size();
  std::vector<char> walked(k, 0);
  for (const Axis& a : part.pattern) {
    if (a.parent >= 0) walked[a.parent] = 1;
  }
  std::vector<int64_t> at(k), end(k), w(k);
  const auto open = [&](size_t t) {
    const int v = topo[t];
    const Axis& a = part.pattern[v];
    const int64_t x = a.parent < 0 ? 0 : at[a.parent];
    const int64_t first = part.lo[v][i] + a.p * x, last = part.hi(v, i) + a.q * x;
    at[v] = first;
    end[v] = walked[v] ? last : first;
    w[v] = walked[v] ? 0 : last - first;
  };
  for (size_t t = 0; t < k; ++t) open(t);
  while (true) {
    for (size_t v = 0; v < k; ++v) {
      lo[v].push_back(at[v]);
      width[v].push_back(w[v]);
    }
    size_t t = k;
    while (t > 0 && at[topo[t - 1]] == end[topo[t - 1]]) --t;
    if (t == 0) return;
    ++at[topo[t - 1]];
    for (; t < k; ++t) open(t);
  }
}

}  // namespace

std::vector<Part> economize(std::vector<Part> parts) {
  if (parts.size() <= kMostParts) return parts;
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.rows > b.rows; });
  const size_t k = parts[0].pattern.size();
  std::vector<Part> kept;
  std::vector<std::vector<int64_t>> lo(k), width(k);
  for (Part& part : parts) {
    const bool boxes = plain(part.pattern);
    if (!boxes && kept.size() < kMostParts) {
      kept.push_back(std::move(part));
      continue;
    }
    const std::vector<int> topo = topological(part.pattern);
    for (size_t i = 0; i < part.rows; ++i) unfold(part, i, topo, lo, width);
  }
  Part rest;
  rest.rows = lo[0].size();
  rest.pattern.resize(k);
  std::vector<size_t> order(rest.rows);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    for (size_t v = 0; v < k; ++v) {
      if (lo[v][a] != lo[v][b]) return lo[v][a] < lo[v][b];
    }
    return a < b;
  });
  for (auto* columns : {&lo, &width}) {
    for (std::vector<int64_t>& column : *columns) {
      std::vector<int64_t> sorted(rest.rows);
      for (size_t i = 0; i < rest.rows; ++i) sorted[i] = column[order[i]];
      (columns == &lo ? rest.lo : rest.width).emplace_back(std::move(sorted));
    }
  }
  if (rest.rows > 0) kept.push_back(std::move(rest));
  return kept;
}

}  // namespace whence
