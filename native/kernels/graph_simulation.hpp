// Which vertices of a labelled graph can represent which: bisimulation (fast, finer) and simulation (coarser).
#pragma once

#include "graph_ancestry.hpp"

namespace whence::graph {

// A labelled graph in one direction: `rows` leads from each vertex to the neighbours that define its behaviour (its
// children for out-traces, its parents for in-traces), `edge` has the label of each of these edges.
struct Labelled {
  std::span<const Index> label;
  Rows rows;
  std::vector<Index> edge;
  std::vector<Index> order;  // each vertex after its neighbours; shorter than n if cyclic

  Labelled(std::span<const Index> label, Pairs edges, std::span<const Index> edge_label);
  std::size_t size() const { return label.size(); }
};

// Returns the class of each vertex: bisimilar vertices have equal classes. The graph must be acyclic.
std::vector<Index> bisimulation(const Labelled& g);

// The greatest relation in which u <= v means: u and v have the same label, and each neighbour of u is <= some
// neighbour of v along an edge of the same label.
class Preorder {
 public:
  explicit Preorder(const Labelled& g);

  bool below(Index u, Index v) const {
    if (block_[u] != block_[v]) return false;
    const auto i = static_cast<std::size_t>(place_[v] - first_[block_[v]]);
    return row(u)[i / 64] >> (i % 64) & 1;
  }
  // Returns the class of each vertex: u and v are in the same one if u <= v and v <= u.
  std::vector<Index> classes() const;
  std::size_t size() const { return block_.size(); }

  // Returns for each vertex another that is above it in both relations, or -1; of several, one that has nothing above
  // it.
  static std::vector<Index> above_in_both(const Preorder& a, const Preorder& b);

 private:
  std::size_t words(Index block) const { return (first_[block + 1] - first_[block] + 63) / 64; }
  const std::uint64_t* row(Index v) const { return bits_.data() + row_[v]; }
  std::uint64_t* row(Index v) { return bits_.data() + row_[v]; }

  std::vector<Index> block_;         // vertices of one label are a block; a row has a bit for each vertex of its block
  std::vector<Index> place_;         // the position of a vertex among all, sorted by block
  std::vector<Index> at_;            // the vertex at a position
  std::vector<Index> first_;         // the position of the first vertex of each block
  std::vector<std::size_t> row_;     // the beginning of each vertex's row
  std::vector<std::uint64_t> bits_;
};

}  // namespace whence::graph
