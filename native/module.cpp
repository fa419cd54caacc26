// The only file list that knows of Python: each bind_* function exposes one group of kernels.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_boxes(nb::module_& m);     // native/bind_boxes.cpp: sets of integer boxes (Selection)
void bind_relation(nb::module_& m);  // native/bind_relation.cpp: rows of relations
void bind_graph(nb::module_& m);     // native/bind_graph.cpp: provenance graphs

NB_MODULE(_core, m) {
  bind_boxes(m);
  bind_relation(m);
  bind_graph(m);
}
