// Two slower algorithms for similar paths, for comparison: the general algorithm for context-free-language reachability
// (CflrB, on the normal form of SimProv), and its rewriting to pairs (SimProvAlg).
#pragma once

#include "graph_ancestry.hpp"

namespace whence::graph {

// Both mark the same vertices as mark_similar, and return how many facts they derived. They store a bit for each pair
// of entities and of activities, and a list of facts; they throw whence::TooLarge if that takes more than `bytes`.
std::int64_t mark_by_cflrb(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                           std::int64_t bytes, Flags& marked);
std::int64_t mark_by_pairs(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                           bool stop_early, std::int64_t bytes, Flags& marked);

}  // namespace whence::graph
