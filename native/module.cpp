// The module whence._core: each bind_* function exposes one group of kernels.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_boxes(nb::module_& m);     // native/bind_boxes.cpp: sets of integer boxes (Selection)
void bind_relation(nb::module_& m);  // native/bind_relation.cpp: rows of relations
void bind_graph(nb::module_& m);     // native/bind_graph.cpp: provenance graphs
void bind_digest(nb::module_& m);    // native/bind_digest.cpp: digests of memory

NB_MODULE(_core, m) {
#ifndef WHENCE_SANITIZE
  // No object here refers to a Python object, so none can be part of a cycle, and tests show that all are freed while a
  // program runs. Objects that are left at exit are referenced by others: by a daemon thread, which Python never ends,
  // or by a cycle through a NumPy array of objects, which Python's garbage collector cannot see. nanobind would report
  // a leak of this module.
  nb::set_leak_warnings(false);
#endif
  bind_boxes(m);
  bind_relation(m);
  bind_graph(m);
  bind_digest(m);
}
