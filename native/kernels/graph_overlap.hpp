// Whether the union of several parts of an acyclic graph has paths that no part has.
#pragma once

#include <cstdint>

#include "graph_ancestry.hpp"

namespace whence::graph {

enum class Covered { no = 0, yes = 1, unsure = 2 };

// Each vertex and each edge belongs to some parts, a set of bits in `words` words. A path of the union is one of a part
// if a part is left when the sets of its edges are intersected. So the sets that paths to a vertex can be left with are
// gathered, youngest vertex first; if none is empty, no path was added. `budget` is spent by one for each set that an
// edge passes on; it is unsure if that is too much, or if a vertex has more than `most` sets.
Covered covered(std::size_t n, Pairs edges, std::span<const std::uint64_t> of_vertex,
                std::span<const std::uint64_t> of_edge, std::size_t words, std::int64_t& budget, std::size_t most);

}  // namespace whence::graph
