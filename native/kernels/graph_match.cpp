// The words of the paths to the sources are a regular language. Its automaton is the part of the graph between the
// destination and the sources, with bisimilar vertices merged into one state. Each ancestor of the destination gets the
// states that some path leads it to (youngest first), and keeps those from which an end can be reached (oldest first).
#include "graph_match.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "values.hpp"  // TooLarge

namespace whence::graph {

namespace {

struct Step {
  Index edge, state;
  auto operator<=>(const Step&) const = default;
};

// A state represents an entity or an activity between the ends of a path. `ends` are the labels of edges that lead to a
// source; only activities have them.
struct State {
  Index label = 0;
  std::vector<Index> ends;
  std::vector<Step> steps;
  auto operator<=>(const State&) const = default;
};

template <class T>
void unique(std::vector<T>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

class Match {
 public:
  Match(const Ancestry& g, const Labels& labels, std::span<const Index> sources, std::int64_t limit, Flags& marked)
      : g_(g), labels_(labels), limit_(limit), marked_(marked), source_(g.n, 0), state_(g.n, -1), held_(g.n) {
    for (const Index s : sources) source_[s] = 1;
    for (const Index v : g.order) number(v);
  }

  // Whether there is a path from d to a source.
  bool from(Index d) {
    if (state_[d] < 0) return false;
    held_[d] = {state_[d]};
    pairs_ = 0;
    std::vector<Index> walked;
    for (Index i = g_.rank[d]; i >= 0; --i) {
      const Index v = g_.order[i];
      if (held_[v].empty()) continue;
      unique(held_[v]);
      pairs_ += static_cast<std::int64_t>(held_[v].size());
      if (pairs_ > limit_) {
        throw TooLarge("matching these properties along paths needs more than " + std::to_string(limit_) +
                       " pairs of vertices: match fewer vertices, for example with destinations nearer to the sources");
      }
      walked.push_back(v);
      each_step(v, [&](Index w, const Step& step) {
        if (states_[step.state].label == labels_.vertex[w] && state_exists(w)) held_[w].push_back(step.state);
      });
    }
    most_ = std::max(most_, pairs_);
    keep_useful(walked);
    for (const Index v : walked) held_[v].clear();
    return true;
  }

  // Returns the possible first steps of a path from d: who generated it, and the label of that edge.
  std::vector<std::pair<Index, Index>> first_steps(Index d) const {
    std::vector<std::pair<Index, Index>> found;
    const auto targets = g_.generated[d];
    for (std::size_t k = 0; k < targets.size(); ++k) found.emplace_back(targets[k], edge_label(true, d, k));
    unique(found);
    return found;
  }

  std::int64_t most() const { return most_; }

 private:
  // Only vertices that came from something older can be between the ends.
  bool state_exists(Index v) const { return !g_.generated[v].empty() || !g_.used[v].empty(); }

  Index edge_label(bool generated, Index v, std::size_t k) const {
    return generated ? labels_.generated[g_.generated.begin[v] + k] : labels_.used[g_.used.begin[v] + k];
  }

  // Computes the state of a vertex on a path to a source; older ones have theirs already. Two vertices with the same
  // label and the same steps share a state, because the same can follow.
  void number(Index v) {
    State own;
    own.label = labels_.vertex[v];
    for (const bool generated : {true, false}) {
      const auto targets = generated ? g_.generated[v] : g_.used[v];
      for (std::size_t k = 0; k < targets.size(); ++k) {
        const Index w = targets[k], edge = edge_label(generated, v, k);
        if (!generated && source_[w]) own.ends.push_back(edge);
        if (state_[w] >= 0) own.steps.push_back({edge, state_[w]});
      }
    }
    if (own.ends.empty() && own.steps.empty()) return;
    unique(own.ends);
    unique(own.steps);
    const auto [place, fresh] = known_.try_emplace(own, static_cast<Index>(states_.size()));
    if (fresh) states_.push_back(std::move(own));
    state_[v] = place->second;
  }

  // Calls f(w, step) for each edge from v to w along which a state of v leads to another state.
  template <class F>
  void each_step(Index v, F&& f) const {
    for (const bool generated : {true, false}) {
      const auto targets = generated ? g_.generated[v] : g_.used[v];
      for (std::size_t k = 0; k < targets.size(); ++k) {
        const Index edge = edge_label(generated, v, k);
        for (const Index s : held_[v]) {
          const auto& steps = states_[s].steps;
          auto step = std::lower_bound(steps.begin(), steps.end(), Step{edge, -1});
          for (; step != steps.end() && step->edge == edge; ++step) f(targets[k], *step);
        }
      }
    }
  }

  // Oldest first: a vertex keeps a state if its path can end from there.
  void keep_useful(const std::vector<Index>& walked) {
    for (auto v = walked.rbegin(); v != walked.rend(); ++v) {
      std::vector<Index> useful;
      for (const Index s : held_[*v]) {
        if (ends(*v, s) || goes_on(*v, s)) useful.push_back(s);
      }
      held_[*v] = std::move(useful);
      if (!held_[*v].empty()) marked_[*v] = 1;
    }
  }

  // Whether the path ends with the next step; marks where it does.
  bool ends(Index v, Index s) {
    const auto& wanted = states_[s].ends;
    if (wanted.empty()) return false;
    bool found = false;
    const auto targets = g_.used[v];
    for (std::size_t k = 0; k < targets.size(); ++k) {
      if (std::ranges::binary_search(wanted, edge_label(false, v, k))) found = true, marked_[targets[k]] = 1;
    }
    return found;
  }

  bool goes_on(Index v, Index s) const {
    for (const bool generated : {true, false}) {
      const auto targets = generated ? g_.generated[v] : g_.used[v];
      for (std::size_t k = 0; k < targets.size(); ++k) {
        const Index edge = edge_label(generated, v, k);
        const auto& steps = states_[s].steps;
        auto step = std::lower_bound(steps.begin(), steps.end(), Step{edge, -1});
        for (; step != steps.end() && step->edge == edge; ++step) {
          if (std::ranges::binary_search(held_[targets[k]], step->state)) return true;
        }
      }
    }
    return false;
  }

  const Ancestry& g_;
  const Labels& labels_;
  const std::int64_t limit_;
  Flags& marked_;
  Flags source_;
  std::vector<Index> state_;  // of each vertex, or -1 if no path leads from it to a source
  std::vector<State> states_;
  std::map<State, Index> known_;
  std::vector<std::vector<Index>> held_;  // the states that a path leads each vertex to
  std::int64_t pairs_ = 0, most_ = 0;
};

}  // namespace

std::int64_t mark_matching(const Ancestry& g, const Labels& labels, std::span<const Index> sources,
                           std::span<const Index> destinations, std::int64_t limit, Flags& marked) {
  Match match(g, labels, sources, limit, marked);
  for (const auto& group : generated_alike(g, destinations)) {
    // One vertex represents all with the same first steps: one activity may generate two in different roles.
    std::map<std::vector<std::pair<Index, Index>>, bool> found;
    for (const Index d : group) {
      const auto [place, fresh] = found.try_emplace(match.first_steps(d), false);
      if (fresh) place->second = match.from(d);
      if (place->second) marked[d] = 1;
    }
  }
  return match.most();
}

}  // namespace whence::graph
