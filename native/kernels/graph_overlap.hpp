// Whether the union of several parts of an acyclic graph has paths that no part has.
#pragma once

#include <cstdint>

#include "graph_ancestry.hpp"

namespace whence::graph {

enum class Covered { no = 0, yes = 1, unsure = 2 };

// Each vertex and each edge belongs to some parts, a set of bits in `words` words. A path of the union is in one of the
// parts if the intersection of the sets of its edges is not empty. So the possible intersections of the paths to a
// vertex are collected, youngest vertex first; if none is empty, no path was added. `budget` decreases by one for each
// set that an edge passes on. The result is `unsure` if the budget is used up, or if a vertex has more than `most`
// sets.
Covered covered(std::size_t n, Pairs edges, std::span<const std::uint64_t> of_vertex,
                std::span<const std::uint64_t> of_edge, std::size_t words, std::int64_t& budget, std::size_t most);

}  // namespace whence::graph
