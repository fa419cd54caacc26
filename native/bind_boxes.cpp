#include <nanobind/nanobind.h>

void bind_boxes(nanobind::module_&) {}
