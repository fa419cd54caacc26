#include <nanobind/nanobind.h>

void bind_relation(nanobind::module_&) {}
