// Similar paths whose labels agree: not only as long as a path to a source, but with the same labels step by step.
#pragma once

#include "graph_ancestry.hpp"

namespace whence::graph {

struct Labels {
  std::span<const Index> vertex;     // of each vertex
  std::span<const Index> generated;  // of each edge, at its position in Ancestry::generated
  std::span<const Index> used;       // ... in Ancestry::used
};

// Marks every vertex on a path from a destination back to some entity whose word (the labels of its edges and of the
// vertices between its ends) is the word of a path from that destination to a source. Returns the greatest number of
// (vertex, state) pairs for one destination; throws whence::TooLarge beyond `limit`.
std::int64_t mark_matching(const Ancestry& g, const Labels& labels, std::span<const Index> sources,
                           std::span<const Index> destinations, std::int64_t limit, Flags& marked);

}  // namespace whence::graph
