// The ancestry edges of a provenance graph, in compressed rows, in both directions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whence::graph {

using Index = std::int32_t;
using Flags = std::vector<std::uint8_t>;

// The targets of each vertex, one after another: those of v are at [begin[v], begin[v + 1]).
struct Rows {
  std::vector<Index> begin, to;

  std::span<const Index> operator[](std::size_t v) const {
    return {to.data() + begin[v], static_cast<std::size_t>(begin[v + 1] - begin[v])};
  }
};

Rows rows_of(std::size_t n, std::span<const Index> from, std::span<const Index> to);
// Returns the index of the edge at each position of rows_of.
std::vector<Index> places_of(std::size_t n, std::span<const Index> from);

struct Pairs {
  std::span<const Index> from, to;
};

// Vertices are integers below n. `generated` leads from an entity to the activity that made it, `used` from an activity
// to the entity it read, `derived` from an entity to another: all of them from the younger to the older.
struct Ancestry {
  std::size_t n = 0;
  Rows generated, used, derived;        // towards the ancestors
  Rows made, readers, derivatives;      // the same, towards the descendants
  std::vector<Index> order;             // ancestors first; shorter than n if there is a cycle
  std::vector<Index> rank;              // the position of a vertex in `order`, or -1
  std::vector<Index> height;            // the number of activities on the longest path back that ends at a used entity

  Ancestry(std::size_t n, Pairs generated, Pairs used, Pairs derived);

  // Returns all vertices that the starts lead to, including the starts.
  Flags reach(std::span<const Index> starts, bool backward) const;
  // Returns for each vertex the one before it on a shortest path from a start; -1 if there is none, itself for a start.
  std::vector<Index> shortest(std::span<const Index> starts, bool backward) const;
};

// Groups entities that the same activities generated, youngest first: from these activities on, their paths are the
// same.
std::vector<std::vector<Index>> generated_alike(const Ancestry& g, std::span<const Index> entities);

}  // namespace whence::graph
