// Similar paths: what lies on a way back from a destination that passes as many activities as some way to a source.
#pragma once

#include "graph_ancestry.hpp"

namespace whence::graph {

struct Similar {
  std::int64_t levels = 0;   // lengths, in activities, of the ways from a destination to a source
  std::int64_t runs = 0;     // intervals of lengths that were held, at most, for one destination
  std::int64_t swept = 0;    // destinations for which intervals were too many, and windows of levels were used
};

// Marks, in `marked`, every vertex on a path that the language SimProv accepts: for a destination d and an entity
// l, one from d back to l that is as long as one from d back to a source. What is marked already is taken to be in
// the answer. `budget` is the number of intervals beyond which levels are swept in windows instead.
Similar mark_similar(const Ancestry& g, std::span<const Index> sources, std::span<const Index> destinations,
                     std::int64_t budget, Flags& marked);

}  // namespace whence::graph
