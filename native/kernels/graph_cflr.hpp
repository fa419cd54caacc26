// Two slower ways to similar paths, to be compared with: the general algorithm for reachability under a context-free
// language (CflrB, on the normal form of SimProv), and its rewriting to pairs (SimProvAlg).
#pragma once

#include "graph_ancestry.hpp"

namespace whence::graph {

// Both mark what mark_similar marks, and return how many facts they derived. They hold a bit for each pair of
// entities and of activities, and a list of facts; whence::TooLarge if that takes more than `bytes`.
std::int64_t mark_by_cflrb(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                           std::int64_t bytes, Flags& marked);
std::int64_t mark_by_pairs(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                           bool stop_early, std::int64_t bytes, Flags& marked);

}  // namespace whence::graph
