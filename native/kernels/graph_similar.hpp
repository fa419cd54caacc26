// Similar paths: vertices on a path back from a destination that has as many activities as some path to a source.
#pragma once

#include "graph_ancestry.hpp"

namespace whence::graph {

struct Similar {
  std::int64_t levels = 0;   // lengths, in activities, of the paths from a destination to a source
  std::int64_t runs = 0;     // the most intervals of lengths for one destination
  std::int64_t swept = 0;    // destinations with too many intervals, for which windows of levels were used
};

// Marks, in `marked`, every vertex on a path that the language SimProv accepts: for a destination d and an entity l, a
// path from d back to l that is as long as one from d back to a source. Vertices that are marked already are taken to
// be in the answer. `budget` is the number of intervals beyond which levels are swept in windows instead.
Similar mark_similar(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                     std::int64_t budget, Flags& marked);

}  // namespace whence::graph
