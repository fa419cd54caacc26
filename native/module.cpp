// The only file list that knows of Python: each bind_* function exposes one group of kernels.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_boxes(nb::module_& m);     // native/bind_boxes.cpp: sets of integer boxes (Selection)
void bind_relation(nb::module_& m);  // native/bind_relation.cpp: rows of relations
void bind_graph(nb::module_& m);     // native/bind_graph.cpp: provenance graphs
void bind_digest(nb::module_& m);    // native/bind_digest.cpp: digests of memory

NB_MODULE(_core, m) {
#ifndef WHENCE_SANITIZE
  // No object here refers to a Python object, so none can be part of a cycle, and tests show that all are freed while a
  // program runs. What is left at exit is held by others: by a daemon thread, which Python never ends, or by a cycle
  // through a NumPy array of objects, which Python's collector cannot see. nanobind would blame this module for it.
  nb::set_leak_warnings(false);
#endif
  bind_boxes(m);
  bind_relation(m);
  bind_graph(m);
  bind_digest(m);
}
