// Bindings for graph kernels: int32 arrays in, arrays out. Python checks the arguments of users before.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "kernels/graph_ancestry.hpp"
#include "kernels/graph_cflr.hpp"
#include "kernels/graph_match.hpp"
#include "kernels/graph_overlap.hpp"
#include "kernels/graph_similar.hpp"
#include "kernels/graph_simulation.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace whence::graph;

namespace {

using Numbers = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sets = nb::ndarray<const std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Marks = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const Index> span_of(const Numbers& a) { return {a.data(), a.shape(0)}; }

template <class T>
nb::object to_numpy(std::vector<T>&& values) {
  auto* held = new std::vector<T>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t shape[1] = {held->size()};
  return nb::cast(nb::ndarray<nb::numpy, T>(held->data(), 1, shape, owner));
}

void require(bool fine, const char* what) {
  if (!fine) throw nb::value_error(what);
}

void require_below(std::span<const Index> values, std::size_t n) {
  for (const Index v : values) require(v >= 0 && static_cast<std::size_t>(v) < n, "a vertex number is out of range");
}

Pairs pairs_of(const Numbers& from, const Numbers& to, std::size_t n) {
  require(from.shape(0) == to.shape(0), "edges with different numbers of ends");
  const Pairs pairs{span_of(from), span_of(to)};
  require_below(pairs.from, n);
  require_below(pairs.to, n);
  return pairs;
}

// Runs a search that marks vertices, without the GIL, and copies the marks back.
template <class F>
auto marking(const Ancestry& g, const Numbers& sources, const Numbers& destinations, Marks marks, F&& search) {
  require(marks.shape(0) == g.n, "one mark for each vertex");
  require_below(span_of(sources), g.n);
  require_below(span_of(destinations), g.n);
  Flags marked(marks.data(), marks.data() + g.n);
  nb::gil_scoped_release release;
  const auto told = search(span_of(sources), span_of(destinations), marked);
  std::copy(marked.begin(), marked.end(), marks.data());
  return told;
}

void require_order(const Ancestry& g) { require(g.order.size() == g.n, "the graph has a cycle"); }

Labelled labelled_of(const Numbers& labels, const Numbers& from, const Numbers& to, const Numbers& edges) {
  require(edges.shape(0) == from.shape(0), "one label for each edge");
  return Labelled(span_of(labels), pairs_of(from, to, labels.shape(0)), span_of(edges));
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<Ancestry>(m, "Ancestry")
      .def(
          "__init__",
          [](Ancestry* self, std::size_t n, Numbers g_from, Numbers g_to, Numbers u_from, Numbers u_to, Numbers d_from,
             Numbers d_to) {
            const Pairs g = pairs_of(g_from, g_to, n), u = pairs_of(u_from, u_to, n), d = pairs_of(d_from, d_to, n);
            nb::gil_scoped_release release;
            new (self) Ancestry(n, g, u, d);
          },
          "n"_a, "entity"_a, "generator"_a, "activity"_a, "used"_a, "derived"_a, "source"_a)
      .def_prop_ro("order", [](const Ancestry& g) { return to_numpy(std::vector<Index>(g.order)); })
      .def_prop_ro("height", [](const Ancestry& g) { return to_numpy(std::vector<Index>(g.height)); })
      .def(
          "reach",
          [](const Ancestry& g, Numbers starts, bool backward) {
            require_below(span_of(starts), g.n);
            Flags found;
            {
              nb::gil_scoped_release release;
              found = g.reach(span_of(starts), backward);
            }
            return to_numpy(std::move(found));
          },
          "starts"_a, "backward"_a)
      .def(
          "shortest",
          [](const Ancestry& g, Numbers starts, bool backward) {
            require_below(span_of(starts), g.n);
            return to_numpy(g.shortest(span_of(starts), backward));
          },
          "starts"_a, "backward"_a)
      .def(
          "mark_similar",
          [](const Ancestry& g, Numbers sources, Numbers destinations, std::int64_t budget, Marks marks) {
            require_order(g);
            const Similar told = marking(g, sources, destinations, marks, [&](auto s, auto d, Flags& marked) {
              return mark_similar(g, s, d, budget, marked);
            });
            return std::tuple{told.levels, told.runs, told.swept};
          },
          "sources"_a, "destinations"_a, "budget"_a, "marks"_a)
      .def(
          "mark_matching",
          [](const Ancestry& g, Numbers vertex, Numbers generated, Numbers used, Numbers sources, Numbers destinations,
             std::int64_t limit, Marks marks) {
            require(vertex.shape(0) == g.n, "one label for each vertex");
            require(generated.shape(0) == g.generated.to.size(), "one label for each generation");
            require(used.shape(0) == g.used.to.size(), "one label for each usage");
            require_order(g);
            const Labels labels{span_of(vertex), span_of(generated), span_of(used)};
            return marking(g, sources, destinations, marks, [&](auto s, auto d, Flags& marked) {
              return mark_matching(g, labels, s, d, limit, marked);
            });
          },
          "vertex"_a, "generated"_a, "used"_a, "sources"_a, "destinations"_a, "limit"_a, "marks"_a)
      .def(
          "mark_by_cflrb",
          [](const Ancestry& g, Numbers sources, Numbers destinations, std::int64_t bytes, Marks marks) {
            return marking(g, sources, destinations, marks, [&](auto s, auto d, Flags& marked) {
              return mark_by_cflrb(g, s, d, bytes, marked);
            });
          },
          "sources"_a, "destinations"_a, "bytes"_a, "marks"_a)
      .def(
          "mark_by_pairs",
          [](const Ancestry& g, Numbers sources, Numbers destinations, bool stop_early, std::int64_t bytes, Marks marks) {
            if (stop_early) require_order(g);
            return marking(g, sources, destinations, marks, [&](auto s, auto d, Flags& marked) {
              return mark_by_pairs(g, s, d, stop_early, bytes, marked);
            });
          },
          "sources"_a, "destinations"_a, "stop_early"_a, "bytes"_a, "marks"_a);

  m.def(
      "rows_of",
      [](std::size_t n, Numbers from, Numbers to) {
        Rows rows = rows_of(n, pairs_of(from, to, n).from, span_of(to));
        std::vector<Index> places = places_of(n, span_of(from));
        return nb::make_tuple(to_numpy(std::move(rows.begin)), to_numpy(std::move(rows.to)), to_numpy(std::move(places)));
      },
      "n"_a, "source"_a, "target"_a);

  m.def(
      "covered",
      [](Numbers younger, Numbers older, Sets of_vertex, Sets of_edge, std::int64_t budget, std::size_t most) {
        const std::size_t n = of_vertex.shape(0), words = of_vertex.shape(1);
        require(of_edge.shape(0) == younger.shape(0) && of_edge.shape(1) == words, "sets that do not fit the edges");
        const Pairs edges = pairs_of(younger, older, n);
        Covered found;
        {
          nb::gil_scoped_release release;
          found = covered(n, edges, {of_vertex.data(), n * words}, {of_edge.data(), of_edge.shape(0) * words}, words,
                          budget, most);
        }
        return std::pair<int, std::int64_t>(static_cast<int>(found), budget);
      },
      "younger"_a, "older"_a, "of_vertex"_a, "of_edge"_a, "budget"_a, "most"_a);

  m.def(
      "bisimulation",
      [](Numbers labels, Numbers from, Numbers to, Numbers edges) {
        const Labelled g = labelled_of(labels, from, to, edges);
        require(g.order.size() == g.size(), "the graph has a cycle");
        return to_numpy(bisimulation(g));
      },
      "labels"_a, "source"_a, "target"_a, "edge_labels"_a);

  nb::class_<Preorder>(m, "Preorder")
      .def(
          "__init__",
          [](Preorder* self, Numbers labels, Numbers from, Numbers to, Numbers edges) {
            const Labelled g = labelled_of(labels, from, to, edges);
            nb::gil_scoped_release release;
            new (self) Preorder(g);
          },
          "labels"_a, "source"_a, "target"_a, "edge_labels"_a)
      .def("classes", [](const Preorder& p) { return to_numpy(p.classes()); })
      .def(
          "below",
          [](const Preorder& p, Index u, Index v) {
            const Index ends[2] = {u, v};
            require_below(ends, p.size());
            return p.below(u, v);
          },
          "u"_a, "v"_a)
      .def_static(
          "above_in_both",
          [](const Preorder& a, const Preorder& b) {
            require(a.size() == b.size(), "two relations over different graphs");
            return to_numpy(Preorder::above_in_both(a, b));
          },
          "a"_a, "b"_a);
}
